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

export interface OfferedEntry {
  /** 32 bytes. */
  readonly address: Uint8Array;
  readonly id: Uint8Array;
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
  idOf(entry: ReserveEntry, reserve: Entries): Uint8Array | undefined;
  /** Whether the entry still holds what was offered. */
  isStill(offered: Uint8Array, held: { readonly chunk: Chunk; readonly stamp: Stamp }): boolean;
  idOfDelivery(chunk: Chunk, stamp: Stamp): Uint8Array;
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
    const chunks = entries.map(({ address, id }) => ({
      address,
      batchId: id.subarray(0, ADDRESS_SIZE),
      stampHash: id.subarray(ADDRESS_SIZE),
    }));
    await stream.write(Offer, { topmost, chunks });
  },
  async readOffer(stream, signal) {
    const { topmost, chunks } = await stream.read(Offer, signal);
    const entries = chunks.map(({ address, batchId, stampHash }) => {
      checkOffered('hash', ADDRESS_SIZE, address, batchId, stampHash);
      return { address, id: underStamp(batchId, stampHash) };
    });
    return { topmost, entries };
  },
  idOf: ({ batchId, stampHash }) => underStamp(batchId, stampHash),
  isStill: () => true,
  idOfDelivery: (_chunk, stamp) => underStamp(stamp.batchId, stampHash(stamp)),
  find({ address, id }, reserve) {
    const [batchId, stampHash] = [id.subarray(0, ADDRESS_SIZE), id.subarray(ADDRESS_SIZE)];
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
      chunks: entries.map(({ address, id }) => ({ address, sum: id })),
    });
  },
  async readOffer(stream, signal) {
    const { topmost, chunks } = await stream.read(SummedOffer, signal);
    const entries = chunks.map(({ address, sum }) => {
      checkOffered('hash', ADDRESS_SIZE, address);
      checkOffered('sum', CHUNK_SUM_SIZE, sum);
      return { address, id: sum };
    });
    return { topmost, entries };
  },
  idOf: (entry, reserve) => reserve.sumOf(entry),
  isStill: (offered, { chunk, stamp }) => equalBytes(sumOfStamped(chunk, stamp), offered),
  idOfDelivery: sumOfStamped,
  find: ({ address, id }, reserve) => reserve.entryOf(address, id),
};

function underStamp(batchId: Uint8Array, stampHash: Uint8Array): Uint8Array {
  const id = new Uint8Array(2 * ADDRESS_SIZE);
  id.set(batchId);
  id.set(stampHash, ADDRESS_SIZE);
  return id;
}
