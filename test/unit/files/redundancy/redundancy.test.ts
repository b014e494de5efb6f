import { describe, expect, test } from 'vitest';
import {
  parityCount,
  type RedundancyLevel,
  referenceCounts,
  referenceSize,
  shardsMax,
} from '../../../../node/files/redundancy/redundancy.ts';
import vectors from '../../../vectors/redundancy.json' with { type: 'json' };

interface Table {
  maxShards: number;
  paritiesAtMax: number;
  parities: number[];
}

const LEAF = 4096;
const tables = Object.entries(
  (vectors.cases as { name: string; expected: unknown }[]).find(({ name }) =>
    name.startsWith('parities per level'),
  )!.expected as Record<string, Table>,
).map(([name, table]) => {
  const [kind, level] = name.split('-') as [string, string];
  return { name, ...table, shape: { level: Number(level) as RedundancyLevel, encrypted: kind !== 'plain' } };
});

describe.each(tables)('table $name', ({ maxShards, paritiesAtMax, parities, shape }) => {
  test('has the parities of every shard count', () => {
    expect(parities).toHaveLength(maxShards + 1);
    for (let shards = 1; shards <= maxShards; shards++)
      expect(parityCount(shards, shape), `${shards} shards`).toBe(parities[shards]);
  });

  test('fills an intermediate chunk exactly', () => {
    expect(shardsMax(shape)).toBe(maxShards);
    expect(parityCount(maxShards, shape)).toBe(paritiesAtMax);
    const used = maxShards * referenceSize(shape) + paritiesAtMax * 32;
    expect(used).toBeLessThanOrEqual(LEAF);
    expect(used + referenceSize(shape)).toBeGreaterThan(LEAF);
  });

  test('is applied to the children that a span implies', () => {
    const run = maxShards * LEAF;
    for (const [span, data] of [
      [LEAF + 1, 2],
      [run - LEAF, maxShards - 1],
      [run, maxShards],
      [run + 1, 2],
      [3 * run, 3],
      [3 * run + 1, 4],
      [run * maxShards, maxShards],
      [run * maxShards + 1, 2],
    ] as const)
      expect(referenceCounts(BigInt(span), shape), `span ${span}`).toEqual({
        data,
        parities: parities[data],
      });
  });
});

test('without redundancy there are no parities', () => {
  expect(parityCount(128, { level: 0, encrypted: false })).toBe(0);
  expect(shardsMax({ level: 0, encrypted: false })).toBe(128);
  expect(shardsMax({ level: 0, encrypted: true })).toBe(64);
});
