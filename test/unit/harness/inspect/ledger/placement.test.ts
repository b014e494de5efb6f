import { expect, test } from 'vitest';
import type { ClusterNode } from '../../../../../harness/cluster/nodes/cluster-node.ts';
import { PlacementWatch } from '../../../../../harness/inspect/ledger/placement.ts';

const SIGNAL = new AbortController().signal;
const address = (first: number) => `${first.toString(16).padStart(2, '0')}${'00'.repeat(31)}`;

interface Fake {
  readonly name: string;
  readonly overlay: number;
  readonly radius: number;
  readonly holds: Set<string>;
  asked?: number;
}

function node(fake: Fake): ClusterNode {
  return {
    name: fake.name,
    overlay: address(fake.overlay),
    client: { status: () => Promise.resolve({ storageRadius: fake.radius }) },
    holds: (chunk: string) => {
      fake.asked = (fake.asked ?? 0) + 1;
      return Promise.resolve(fake.holds.has(chunk));
    },
  } as unknown as ClusterNode;
}

const LOW = address(0x01);
const HIGH = address(0x81);

test('a chunk belongs to every node whose radius covers it', async () => {
  const near = { name: 'near', overlay: 0x00, radius: 1, holds: new Set([LOW]) };
  const all = { name: 'all', overlay: 0xc0, radius: 0, holds: new Set<string>() };
  const far = { name: 'far', overlay: 0xf0, radius: 1, holds: new Set<string>() };
  const watch = new PlacementWatch([LOW], [near, all, far].map(node));
  expect(await watch.probe(SIGNAL)).toEqual({
    missing: '1 of 1 chunks: 01000000 is missing on all, held by near',
  });
  all.holds.add(LOW);
  expect(await watch.probe(SIGNAL)).toMatchObject({ done: [{ chunk: LOW, lacking: [] }] });
});

test('the closest node has to hold a chunk that no radius covers', async () => {
  const low = { name: 'low', overlay: 0x00, radius: 8, holds: new Set<string>() };
  const high = { name: 'high', overlay: 0x80, radius: 8, holds: new Set([LOW]) };
  const watch = new PlacementWatch([LOW], [low, high].map(node));
  expect(await watch.probe(SIGNAL)).toEqual({
    missing: '1 of 1 chunks: 01000000 is missing on low, held by high',
  });
});

test('chunks that have arrived are not asked for again', async () => {
  const only: Fake = { name: 'only', overlay: 0x00, radius: 0, holds: new Set([LOW]) };
  const watch = new PlacementWatch([LOW, HIGH, LOW], [node(only)]);
  await watch.probe(SIGNAL);
  expect(only.asked).toBe(2);
  only.holds.add(HIGH);
  expect(await watch.probe(SIGNAL)).toMatchObject({ done: [{ chunk: LOW }, { chunk: HIGH }] });
  expect(only.asked).toBe(3);
});

test('a node that does not answer is reported as missing', async () => {
  const broken = {
    overlay: address(0),
    client: { status: () => Promise.reject(new Error('no answer')) },
  } as unknown as ClusterNode;
  expect(await new PlacementWatch([LOW], [broken]).probe(SIGNAL)).toEqual({ missing: 'no answer' });
});
