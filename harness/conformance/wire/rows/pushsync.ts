/** Pushes: `p2p-protocols.md` 4.9. */

import { proximityOrder } from '../../../../formats/chunk/address.ts';
import { makeCac } from '../../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../../formats/chunk/chunk.ts';
import { STAMP_SIZE } from '../../../../formats/chunk/stamp.ts';
import { equalBytes, toHex } from '../../../../formats/crypto/hex.ts';
import { overlayAddress } from '../../../../formats/crypto/overlay.ts';
import { recoverSigner, SignatureError } from '../../../../formats/crypto/signer.ts';
import type { MessageOf } from '../../../../node/p2p/codec/message.ts';
import { Delivery, PUSHSYNC, Receipt } from '../../../../node/protocols/pushsync/wire.ts';
import { Mismatch, must, NotApplicable } from '../../row.ts';
import { ANSWER_MS } from '../conversation.ts';
import type { Stamping } from '../funds.ts';
import { type Desk, table, type WireEntry } from '../subject.ts';
import { retrieve } from './retrieval.ts';

/** A push and its timeouts cross the network. */
const PUSH_MS = 35_000;
/** The purchase, then ten blocks until nodes accept stamps. */
const BUYING_MS = 240_000;

const NEAR = 8;

interface Refused {
  readonly id: string;
  readonly about: string;
  /** Only a node that would keep the chunk notices. */
  readonly ofStorer?: true;
  readonly change: (honest: Pushed) => Pushed;
}

interface Pushed {
  readonly address: Uint8Array;
  readonly data: Uint8Array;
  readonly stamp: Uint8Array;
}

/** None needs a batch: each is wrong before the stamp is checked, or of an unknown batch. */
const REFUSED: readonly Refused[] = [
  {
    id: 'stamp too short',
    about: `a stamp of ${STAMP_SIZE - 1} bytes`,
    change: (honest) => ({ ...honest, stamp: honest.stamp.subarray(1) }),
  },
  { id: 'no stamp', about: 'no stamp', change: (honest) => ({ ...honest, stamp: new Uint8Array(0) }) },
  {
    id: 'other data',
    about: 'data that do not belong to the address',
    change: ({ data, ...honest }) => ({ ...honest, data: new Uint8Array([...data, 1]) }),
  },
  { id: 'no data', about: 'no data', change: (honest) => ({ ...honest, data: new Uint8Array(0) }) },
  {
    id: 'unknown batch',
    about: 'a stamp of a batch that does not exist',
    ofStorer: true,
    change: (honest) => honest,
  },
];

/** Of an existing batch. */
const WRONG_STAMPS: readonly {
  readonly id: string;
  readonly about: string;
  readonly stamp: (stamping: Stamping, chunk: Chunk) => Uint8Array;
}[] = [
  {
    id: 'another bucket',
    about: 'a stamp of another bucket than its address belongs to',
    stamp: (stamping, chunk) => stamping.stamp(chunk.address, { bucketOffset: 1 }),
  },
  {
    id: 'index too large',
    about: 'a stamp whose index is beyond the bucket',
    stamp: (stamping, chunk) => stamping.stamp(chunk.address, { position: 2 ** stamping.bucketBits }),
  },
  {
    id: 'another owner',
    about: 'a stamp that the owner of the batch has not signed',
    stamp: (stamping, chunk) => stamping.stamp(chunk.address, { forged: true }),
  },
];

export const PUSHSYNC_ROWS = table({ group: 'pushsync', level: 'money', mode: 'full' }, [
  ...REFUSED.map(
    ({ id, about, ofStorer, change }): WireEntry => ({
      id: `pushsync ${id}`,
      level: 'read',
      limitMs: PUSH_MS + ANSWER_MS,
      about: `answers ${about} with an error in the receipt, and ends the stream`,
      async check(desk) {
        if (ofStorer === true) await desk.keepsChunks();
        const { address, data } = someChunk(`pushsync ${id}`);
        await refused(desk, change({ address, data, stamp: new Uint8Array(STAMP_SIZE).fill(7) }));
      },
    }),
  ),
  {
    id: 'pushsync receipt',
    limitMs: BUYING_MS,
    about: 'takes a stamped chunk, and its receipt is signed by the node whose overlay it names',
    async check(desk) {
      await desk.keepsChunks();
      const stamping = await desk.funds().stamping();
      const { address, data } = nearChunk(desk, 'receipt');
      const receipt = await push(desk, { address, data, stamp: stamping.stamp(address) });
      must(receipt.err === '', `Err: ${receipt.err}`);
      checkReceipt(desk, receipt, address);
      await retrieve(await desk.fresh(), address);
    },
  },
  {
    id: 'pushsync again',
    limitMs: BUYING_MS,
    about: 'gives a receipt again for a chunk that it has, under the same stamp',
    async check(desk) {
      await desk.keepsChunks();
      const stamping = await desk.funds().stamping();
      const { address, data } = nearChunk(desk, 'again');
      const stamp = stamping.stamp(address);
      for (const time of ['first', 'second']) {
        const receipt = await push(desk, { address, data, stamp });
        must(receipt.err === '', `the ${time} push: Err: ${receipt.err}`);
        checkReceipt(desk, receipt, address);
      }
    },
  },
  ...WRONG_STAMPS.map(
    ({ id, about, stamp }): WireEntry => ({
      id: `pushsync ${id}`,
      limitMs: BUYING_MS,
      about: `refuses ${about}`,
      async check(desk) {
        await desk.keepsChunks();
        const stamping = await provedStamping(desk);
        const chunk = nearChunk(desk, id);
        await refused(desk, { address: chunk.address, data: chunk.data, stamp: stamp(stamping, chunk) });
      },
    }),
  ),
]);

function someChunk(text: string): Chunk {
  const payload = new TextEncoder().encode(`svcnet conformance: ${text}`);
  return makeCac(BigInt(payload.length), payload);
}

/** The node, or one as near, keeps it. */
function nearChunk(desk: Desk, text: string): Chunk {
  for (let n = 0; ; n++) {
    const chunk = someChunk(`${text} ${desk.clock.now()} ${n}`);
    if (proximityOrder(desk.overlay(), chunk.address) >= NEAR) return chunk;
  }
}

async function push(desk: Desk, chunk: Pushed): Promise<MessageOf<typeof Receipt>> {
  // Chunks are served on credit, which the shared peer would use up.
  const peer = await desk.fresh();
  return peer.ask(PUSHSYNC.id, [Delivery, chunk, 'Delivery'], [Receipt, 'Receipt', PUSH_MS]);
}

function provedStamping(desk: Desk): Promise<Stamping> {
  return desk.memory.once('stamping', async () => {
    const stamping = await desk.funds().stamping();
    const { address, data } = nearChunk(desk, 'proof');
    const { err } = await push(desk, { address, data, stamp: stamping.stamp(address) });
    if (err !== '') throw new NotApplicable(`needs what the row 'pushsync receipt' looks at: ${err}`);
    return stamping;
  });
}

async function refused(desk: Desk, chunk: Pushed): Promise<void> {
  const { err } = await push(desk, chunk);
  must(err !== '', 'Err: empty, expected why the chunk was not taken');
}

function checkReceipt(desk: Desk, receipt: MessageOf<typeof Receipt>, address: Uint8Array): void {
  must(
    equalBytes(receipt.address, address),
    `Address: ${toHex(receipt.address)}, expected ${toHex(address)}`,
  );
  must(receipt.nonce.length === 32, `Nonce: ${receipt.nonce.length} bytes, expected 32`);
  try {
    const signer = recoverSigner(receipt.address, receipt.signature);
    const storer = overlayAddress(signer, desk.options.networkId, receipt.nonce);
    const depth = proximityOrder(storer, address);
    must(
      depth >= receipt.storageRadius,
      `StorageRadius: ${receipt.storageRadius}, but the signer ${toHex(storer)} shares ${depth} bits with the chunk`,
    );
    const own = equalBytes(storer, desk.overlay());
    must(
      own || depth >= NEAR,
      `Signature: of ${toHex(storer)}, which is not near the chunk ${toHex(address)}`,
    );
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    throw new Mismatch(`Signature: ${error.message}`);
  }
}
