import { MerkleTree, PrivateKey, Signature, Stamper, Utils } from '@ethersphere/bee-js';
import { test as property } from '@fast-check/vitest';
import { expect } from 'vitest';
import { decodeStamp, encodeStamp, type Stamp } from '../../../formats/chunk/stamp.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { BatchIssuer } from '../../../node/postage/issuer.ts';
import { validateStamp } from '../../../node/postage/validation.ts';
import { MemoryState } from '../onchain/memory-state.ts';
import { VirtualClock } from '../onchain/virtual-clock.ts';
import { ids, privateKeys } from './kit.ts';

/** The client signs in plain JavaScript: tenths of a second each on a busy machine. */
const SIGNED_RUNS = 3;
const TERMS = { amount: 1n, depth: 17, bucketDepth: 16, immutable: true };

function issuerOf(key: Uint8Array, batchId: Uint8Array): BatchIssuer {
  return new BatchIssuer(
    { ...TERMS, batchId, label: '', blockNumber: 1 },
    { state: new MemoryState(), signer: createSigner(key), clock: new VirtualClock(), log: silentLogger() },
  );
}

property.prop([privateKeys, ids, ids], { numRuns: SIGNED_RUNS })(
  'a stamp of the client has the same bytes as ours, pays for its chunk, and takes the same slot',
  async (key, batchId, payload) => {
    const chunk = await MerkleTree.root(payload);
    const address = chunk.hash();
    const envelope = Stamper.fromBlank(key, batchId, TERMS.depth).stamp(chunk);
    const bytes = Utils.convertEnvelopeToMarshaledStamp(envelope).toUint8Array();
    const stamp = decodeStamp(bytes);
    expect(toHex(encodeStamp({ ...envelope, batchId }))).toBe(toHex(bytes));
    const owner = createSigner(key).address;
    validateStamp(address, stamp, { ...TERMS, id: batchId, owner, value: 1n, start: 1 });
    const ours = issuerOf(key, batchId).stamp({ address, identity: address });
    expect(toHex(stamp.index)).toBe(toHex(ours.index));
  },
);

property.prop([privateKeys, ids, ids], { numRuns: SIGNED_RUNS })(
  'a stamp of ours has the same bytes as the client’s, and the client recovers its owner',
  (key, batchId, address) => {
    const stamp: Stamp = issuerOf(key, batchId).stamp({ address, identity: address });
    const { signature, timestamp, index } = stamp;
    const owner = new PrivateKey(key).publicKey().address();
    const signed = Buffer.concat([address, batchId, index, timestamp]);
    expect(new Signature(signature).isValid(signed, owner)).toBe(true);
    expect(toHex(owner.toUint8Array())).toBe(toHex(createSigner(key).address));
  },
);
