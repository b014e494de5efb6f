/** TCP sockets and owners from Linux's `/proc`; other systems and users reveal nothing. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const LISTENING = '0A';
/** Addresses with ports, state, inode. */
const [LOCAL, REMOTE, STATE, INODE] = [1, 2, 3, 9];

export interface TcpSocket {
  readonly localPort: number;
  /** 0: listening. */
  readonly remotePort: number;
  readonly listens: boolean;
  readonly inode: string;
}

/** Empty without such a table. */
export function tcpSockets(): TcpSocket[] {
  return ['tcp', 'tcp6'].flatMap((table) =>
    readText(`/proc/net/${table}`)
      .split('\n')
      .slice(1)
      .flatMap((line) => {
        const columns = line.trim().split(/\s+/);
        const inode = columns[INODE];
        if (inode === undefined) return [];
        const listens = columns[STATE] === LISTENING;
        return { localPort: portIn(columns[LOCAL]), remotePort: portIn(columns[REMOTE]), listens, inode };
      }),
  );
}

/** Other users' processes reveal nothing more. */
export function allPids(): number[] {
  return entries('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** Inodes. */
export function socketsOf(pid: number): string[] {
  return entries(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
    } catch {
      // Closed since.
      return [];
    }
  });
}

/** Empty: missing or unreadable. */
export function readText(path: string): string {
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

/** `0100007F:D431` */
function portIn(address = ''): number {
  return Number.parseInt(address.slice(address.lastIndexOf(':') + 1), 16);
}
