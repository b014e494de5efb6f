import { fc, test as property } from '@fast-check/vitest';
import { generateKeyPairFromSeed } from '@libp2p/crypto/keys';
import { peerIdFromPrivateKey } from '@libp2p/peer-id';
import { expect, test } from 'vitest';
import { HarnessError } from '../../../../../harness/base/errors.ts';
import {
  batchNonce,
  derive,
  deriveNode,
  parseSeed,
  seededBytes,
  seedToJson,
} from '../../../../../harness/cluster/plan/seed.ts';

const SEED = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const NETWORK = 4020;

property.prop([SEED, fc.nat(199)], { numRuns: 20 })(
  'the same seed gives the same keys, overlay and peer id',
  (seed, index) => {
    expect(deriveNode({ seed, index, networkId: NETWORK })).toEqual(
      deriveNode({ seed, index, networkId: NETWORK }),
    );
  },
);

test('nodes of one seed and equal nodes of two seeds share nothing', () => {
  const identities = [
    deriveNode({ seed: 1n, index: 0, networkId: NETWORK }),
    deriveNode({ seed: 1n, index: 1, networkId: NETWORK }),
    deriveNode({ seed: 2n, index: 0, networkId: NETWORK }),
  ];
  const values = identities.flatMap(({ keys, overlay, ethereum, peerId }) => [
    ...Object.values(keys).map((key) => Buffer.from(key).toString('hex')),
    overlay,
    ethereum,
    peerId,
  ]);
  expect(new Set(values).size).toBe(values.length);
});

test('the network id is part of the overlay and of nothing else', () => {
  const { overlay, ...rest } = deriveNode({ seed: 1n, index: 0, networkId: NETWORK });
  const { overlay: elsewhere, ...same } = deriveNode({ seed: 1n, index: 0, networkId: 4021 });
  expect(rest).toEqual(same);
  expect(overlay).not.toBe(elsewhere);
});

test('an overlay is mined into a neighbourhood with the key of its account, always with the same result', () => {
  const bits = (overlay: string) => BigInt(`0x${overlay}`).toString(2).padStart(256, '0');
  const plain = deriveNode({ seed: 7n, index: 0, networkId: NETWORK });
  for (const neighbourhood of ['0', '1', '0110', '11111111', '0000000000']) {
    const mined = deriveNode({ seed: 7n, index: 0, networkId: NETWORK, neighbourhood });
    expect(bits(mined.overlay).slice(0, neighbourhood.length)).toBe(neighbourhood);
    expect(mined).toEqual(deriveNode({ seed: 7n, index: 0, networkId: NETWORK, neighbourhood }));
    expect([mined.peerId, mined.keys.pss]).toEqual([plain.peerId, plain.keys.pss]);
  }
  // It is there already, without mining.
  const own = bits(plain.overlay).slice(0, 16);
  expect(deriveNode({ seed: 7n, index: 0, networkId: NETWORK, neighbourhood: own })).toEqual(plain);
});

test('the identities of seed 7 never change: recorded runs depend on them', () => {
  const { ethereum, overlay, peerId } = deriveNode({ seed: 7n, index: 0, networkId: NETWORK });
  expect({ ethereum, overlay, peerId, nonce: batchNonce(7n, 0, 0) }).toMatchInlineSnapshot(`
    {
      "ethereum": "ede7d697177449dfee0ed724eeacdea451dc7075",
      "nonce": "0x509edef2e5aefe49b469c9942057f9072df0093f4524dd05e140ce70369ebdc6",
      "overlay": "e07ff03b9fdd8582f70a9dee5c6cbc77d1629306ca60808e8a544fe067e40af1",
      "peerId": "12D3KooWJaLoT9G8U15XVpLKfP1RvQgMNZArhy6TuUraQggnFqEk",
    }
  `);
});

test('peer ids are those of libp2p', async () => {
  const { keys, peerId } = deriveNode({ seed: 11n, index: 3, networkId: NETWORK });
  const key = await generateKeyPairFromSeed('Ed25519', keys.libp2p);
  expect(peerId).toBe(peerIdFromPrivateKey(key).toString());
});

test('labels are separated: joining them differently gives another value', () => {
  expect(derive(1n, 'a', 'bc')).not.toEqual(derive(1n, 'ab', 'c'));
  expect(derive(1n, 'node', 1, 'x')).not.toEqual(derive(1n, 'node', 11, 'x'));
});

test('every batch of every node has its own nonce', () => {
  const nonces = [0, 1, 2].flatMap((node) => [0, 1, 2].map((batch) => batchNonce(5n, node, batch)));
  expect(new Set(nonces).size).toBe(9);
  for (const nonce of nonces) expect(nonce).toMatch(/^0x[0-9a-f]{64}$/);
});

property.prop([SEED])('a seed is written and read back without loss', (seed) => {
  expect(parseSeed(String(seedToJson(seed)))).toBe(seed);
});

test.each(['', '-1', '1.5', 'abc', '0x', '0x10', '18446744073709551616'])(
  "'%s' is refused as a seed",
  (text) => {
    expect(() => parseSeed(text)).toThrow(HarnessError);
  },
);

test('any number of bytes can be derived from seed and purpose, and the first ones do not depend on the number', () => {
  const bytes = seededBytes(5000, 7n, 'purpose', 1);
  expect(bytes).toHaveLength(5000);
  expect(Buffer.compare(seededBytes(100, 7n, 'purpose', 1), bytes.subarray(0, 100))).toBe(0);
  for (const other of [seededBytes(32, 8n, 'purpose', 1), seededBytes(32, 7n, 'purpose', 2)]) {
    expect(Buffer.compare(other, bytes.subarray(0, 32))).not.toBe(0);
  }
});
