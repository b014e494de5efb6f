import { describe, expect, test } from 'vitest';
import { decodeStamp } from '../../../formats/chunk/stamp.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { batchIdOf } from '../../../node/onchain/contracts.ts';
import { decodeBatch, encodeBatch } from '../../../node/postage/batch-store.ts';
import { validateStamp } from '../../../node/postage/validation.ts';
import contracts from '../../vectors/contracts.json' with { type: 'json' };
import postage from '../../vectors/postage.json' with { type: 'json' };

interface Case {
  readonly name: string;
  readonly input?: Readonly<Record<string, string | number | boolean>>;
  readonly expected: Readonly<Record<string, unknown>>;
}
const cases: readonly Case[] = postage.cases;
const named = (name: string): Case => cases.find((known) => known.name === name) ?? { name, expected: {} };
const text = (value: unknown): string => String(value);

describe('stamps against their batch', () => {
  const checks = cases.filter(({ name }) => name.startsWith('stamp check:'));

  test('the vectors hold acceptances and rejections', () => {
    expect(checks.filter(({ expected }) => expected['valid'] === true).length).toBeGreaterThan(1);
    expect(checks.filter(({ expected }) => expected['valid'] === false).length).toBeGreaterThan(10);
  });

  test.each(checks)('$name', ({ input = {}, expected }) => {
    const check = () => {
      const stamp = decodeStamp(fromHex(text(input['stamp'])));
      const batch = {
        id: stamp.batchId,
        value: 1n,
        start: 1,
        owner: fromHex(text(input['owner'])),
        depth: Number(input['depth']),
        bucketDepth: Number(input['bucketDepth']),
        immutable: false,
      };
      validateStamp(fromHex(text(input['chunkAddress'])), stamp, batch);
    };
    if (expected['valid'] === true) expect(check).not.toThrow();
    else expect(check).toThrow(expected['error'] === undefined ? 'recovery' : text(expected['error']));
  });

  test('the stamp of the contracts vectors is valid', () => {
    const { signer, chunkAddress, batchId, index, timestamp, signature } = contracts.stampSignature;
    const stamp = decodeStamp(
      Buffer.concat([batchId, index, timestamp, signature].map((part) => fromHex(part))),
    );
    const terms = { value: 1n, start: 1, depth: 20, bucketDepth: 16, immutable: false };
    const batch = { ...terms, id: stamp.batchId, owner: fromHex(signer) };
    expect(() => validateStamp(fromHex(chunkAddress), stamp, batch)).not.toThrow();
    expect(() => validateStamp(fromHex(chunkAddress), stamp, { ...batch, bucketDepth: 15 })).toThrow(
      'bucket mismatch',
    );
  });
});

test('the batch id follows from creator and nonce', () => {
  const { input = {}, expected } = named('batch id from creator address and nonce');
  const id = batchIdOf(fromHex(text(input['sender'])), fromHex(text(input['nonce'])));
  expect(toHex(id)).toBe(expected['batchId']);
});

test('the batch record has 95 bytes, bucket depth before depth', () => {
  const { input = {}, expected } = named('batch record (95 bytes)');
  const batch = {
    id: fromHex(text(input['id'])),
    value: BigInt(text(input['value'])),
    start: Number(input['start']),
    owner: fromHex(text(input['owner'])),
    bucketDepth: Number(input['bucketDepth']),
    depth: Number(input['depth']),
    immutable: input['immutable'] === true,
  };
  expect(toHex(encodeBatch(batch))).toBe(expected['marshalled']);
  expect(decodeBatch(fromHex(text(expected['marshalled'])))).toEqual(batch);
});
