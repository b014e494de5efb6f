/** What peers of a neighbourhood say that they hold: their pull syncing lists, without any chunk. */
import { proximityOrder } from '../../chunk/address.ts';
import type { Clock } from '../../env/clock.ts';
import type { Logger } from '../../env/logger.ts';
import type { Peer } from '../../p2p/host.ts';
import type { Listed, Pullsync } from '../../protocols/pullsync/pullsync.ts';
import { PAGE_SIZE } from '../../protocols/pullsync/rules.ts';
import type { Status } from '../../protocols/status/status.ts';
import type { ReserveEntry } from '../../store/ports.ts';
import type { Topology } from '../../topology/topology.ts';

/** With fewer entries in a bin they are pushed without a comparison, which reads the whole lists of its peers. */
export const COMPARED_MIN = 32;
/** Longest wait for a page of a list, milliseconds: a peer that has nothing to list does not answer. */
const PAGE_MS = 5_000;
/** Longest reading of the peers of one bin, milliseconds: a malicious list may have no end. */
const READ_MS = 60_000;

export interface PeerListsDeps {
  readonly overlay: Uint8Array;
  readonly topology: Pick<Topology, 'peers'>;
  readonly status: Pick<Status, 'request'>;
  readonly pullsync: Pick<Pullsync, 'cursors' | 'list'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Pages of a list to read: those that the peer can fill at once, or its end too. */
export type Pages = 'full' | 'all';

export interface PageReader {
  /**
   * @param entries of this node's bin that is being read; the rest of the page is left out
   * @returns false when the page must come again the next time, and no other now
   */
  read(peer: Peer, entries: readonly ReserveEntry[]): boolean | Promise<boolean>;
  /** Whether no further page is wanted. */
  isDone(): boolean;
}

/** How far the lists of a peer have been read. */
interface Position {
  readonly epoch: bigint;
  /** Bin → the next bin id to ask for. */
  readonly next: Map<number, bigint>;
}

export class PeerLists {
  readonly #deps: PeerListsDeps;
  /** By overlay. */
  readonly #positions = new Map<string, Position>();

  constructor(deps: PeerListsDeps) {
    this.#deps = deps;
  }

  /** The next reading begins at the beginning. */
  forget(): void {
    this.#positions.clear();
  }

  /** Connected peers in a bin of this node: they share one bit more with its chunks than this node does, or more. */
  peersIn(bin: number): Peer[] {
    const { overlay, topology } = this.#deps;
    return topology.peers().filter((peer) => proximityOrder(overlay, peer.overlay) === bin);
  }

  /**
   * Reads on in the lists of these peers, each for what it is responsible for itself.
   * @returns those whose lists could be read
   */
  async read(
    peers: readonly Peer[],
    { bin, pages, reader }: { bin: number; pages: Pages; reader: PageReader },
    signal: AbortSignal,
  ): Promise<Peer[]> {
    const { clock, log } = this.#deps;
    using deadline = clock.deadline(READ_MS, signal);
    const read = await Promise.all(
      peers.map(async (peer) => {
        try {
          await this.#readPeer(peer, { bin, pages, reader }, deadline.signal);
          return [peer];
        } catch (err) {
          if (!signal.aborted) log.debug({ err, peer: peer.id }, 'chunk lists could not be read');
          return [];
        }
      }),
    );
    return read.flat();
  }

  async #readPeer(
    peer: Peer,
    { bin, pages, reader }: { bin: number; pages: Pages; reader: PageReader },
    signal: AbortSignal,
  ): Promise<void> {
    const { overlay, status, pullsync } = this.#deps;
    const [{ storageRadius }, { cursors, epoch }] = await Promise.all([
      status.request(peer, signal),
      pullsync.cursors(peer, signal),
    ]);
    const known = this.#positions.get(peer.id);
    const position = known?.epoch === epoch ? known : { epoch, next: new Map<number, bigint>() };
    this.#positions.set(peer.id, position);
    // A peer is responsible only for what lies within its own radius.
    const from = Math.max(bin + 1, storageRadius);
    const bins = cursors.map((cursor, number) => ({ number, cursor })).filter(({ number }) => number >= from);
    await Promise.all(
      bins.map(async ({ number, cursor }) => {
        const last = pages === 'full' ? cursor - BigInt(PAGE_SIZE - 1) : cursor;
        for (let start = position.next.get(number) ?? 1n; start <= last && !reader.isDone(); ) {
          const page = await this.#page(peer, { number, start }, signal);
          if (page === undefined) return;
          // The bins are the peer's claim; the addresses are checked.
          const entries = page.entries.filter(({ address }) => proximityOrder(overlay, address) === bin);
          if (!(await reader.read(peer, entries))) return;
          start = page.topmost + 1n;
          position.next.set(number, start);
        }
      }),
    );
  }

  /** @returns undefined when the peer has nothing more, or is still collecting it */
  async #page(
    peer: Peer,
    { number, start }: { number: number; start: bigint },
    signal: AbortSignal,
  ): Promise<Listed | undefined> {
    const { clock, pullsync } = this.#deps;
    using deadline = clock.deadline(PAGE_MS, signal);
    try {
      const page = await pullsync.list(peer, number, start, deadline.signal);
      return page.entries.length === 0 ? undefined : page;
    } catch (error) {
      if (deadline.signal.aborted && !signal.aborted) return undefined;
      throw error;
    }
  }
}

/** Half of the address and part of the stamp's hash distinguish entries, and take little memory. */
export function entryKey({ address, stampHash }: ReserveEntry): string {
  return Buffer.concat([address.subarray(0, 16), stampHash.subarray(0, 8)]).toString('latin1');
}
