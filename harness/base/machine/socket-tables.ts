/** TCP sockets and owners, from Linux's `/proc`. Other systems and users reveal nothing. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

const LISTENING = '0A';
/** Columns: local and remote address and port, state, inode. */
const [LOCAL, REMOTE, STATE, INODE] = [1, 2, 3, 9];

export interface TcpSocket {
  readonly localPort: number;
  /** 0 for a listening socket. */
  readonly remotePort: number;
  readonly listens: boolean;
  readonly inode: string;
}

/** Empty where the system has no such table. */
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

/** All processes; nothing more can be seen of other users' ones. */
export function allPids(): number[] {
  return entries('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** Inodes of the sockets that a process has open. */
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

/** Empty if there is no such file, or it may not be read. */
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
