/**
 * Versions differ in what tells the entries of one address apart, and so in their offers. `p2p-protocols.md` 4.10 and 4.11.
 */
import { ADDRESS_SIZE, type Chunk } from '../../../formats/chunk/chunk.ts';
import { type Stamp, stampHash } from '../../../formats/chunk/stamp.ts';
import { CHUNK_SUM_SIZE, sumOfStamped } from '../../../formats/chunk/sum.ts';
import { equalBytes } from '../../../formats/crypto/hex.ts';
import type { MessageStream, ProtocolSpec } from '../../p2p/host.ts';
import type { Reserve, ReserveEntry } from '../../store/ports.ts';
import { checkOffered } from './rules.ts';
import { CURSORS, CURSORS_2, Offer, PULLSYNC, PULLSYNC_2, SummedOffer } from './wire.ts';

/** What tells an entry from others of its address: batch id and stamp hash, or the sum and nothing. */
export type EntryId = readonly [Uint8Array, Uint8Array];

export interface OfferedEntry {
  /** 32 bytes. */
  readonly address: Uint8Array;
  readonly id: EntryId;
}

export interface OfferedPage {
  /** Highest bin id offered. */
  readonly topmost: bigint;
  readonly entries: readonly OfferedEntry[];
}

/** What the versions look for in the reserve. */
export type Entries = Pick<Reserve, 'has' | 'sumOf' | 'entryOf'>;

export interface Version {
  readonly pullsync: ProtocolSpec;
  readonly cursors: ProtocolSpec;
  writeOffer(stream: MessageStream, page: OfferedPage): Promise<void>;
  /** @throws PullsyncError `OFFER_INVALID` */
  readOffer(stream: MessageStream, signal: AbortSignal): Promise<OfferedPage>;
  /** Undefined when the chunk cannot be read. */
  idOf(entry: ReserveEntry, reserve: Entries): EntryId | undefined;
  /** Whether the entry still holds what was offered. */
  isStill(offered: EntryId, held: { readonly chunk: Chunk; readonly stamp: Stamp }): boolean;
  idOfDelivery(chunk: Chunk, stamp: Stamp): EntryId;
  /** The own entry; undefined when there is none. */
  find(entry: OfferedEntry, reserve: Entries): ReserveEntry | undefined;
}

export interface Exchange {
  readonly version: Version;
  readonly stream: MessageStream;
}

/** A chunk under a stamp, whatever the payload of a single-owner chunk. */
export const BY_STAMP: Version = {
  pullsync: PULLSYNC,
  cursors: CURSORS,
  async writeOffer(stream, { topmost, entries }) {
    const chunks = entries.map(({ address, id: [batchId, stampHash] }) => ({ address, batchId, stampHash }));
    await stream.write(Offer, { topmost, chunks });
  },
  async readOffer(stream, signal) {
    const { topmost, chunks } = await stream.read(Offer, signal);
    const entries = chunks.map(({ address, batchId, stampHash }) => {
      checkOffered('hash', ADDRESS_SIZE, address, batchId, stampHash);
      return { address, id: [batchId, stampHash] as const };
    });
    return { topmost, entries };
  },
  idOf: ({ batchId, stampHash }) => [batchId, stampHash],
  isStill: () => true,
  idOfDelivery: (_chunk, stamp) => [stamp.batchId, stampHash(stamp)],
  find({ address, id: [batchId, stampHash] }, reserve) {
    return reserve.has(address, batchId, stampHash) ? { address, batchId, stampHash } : undefined;
  },
};

/** A chunk with its payload under a stamp. */
export const BY_SUM: Version = {
  pullsync: PULLSYNC_2,
  cursors: CURSORS_2,
  async writeOffer(stream, { topmost, entries }) {
    await stream.write(SummedOffer, {
      topmost,
      chunks: entries.map(({ address, id: [sum] }) => ({ address, sum })),
    });
  },
  async readOffer(stream, signal) {
    const { topmost, chunks } = await stream.read(SummedOffer, signal);
    const entries = chunks.map(({ address, sum }) => {
      checkOffered('hash', ADDRESS_SIZE, address);
      checkOffered('sum', CHUNK_SUM_SIZE, sum);
      return { address, id: bySum(sum) };
    });
    return { topmost, entries };
  },
  idOf(entry, reserve) {
    const sum = reserve.sumOf(entry);
    return sum && bySum(sum);
  },
  isStill: ([offered], { chunk, stamp }) => equalBytes(sumOfStamped(chunk, stamp), offered),
  idOfDelivery: (chunk, stamp) => bySum(sumOfStamped(chunk, stamp)),
  find: ({ address, id: [sum] }, reserve) => reserve.entryOf(address, sum),
};

const NOTHING = new Uint8Array(0);

function bySum(sum: Uint8Array): EntryId {
  return [sum, NOTHING];
}
