import { expect, test } from 'vitest';
import { Cluster } from '../../../harness/index.ts';
import { compareObservations, type Observation } from '../../../harness/inspect/differences/compare.ts';
import { ScenarioWatch } from '../../../harness/inspect/differences/watch.ts';
import { Ledger } from '../../../harness/inspect/ledger/ledger.ts';
import { bytesOf } from '../node/kit.ts';

async function observed(name: string, chunkPrice: number): Promise<Observation> {
  await using net = await Cluster.start({
    nodes: [{ count: 3, options: { 'chunk-price': chunkPrice } }],
    seed: 5,
    driver: 'simulated',
  });
  const watched = { cluster: net, ledger: new Ledger(), signal: new AbortController().signal };
  const watch = new ScenarioWatch(watched, 'upload');
  const { reference } = await net.node(0).bytes.upload(bytesOf('balances', 20_000), { redundancyLevel: 0 });
  await net.synced(reference);
  return { name, version: '1', facts: await watch.facts() };
}

test('what nodes owe each other is the same again, and a price off by one is named by both balances', async () => {
  const networks = [
    await observed('one', 10_000),
    await observed('again', 10_000),
    await observed('off', 10_001),
  ];
  const [again, off] = compareObservations(networks as [Observation, ...Observation[]], []);
  expect(again?.differences).toEqual([]);
  expect(again?.compared).toBeGreaterThan(5);
  expect(Object.keys(off?.counts ?? {})).toEqual(['money']);
  const [first] = off?.differences ?? [];
  expect(first?.what).toMatch(/^upload: what node-\d and node-\d did$/);
  const owes = /^owes -?\d+, by time sent \d+ and got \d+, by cheques sent \d+ and got \d+$/;
  expect([first?.seen['one'], first?.seen['off']]).toEqual(
    [owes, owes].map((text) => expect.stringMatching(text) as string),
  );
  expect(first?.seen['one']).not.toBe(first?.seen['off']);
});
