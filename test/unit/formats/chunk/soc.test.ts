import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { cacFromData, makeCac } from '../../../../formats/chunk/cac.ts';
import { makeSoc, parseSoc, signSoc, socParts } from '../../../../formats/chunk/soc.ts';
import { chunkFrom } from '../../../../formats/chunk/validate.ts';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../../formats/crypto/keccak.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import vectors from '../../../vectors/soc.json' with { type: 'json' };
import { type PayloadInput, payloadOf } from '../crypto/payload.ts';

interface Case {
  readonly name: string;
  readonly input?: PayloadInput & {
    readonly privateKey?: string;
    readonly id?: string;
    readonly wrapped?: PayloadInput;
    readonly address?: string;
    readonly chunkData?: string;
    readonly signature?: string;
    readonly span?: string;
  };
  readonly expected: Record<string, unknown>;
}

const cases = vectors.cases as Case[];
const made = cases.filter(({ input }) => input?.privateKey !== undefined);
const judged = cases.filter(
  ({ expected }) => expected['valid'] !== undefined && expected['owner'] === undefined,
);
const identity = cases.filter(({ expected }) => expected['identityAddress'] !== undefined);

function make(
  key: Uint8Array,
  id: Uint8Array,
  payload: Uint8Array,
): { address: Uint8Array; data: Uint8Array } {
  return signSoc(id, makeCac(BigInt(payload.length), payload).data, createSigner(key));
}

function dataOf(input: NonNullable<Case['input']>): Uint8Array {
  if (input.chunkData !== undefined) return fromHex(input.chunkData);
  return Buffer.concat([
    fromHex(input.id!),
    fromHex(input.signature!),
    fromHex(input.span!),
    payloadOf(input),
  ]);
}

test('every vector is made, judged or an identity', () => {
  expect(made.length + judged.length + identity.length).toBe(cases.length);
});

test.each(made)('$name', ({ input, expected }) => {
  const { address, data } = make(
    fromHex(input!.privateKey!),
    fromHex(input!.id!),
    payloadOf(input!.wrapped!),
  );
  expect(toHex(address)).toBe(expected['address']);
  expect(toHex(socParts(data).signature)).toBe(expected['signature']);
  expect(toHex(keccak256(data))).toBe(
    expected['keccak256OfChunkData'] ?? toHex(keccak256(fromHex(String(expected['chunkData'])))),
  );
  expect(parseSoc(address, data)?.kind).toBe('soc');
});

test.each(judged)('$name', ({ input, expected }) => {
  const address = fromHex(input!.address!);
  const data = dataOf(input!);
  expect(parseSoc(address, data) !== undefined).toBe(expected['valid']);
});

test('the identity of a single-owner chunk names address and content', () => {
  const { address, data } = make(
    fromHex(made[0]!.input!.privateKey!),
    new Uint8Array(32),
    Buffer.from('foo'),
  );
  expect(toHex(parseSoc(address, data)!.identity)).toBe(identity[0]!.expected['identityAddress']);
});

describe('a chunk of either kind', () => {
  const key = new Uint8Array(32).fill(5);
  const payloads = fc.uint8Array({ maxLength: 4096 });
  const ids = fc.uint8Array({ minLength: 32, maxLength: 32 });

  property.prop([ids, payloads], { numRuns: 30 })('is recognised by its address', (id, payload) => {
    const soc = make(key, id, payload);
    expect(chunkFrom(soc.address, soc.data).kind).toBe('soc');
    const cac = makeCac(BigInt(payload.length), payload);
    expect(chunkFrom(cac.address, cac.data)).toEqual(cac);
  });

  test('is refused with a changed byte, and nothing else is thrown', () => {
    const soc = make(key, new Uint8Array(32).fill(1), Buffer.from('some payload'));
    fc.assert(
      fc.property(fc.nat(soc.data.length - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
        // Recovery ids have aliases: v + 4 is the same signature.
        fc.pre(at !== 96 || mask === 1);
        const data = Uint8Array.from(soc.data);
        data[at]! ^= mask;
        expect(() => chunkFrom(soc.address, data)).toThrow(
          expect.objectContaining({ code: 'CHUNK_INVALID' }),
        );
      }),
    );
  });

  property.prop([fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ maxLength: 4300, size: 'max' })])(
    'is never made of random bytes',
    (address, data) => {
      expect(() => chunkFrom(address, data)).toThrow(expect.objectContaining({ code: 'CHUNK_INVALID' }));
    },
  );

  test('that could be both counts as content-addressed', () => {
    const { data } = make(key, new Uint8Array(32), Buffer.from('foo'));
    const { address } = cacFromData(data);
    expect(chunkFrom(address, data).kind).toBe('cac');
  });
});

test('the parts of a chunk restore it for its owner only, and not with an id or signature of another length', () => {
  const owner = createSigner(new Uint8Array(32).fill(5));
  const chunk = signSoc(new Uint8Array(32).fill(6), makeCac(3n, Buffer.from('foo')).data, owner);
  const parts = socParts(chunk.data);
  expect(makeSoc(parts, owner.address)).toEqual(chunk);
  expect(makeSoc(parts, new Uint8Array(20))).toBeUndefined();
  expect(makeSoc({ ...parts, id: parts.id.subarray(1) }, owner.address)).toBeUndefined();
  expect(makeSoc({ ...parts, signature: parts.signature.subarray(1) }, owner.address)).toBeUndefined();
});
