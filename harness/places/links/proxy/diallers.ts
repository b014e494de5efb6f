/**
 * The dialling node's process holds the other end of the socket and listens where the node does. Simultaneous questions
 * share one reading of the system's tables, which takes some milliseconds.
 */
import { allPids, socketsOf, type TcpSocket, tcpSockets } from '../../../base/machine/socket-tables.ts';

const GATHER_MS = 2;

export interface DiallerQuestion {
  readonly address: string;
  readonly ports: { readonly dialler: number; readonly proxy: number };
}

interface Listener {
  readonly node: string;
  readonly nodePort: number;
}

export interface DiallerLookup {
  /** @returns possible names: several if ambiguous, none for a stranger */
  of(question: DiallerQuestion): Promise<readonly string[]>;
}

export class SocketDiallers implements DiallerLookup {
  readonly #listeners: ReadonlyMap<string, Listener>;
  readonly #known = new Map<string, { readonly inode: string; readonly pid: number }>();
  #waiting: { readonly question: DiallerQuestion; readonly tell: (names: readonly string[]) => void }[] = [];

  constructor(listeners: ReadonlyMap<string, Listener>) {
    this.#listeners = listeners;
  }

  /** Nodes that share a process cannot be told apart. */
  of(question: DiallerQuestion): Promise<readonly string[]> {
    return new Promise((tell) => {
      if (this.#waiting.push({ question, tell }) === 1) setTimeout(() => this.#answer(), GATHER_MS);
    });
  }

  /** Past the proxy. @returns possible diallers, and the node dialled */
  direct(): { readonly from: readonly string[]; readonly to: string }[] {
    const table = tcpSockets();
    const owners = this.#owners(table);
    const targets = new Map(Array.from(this.#listeners.values(), ({ node, nodePort }) => [nodePort, node]));
    return table.flatMap(({ remotePort, inode }) => {
      const to = targets.get(remotePort);
      // The proxy's own sockets are no node's.
      const from = owners.get(inode);
      return to === undefined || from === undefined ? [] : { from, to };
    });
  }

  #answer(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    const table = tcpSockets();
    const dialling = new Map(
      table
        .filter(({ listens }) => !listens)
        .map((socket) => [`${socket.localPort} ${socket.remotePort}`, socket.inode]),
    );
    const owners = this.#owners(table);
    for (const { question, tell } of waiting) {
      const inode = dialling.get(`${question.ports.dialler} ${question.ports.proxy}`);
      tell((inode === undefined ? undefined : owners.get(inode)) ?? []);
    }
  }

  /** Inode → names of nodes that may own the socket. */
  #owners(table: readonly TcpSocket[]): Map<string, readonly string[]> {
    const nodes = this.#processes(table);
    const owners = new Map<string, readonly string[]>();
    for (const pid of new Set(nodes.values())) {
      const names = [...nodes].filter(([, one]) => one === pid).map(([name]) => name);
      for (const inode of socketsOf(pid)) owners.set(inode, names);
    }
    return owners;
  }

  #processes(table: readonly TcpSocket[]): Map<string, number> {
    const listening = new Map(
      table.filter(({ listens }) => listens).map(({ localPort, inode }) => [localPort, inode]),
    );
    const unknown = new Map<string, string>();
    for (const node of this.#known.keys()) if (!this.#listeners.has(node)) this.#known.delete(node);
    for (const { node, nodePort } of this.#listeners.values()) {
      const inode = listening.get(nodePort);
      if (inode === undefined) this.#known.delete(node);
      else if (this.#known.get(node)?.inode !== inode) unknown.set(inode, node);
    }
    if (unknown.size > 0) {
      for (const pid of allPids()) {
        for (const inode of socketsOf(pid)) {
          const node = unknown.get(inode);
          if (node !== undefined) this.#known.set(node, { inode, pid });
        }
      }
    }
    return new Map(Array.from(this.#known, ([node, { pid }]) => [node, pid]));
  }
}
