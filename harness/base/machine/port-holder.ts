import { allPids, readText, socketsOf, tcpSockets } from './socket-tables.ts';

const COMMAND_CHARS = 80;

export interface PortHolder {
  readonly pid: number;
  readonly command: string;
}

/** @returns undefined: no process listens, or it is unknown */
export function portHolder(port: number): PortHolder | undefined {
  const listeners = tcpSockets().filter(({ listens, localPort }) => listens && localPort === port);
  const inodes = new Set(listeners.map(({ inode }) => inode));
  if (inodes.size === 0) return undefined;
  const pid = allPids().find((one) => socketsOf(one).some((inode) => inodes.has(inode)));
  return pid === undefined ? undefined : { pid, command: commandOf(pid) };
}

function commandOf(pid: number): string {
  const command = readText(`/proc/${pid}/cmdline`).replace(/\0/g, ' ').trim();
  return command.length > COMMAND_CHARS ? `${command.slice(0, COMMAND_CHARS)}…` : command;
}
