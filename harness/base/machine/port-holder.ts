import { basename } from 'node:path';
import { allPids, readText, socketsOf, tcpSockets } from './socket-tables.ts';

/** The program, and the last argument: of our own processes it names the cluster. */
const HEAD_CHARS = 30;
const TAIL_CHARS = 50;

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
  const [program = '', ...args] = readText(`/proc/${pid}/cmdline`).split('\0');
  const command = [basename(program), ...args].join(' ').trim();
  if (command.length <= HEAD_CHARS + TAIL_CHARS) return command;
  return `${command.slice(0, HEAD_CHARS)}…${command.slice(-TAIL_CHARS)}`;
}
