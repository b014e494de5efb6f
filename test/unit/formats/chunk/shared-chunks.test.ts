import { beforeEach, expect, test, vi } from 'vitest';
import { makeCac } from '../../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../../formats/chunk/chunk.ts';
import { signSoc } from '../../../../formats/chunk/soc.ts';
import { chunkFrom } from '../../../../formats/chunk/validate.ts';
import { createSigner, recoverSigner } from '../../../../formats/crypto/signer.ts';
import type { SharedResults } from '../../../../formats/shared-results.ts';
import { Power } from '../../../../node/env/power.ts';
import { sharedResults } from '../../../../node/platform/memory.ts';

let shared: SharedResults;
let nodes: readonly Power[];
beforeEach(() => {
  shared = sharedResults();
  nodes = [0, 1, 2].map(() => new Power(() => undefined, shared));
});

function on<T>(node: number, work: () => T): T {
  let outcome: (() => T) | undefined;
  nodes[node]?.run(() => {
    try {
      const value = work();
      outcome = () => value;
    } catch (error) {
      outcome = () => {
        throw error;
      };
    }
  });
  if (outcome === undefined) throw new Error('the node has not run it');
  return outcome();
}

const signer = createSigner(new Uint8Array(32).fill(7));
const CHUNKS: [string, () => Chunk][] = [
  ['content-addressed', () => makeCac(4096n, new Uint8Array(4096).fill(3))],
  ['single-owner', () => signSoc(new Uint8Array(32), makeCac(9n, new Uint8Array(9).fill(5)).data, signer)],
];

test.each(CHUNKS)('a %s chunk is the same chunk for the second node, without another check', (_, make) => {
  const { address, data, kind, identity } = make();
  const first = on(0, () => chunkFrom(address.slice(), data.slice()));
  expect(first).toEqual({ address, data, kind, identity });
  const found = vi.spyOn(shared.chunks, 'find');
  const [theirAddress, theirData] = [address.slice(), data.slice()];
  const second = on(1, () => chunkFrom(theirAddress, theirData));
  expect(found.mock.results[0]?.value).toBeDefined();
  expect(second).toEqual(first);
  // Of the bytes that came to this node, not of the other one's.
  expect(second.address).toBe(theirAddress);
  expect(second.data).toBe(theirData);
});

test.each(CHUNKS)('a peer that corrupts a %s chunk is refused by every node', (_, make) => {
  const { address, data } = make();
  on(0, () => chunkFrom(address, data));
  for (const at of [0, data.length >> 1, data.length - 1]) {
    const corrupt = data.slice();
    corrupt[at]! ^= 1;
    for (const node of [0, 1, 2]) {
      expect(() => on(node, () => chunkFrom(address, corrupt))).toThrow('invalid chunk');
    }
  }
  expect(() => on(1, () => chunkFrom(address, data.subarray(0, -1)))).toThrow('invalid chunk');
  expect(on(2, () => chunkFrom(address, data)).data).toBe(data);
});

test('later changes to a node’s own bytes do not affect other nodes', () => {
  const { address, data } = makeCac(4096n, new Uint8Array(4096).fill(3));
  const mine = data.slice();
  on(0, () => chunkFrom(address, mine));
  mine[100]! ^= 1;
  expect(() => on(1, () => chunkFrom(address, mine))).toThrow('invalid chunk');
  expect(on(1, () => chunkFrom(address, data)).data).toBe(data);
});

test('a signature is looked up by all of its bytes and all that it signs', () => {
  const data = new TextEncoder().encode('what is signed');
  const signature = on(0, () => signer.sign(data));
  expect(on(1, () => recoverSigner(data, signature))).toEqual(signer.address);
  for (const at of [0, 40, 64]) {
    const other = signature.slice();
    other[at]! ^= at === 64 ? 7 : 1;
    let found: Uint8Array | undefined;
    try {
      found = on(1, () => recoverSigner(data, other));
    } catch {
      // Most bytes are not a valid signature.
    }
    expect(found).not.toEqual(signer.address);
  }
  const others = on(1, () => recoverSigner(new TextEncoder().encode('something else'), signature));
  expect(others).not.toEqual(signer.address);
});

test('a signature that one node has made or checked is not computed again by another one', () => {
  const data = new TextEncoder().encode('what is signed');
  const signature = signer.sign(data);
  const put = vi.spyOn(shared.signers, 'put');
  on(0, () => recoverSigner(data, signature));
  on(1, () => recoverSigner(data, signature));
  expect(put).toHaveBeenCalledTimes(1);
  const made = on(2, () => signer.sign(new Uint8Array(32)));
  expect(put).toHaveBeenCalledTimes(2);
  on(0, () => recoverSigner(new Uint8Array(32), made));
  expect(put).toHaveBeenCalledTimes(2);
});

test('a node that shares nothing neither benefits nor contributes', () => {
  const { address, data } = makeCac(4096n, new Uint8Array(4096).fill(3));
  const calls = [shared.chunks, shared.signers].flatMap((table) => [
    vi.spyOn(table, 'find'),
    vi.spyOn(table, 'put'),
  ]);
  const alone = new Power(() => undefined);
  alone.run(() => void chunkFrom(address, data));
  chunkFrom(address, data);
  recoverSigner(data, signer.sign(data));
  for (const call of calls) expect(call).not.toHaveBeenCalled();
});
