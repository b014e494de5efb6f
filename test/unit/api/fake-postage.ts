/** The simulated node has three issuers, two of them with a batch on the chain. */
import { encodeStamp } from '../../../formats/chunk/stamp.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import {
  type Batch,
  type Issuer,
  type Postage,
  PostageError,
  type Stampable,
} from '../../../node/postage/ports.ts';
import { type Failing, failIf } from './failing.ts';

export const BATCH_ID = new Uint8Array(32).fill(0xba);
export const BATCH = toHex(BATCH_ID);
export const NO_BATCH = 'fe'.repeat(32);
export const YOUNG_BATCH_ID = new Uint8Array(32).fill(0x70);
export const NEW_BATCH_ID = new Uint8Array(32).fill(0x4e);
export const EXPIRED_BATCH_ID = new Uint8Array(32).fill(0xee);

export interface PostageKnobs extends Failing {
  syncState: 'running' | 'synced' | 'failed';
  /** Stamps left until every bucket is full. */
  stampsLeft: number;
  buyError: Error | undefined;
  justBought: boolean;
  bought: unknown[];
  buying: Promise<void>;
}

export function postageKnobs(): Omit<PostageKnobs, 'failing'> {
  return {
    syncState: 'synced',
    stampsLeft: Number.POSITIVE_INFINITY,
    buyError: undefined,
    justBought: false,
    bought: [],
    buying: Promise.resolve(),
  };
}

export function fakePostage(turn: PostageKnobs): Postage {
  const stampedBy = new Map<string, Uint8Array>();
  const live = [batch(BATCH_ID, 10), batch(YOUNG_BATCH_ID, 119)];
  const issuers = [issuer(BATCH_ID, 10), issuer(YOUNG_BATCH_ID, 119), issuer(EXPIRED_BATCH_ID, 5)];
  const held = () => (turn.justBought ? [...issuers, issuer(NEW_BATCH_ID, 121)] : issuers);
  const same = (id: Uint8Array) => (other: { id?: Uint8Array; batchId?: Uint8Array }) =>
    toHex((other.id ?? other.batchId) as Uint8Array) === toHex(id);
  const batchOf = (id: Uint8Array) => live.find(same(id));
  const postage: Postage = {
    batches: {
      get(id) {
        failIf(turn, 'batch');
        return batchOf(id);
      },
      all() {
        failIf(turn, 'batches');
        return live;
      },
      chainState: () => ({ block: 120, totalAmount: 77n, currentPrice: 24_000n }),
      commitment() {
        failIf(turn, 'commitment');
        return 2n ** 21n;
      },
      radius: () => 1,
    },
    issuers(options) {
      failIf(turn, 'issuers');
      return held().filter((own) => options?.all === true || !postage.gone(own));
    },
    issuer(batchId) {
      failIf(turn, 'issuer');
      return held().find(same(batchId));
    },
    awaited: () => false,
    gone: ({ batchId, blockNumber }) => batchOf(batchId) === undefined && blockNumber <= 120,
    usable: ({ batchId, blockNumber }) => batchOf(batchId) !== undefined && 120 - blockNumber >= 10,
    buckets: (batchId) => (issuers.some(same(batchId)) ? new Uint32Array(65_536).fill(1, 0, 2) : undefined),
    stamper(batchId) {
      const own = issuers.find(same(batchId));
      if (own === undefined) throw new PostageError('BATCH_NOT_FOUND', 'no issuer');
      if (!postage.usable(own)) {
        throw new PostageError(
          postage.gone(own) ? 'BATCH_EXPIRED' : 'BATCH_NOT_USABLE',
          'too young or expired',
        );
      }
      const stamp = ({ identity }: Stampable) => {
        if (turn.stampsLeft-- <= 0) throw new PostageError('BATCH_OVERISSUED', 'bucket full');
        stampedBy.set(toHex(identity), batchId);
        return {
          batchId,
          index: new Uint8Array(8),
          timestamp: new Uint8Array(8),
          signature: new Uint8Array(65),
        };
      };
      return { batchId, stamp, stampAsync: async (chunk) => stamp(chunk) };
    },
    renewed: () => undefined,
    lastBatch: (identity) => stampedBy.get(toHex(identity)),
    async saved() {
      failIf(turn, 'saved');
    },
    validate(_chunk, stamp) {
      if (stamp.signature[0] !== 1) throw new PostageError('STAMP_INVALID', 'signature of another owner');
    },
    async buy(request) {
      await turn.buying;
      if (turn.buyError !== undefined) throw turn.buyError;
      turn.bought.push(request);
      return { batchId: new Uint8Array(32).fill(0xcc), txHash: `0x${'ab'.repeat(32)}` };
    },
    async topUp(request) {
      if (turn.buyError !== undefined) throw turn.buyError;
      turn.bought.push(request);
      return { txHash: `0x${'cd'.repeat(32)}` };
    },
    async dilute(request) {
      if (turn.buyError !== undefined) throw turn.buyError;
      turn.bought.push(request);
      return { txHash: `0x${'ef'.repeat(32)}` };
    },
    async relabel(batchId, label) {
      failIf(turn, 'relabel');
      const own = issuers.find(same(batchId));
      if (own === undefined) throw new PostageError('BATCH_NOT_FOUND', 'no issuer');
      issuers[issuers.indexOf(own)] = { ...own, label };
    },
    async minimumValidityBlocks() {
      failIf(turn, 'minimumValidityBlocks');
      return 17_280n;
    },
    batchTtl: () => 3600,
    syncState: () => turn.syncState,
  };
  return postage;
}

function issuer(batchId: Uint8Array, blockNumber: number): Issuer {
  return {
    batchId,
    label: 'label',
    amount: 1000n,
    depth: 20,
    bucketDepth: 16,
    blockNumber,
    immutable: true,
    utilization: 4,
    displaced: 0,
  };
}

function batch(id: Uint8Array, start: number): Batch {
  return {
    id,
    value: 5000n,
    start,
    owner: new Uint8Array(20).fill(0xab),
    bucketDepth: 16,
    depth: 20,
    immutable: true,
  };
}

/** @param first of the signature; the simulated batch takes 1 for valid */
export function stampOf(first: number, batchId = BATCH_ID): string {
  const signature = new Uint8Array(65);
  signature[0] = first;
  return toHex(encodeStamp({ batchId, index: new Uint8Array(8), timestamp: new Uint8Array(8), signature }));
}
