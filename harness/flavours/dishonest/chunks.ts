import { proximityOrder } from '../../../formats/chunk/address.ts';
import { overlayAddress } from '../../../formats/crypto/overlay.ts';
import type { MessageOf } from '../../../node/p2p/codec/message.ts';
import type { ProtocolHandler } from '../../../node/p2p/host.ts';
import { Delivery as Parcel, PUSHSYNC, Receipt } from '../../../node/protocols/pushsync/wire.ts';
import { Delivery, RETRIEVAL, Request } from '../../../node/protocols/retrieval/wire.ts';
import type { Behaviour, Stage } from './behaviour.ts';
import { pause, randomChunk, randomStamp, withPeers, withStream } from './steps.ts';

const CHUNK_SIZE = 8 + 4096;
/** Longer than an honest node waits for an answer. */
const SILENCE_MS = 60_000;
const BAD_STAMPS_EVERY_MS = 250;
const SIGNATURE_SIZE = 65;

export const WRONG_DATA: Behaviour = {
  about: 'answers requests for a chunk with bytes that are not its own',
  serves: ({ random, count }) => ({
    [RETRIEVAL.id]: async (stream) => {
      await stream.read(Request);
      await stream.write(Delivery, { data: random.bytes(CHUNK_SIZE) });
      count('chunks falsified');
    },
  }),
};

export const OTHER_CHUNK: Behaviour = {
  about: 'answers requests for a chunk with a valid chunk of another address',
  serves: ({ random, count }) => ({
    [RETRIEVAL.id]: async (stream) => {
      await stream.read(Request);
      await stream.write(Delivery, { data: randomChunk(random).data });
      count('chunks exchanged');
    },
  }),
};

type ReceiptOf = (stage: Stage, address: Uint8Array, turn: number) => Partial<MessageOf<typeof Receipt>>;

/** Drops every delivery, and answers with a receipt. */
function receipts(stage: Stage, what: string, made: ReceiptOf): Readonly<Record<string, ProtocolHandler>> {
  let turn = 0;
  return {
    [PUSHSYNC.id]: async (stream) => {
      const { address } = await stream.read(Parcel);
      await stream.write(Receipt, made(stage, address, turn++));
      stage.count(what);
    },
  };
}

export const FORGED_RECEIPTS: Behaviour = {
  about: 'answers deliveries with receipts whose signature is random, or that are for another chunk',
  serves: (stage) =>
    receipts(stage, 'receipts forged', ({ random, deps, options }, address, turn) => {
      const other = turn % 2 === 0 ? address : random.bytes(32);
      const signature = turn % 2 === 0 ? random.bytes(SIGNATURE_SIZE) : deps.signer.sign(other);
      return { address: other, signature, nonce: options.nonce, storageRadius: 0 };
    }),
};

export const SHALLOW_RECEIPTS: Behaviour = {
  about: 'answers deliveries with receipts of a storer that is far from the chunk, outside its neighbourhood',
  serves: (stage) =>
    receipts(stage, 'shallow receipts', ({ random, deps, options }, address) => ({
      address,
      signature: deps.signer.sign(address),
      nonce: farNonce(
        address,
        () => random.bytes(32),
        (nonce) => overlayAddress(deps.signer.address, options.networkId, nonce),
      ),
      storageRadius: 1,
    })),
};

/** A node may choose its nonce, and so its overlay. */
function farNonce(
  address: Uint8Array,
  draw: () => Uint8Array,
  overlayOf: (nonce: Uint8Array) => Uint8Array,
): Uint8Array {
  for (;;) {
    const nonce = draw();
    if (proximityOrder(overlayOf(nonce), address) === 0) return nonce;
  }
}

export const NO_STORE: Behaviour = {
  about: 'signs receipts for chunks that it neither stores nor passes on',
  serves: (stage) =>
    receipts(stage, 'receipts for nothing', ({ deps, options }, address) => ({
      address,
      signature: deps.signer.sign(address),
      nonce: options.nonce,
      storageRadius: 0,
    })),
};

export const SILENT: Behaviour = {
  about: 'takes deliveries and requests, and does not answer until the peer has given up',
  serves: ({ clock, count }) => {
    const swallow = async (signal: AbortSignal) => {
      count('requests left without an answer');
      await pause(clock, SILENCE_MS, signal);
    };
    return {
      [PUSHSYNC.id]: async (stream, signal) => {
        await stream.read(Parcel);
        await swallow(signal);
      },
      [RETRIEVAL.id]: async (stream, signal) => {
        await stream.read(Request);
        await swallow(signal);
      },
    };
  },
};

export const BAD_STAMPS: Behaviour = {
  about: 'pushes chunks with random bytes for stamps',
  acts: (stage) =>
    withPeers(stage, BAD_STAMPS_EVERY_MS, (peer) =>
      withStream(stage, peer, PUSHSYNC.id, async (stream) => {
        const { address, data } = randomChunk(stage.random);
        await stream.write(Parcel, { address, data, stamp: randomStamp(stage.random) });
        stage.count('bad stamps sent');
        await stream.read(Receipt);
      }),
    ),
};
