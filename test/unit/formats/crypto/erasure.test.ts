import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import {
  encodeParities,
  interpolationFactors,
  recoverShards,
  SHARD_SIZE,
} from '../../../../formats/crypto/erasure/erasure.ts';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import vectors from '../../../vectors/redundancy.json' with { type: 'json' };

interface Case {
  name: string;
  input?: { data?: string[] | number; parities?: number; shards?: (string | null)[] };
  expected: { parity?: string[]; parityRows?: string[]; data?: string[]; valid?: boolean };
}

const cases = vectors.cases as Case[];

/** As the field is defined: carry-less multiplication modulo x^8 + x^4 + x^3 + x^2 + 1. */
function times(a: number, b: number): number {
  let product = 0;
  for (let bit = 0; bit < 8; bit++) if ((b >> bit) & 1) product ^= a << bit;
  for (let bit = 14; bit >= 8; bit--) if ((product >> bit) & 1) product ^= 0x11d << (bit - 8);
  return product;
}

function power(base: number, exponent: number): number {
  return exponent === 0 ? 1 : times(base, power(base, exponent - 1));
}

describe('the vectors', () => {
  test.each(cases.filter(({ expected }) => expected.parity !== undefined))('$name', ({ input, expected }) => {
    const data = (input!.data as string[]).map(fromHex);
    const parities = encodeParities(data, input?.parities as number);
    expect(parities.map((parity) => toHex(parity.subarray(0, 2)))).toEqual(expected.parity);
    for (const parity of parities) expect(parity.subarray(2).every((byte) => byte === 0)).toBe(true);
  });

  test.each(cases.filter(({ expected }) => expected.parityRows !== undefined))(
    '$name',
    ({ input, expected }) => {
      const count = input?.data as number;
      const wanted = Array.from({ length: input?.parities as number }, (_, i) => count + i);
      expect(interpolationFactors([...Array(count).keys()], wanted).map(toHex)).toEqual(expected.parityRows);
    },
  );

  test.each(cases.filter(({ input }) => input?.shards !== undefined))('$name', ({ input, expected }) => {
    const shards = (input?.shards ?? []).map((shard) => (shard === null ? undefined : fromHex(shard)));
    const recover = () => recoverShards(shards, input?.data as number);
    if (expected.valid === false) {
      expect(recover).toThrow(expect.objectContaining({ code: 'TOO_FEW_SHARDS' }));
      return;
    }
    const recovered = recover();
    const data = shards
      .slice(0, input?.data as number)
      .map((shard, place) => toHex((shard ?? recovered.get(place)!).subarray(0, 2)));
    expect(data).toEqual(expected.data);
  });
});

test('the matrix follows the written rule: its rows give the powers of every point', () => {
  for (const [data, parities] of [
    [1, 19],
    [5, 31],
    [39, 89],
  ] as const) {
    const points = [...Array(data).keys()];
    const rows = interpolationFactors(
      points,
      Array.from({ length: parities }, (_, i) => data + i),
    );
    for (const [i, row] of rows.entries())
      for (const exponent of new Set([0, Math.min(1, data - 1), data - 1])) {
        const sum = points.reduce((acc, point) => acc ^ times(row[point]!, power(point, exponent)), 0);
        expect(sum).toBe(power(data + i, exponent));
      }
  }
});

const codes = fc.constantFrom([119, 9], [107, 21], [97, 31], [39, 89], [20, 87], [2, 3], [1, 2], [3, 8]);

function shuffled(length: number, seed: number): number[] {
  const order = [...Array(length).keys()];
  for (let i = length - 1, state = seed; i > 0; i--) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    const j = state % (i + 1);
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}

function dataOf(count: number, seed: number): Uint8Array[] {
  return Array.from({ length: count }, (_, i) => {
    const length = i === count - 1 ? 1 + (seed % SHARD_SIZE) : SHARD_SIZE;
    return Uint8Array.from({ length }, (_, k) => (k * 31 + i * 17 + seed) & 0xff);
  });
}

property.prop([codes, fc.nat()], { numRuns: 30 })(
  'as many shards as there are parities can be lost, whichever they are',
  ([count, parityCount], seed) => {
    const data = dataOf(count, seed);
    const shards = [...data, ...encodeParities(data, parityCount)];
    const lost = new Set(shuffled(shards.length, seed).slice(0, parityCount));
    const left = shards.map((shard, place) => (lost.has(place) ? undefined : shard));
    const recovered = recoverShards(left, count);
    expect([...recovered.keys()]).toEqual([...lost].filter((place) => place < count).sort((a, b) => a - b));
    for (const [place, shard] of recovered) {
      expect(shard).toHaveLength(SHARD_SIZE);
      const padded = new Uint8Array(SHARD_SIZE);
      padded.set(data[place]!);
      expect(Buffer.compare(shard, padded)).toBe(0);
    }
  },
);

test('losing one more shard is an error', () => {
  const data = dataOf(5, 1);
  const shards = [...data, ...encodeParities(data, 3)];
  const left = shards.map((shard, place) => (place % 2 === 0 ? undefined : shard));
  expect(() => recoverShards(left, 5)).toThrow('4 shards are left of 5 that are needed');
});

test('with all data present nothing is recovered', () => {
  expect(recoverShards([...dataOf(3, 1), undefined, undefined], 3).size).toBe(0);
});

test('data of an earlier group does not leak into the next', () => {
  const short = [fromHex('01'), fromHex('02')];
  const before = encodeParities(short, 3).map(toHex);
  encodeParities(dataOf(39, 5), 89);
  expect(encodeParities(short, 3).map(toHex)).toEqual(before);
});

test('too many or too long shards are an error of the caller', () => {
  expect(() => encodeParities(dataOf(100, 1), 29)).toThrow();
  expect(() => encodeParities([new Uint8Array(SHARD_SIZE + 1)], 1)).toThrow();
});
