import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { askNodes } from '../../../harness/inspect/status/ask.ts';
import { isolationOf } from '../../../harness/inspect/status/isolation.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const soon = { timeout: 120_000, interval: 200 };
const signal = new AbortController().signal;
const stateDir = temporaryFolder('svcnet-clocks');
let net: Cluster;

beforeAll(async () => {
  net = await Cluster.start({
    nodes: 3,
    seed: 7,
    machineFaults: true,
    batches: false,
    // Every node signs its own record when it first starts.
    coldGossip: true,
    stateDir,
  });
});
afterEach(async () => {
  await net.faults.heal();
  await expect.poll(peersOfAll, soon).toEqual([2, 2, 2]);
});
afterAll(() => net.stop());

function peersOfAll(): Promise<number[]> {
  return Promise.all(net.nodes.map(async ({ client }) => (await client.peers()).length));
}

async function isolated(): Promise<Readonly<Record<string, string>>> {
  const answers = await askNodes(net.nodes, signal);
  const faults = await net.faults.list();
  return Object.fromEntries(await isolationOf(answers, net.nodes, { faults, nowMs: Date.now(), signal }));
}

test('a node that is an hour behind keeps its peers until it is started again, and then refuses all', async () => {
  const { id } = await net.faults.begin({ kind: 'clock', node: 'node-1', offset: '-1h' });
  expect(await peersOfAll()).toEqual([2, 2, 2]);
  await net.node(1).stop();
  await net.node(1).start();
  await expect.poll(isolated, soon).toEqual({
    'node-1': expect.stringMatching(
      `^fault ${id} is active: it sets the clock of node-1 1 h back; its clock is (59 min \\d+ s|1 h) behind: `,
    ) as string,
  });
  expect(await peersOfAll()).toEqual([1, 0, 1]);
});

test('a node that is an hour ahead shows the record it has, so its peers take it back', async () => {
  await net.faults.begin({ kind: 'clock', node: 'node-1', offset: '1h' });
  await net.node(1).stop();
  await net.node(1).start();
  await expect.poll(peersOfAll, soon).toEqual([2, 2, 2]);
});

test('a node that is an hour ahead and has lost its data signs a new record, which others refuse', async () => {
  await net.faults.begin({ kind: 'clock', node: 'node-1', offset: '1h' });
  await net.node(1).stop();
  await net.node(1).wipe();
  await net.node(1).start();
  await expect.poll(isolated, soon).toEqual({ 'node-1': expect.stringContaining(' ahead: ') as string });
  // It has kept that record, and shows another one until its time has come.
  await net.faults.heal();
  await net.node(1).stop();
  await net.node(1).start();
});
