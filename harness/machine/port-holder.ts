/**
 * Who listens on a port of this machine, as Linux tells it: the socket's inode in `/proc/net/tcp`, and the process that
 * has the socket open. Other systems, and processes of other people, tell nothing.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Of a socket that listens, in the table. */
const LISTENING = '0A';
/** Columns of the table: local address and port, state, inode. */
const [LOCAL, STATE, INODE] = [1, 3, 9];
/** Enough of a command to recognise it. */
const COMMAND_CHARS = 80;

export interface PortHolder {
  readonly pid: number;
  /** As it was started, shortened. */
  readonly command: string;
}

/** @returns undefined when nobody listens, or it cannot be found out */
export function portHolder(port: number): PortHolder | undefined {
  const inodes = new Set(['tcp', 'tcp6'].flatMap((table) => listeners(`/proc/net/${table}`, port)));
  if (inodes.size === 0) return undefined;
  const sockets = new Set(Array.from(inodes, (inode) => `socket:[${inode}]`));
  const pid = entries('/proc').find(
    (name) => /^\d+$/.test(name) && openFiles(name).some((file) => sockets.has(file)),
  );
  return pid === undefined ? undefined : { pid: Number(pid), command: commandOf(pid) };
}

function listeners(table: string, port: number): string[] {
  const ending = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return read(table)
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => columns[STATE] === LISTENING && columns[LOCAL]?.endsWith(ending) === true)
    .map((columns) => columns[INODE] ?? '');
}

function openFiles(pid: string): string[] {
  return entries(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
    } catch {
      // Closed since.
      return [];
    }
  });
}

function commandOf(pid: string): string {
  const command = read(`/proc/${pid}/cmdline`).replace(/\0/g, ' ').trim();
  return command.length > COMMAND_CHARS ? `${command.slice(0, COMMAND_CHARS)}…` : command;
}

/** Nothing where there is no such file, or it is not ours to read. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function entries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
