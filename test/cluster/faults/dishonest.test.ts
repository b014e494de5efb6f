import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { BEHAVIOUR_NAMES } from '../../../harness/flavours/dishonest/names.ts';
import { nodeCounts } from '../../../harness/flavours/tampered/control.ts';
import { until } from '../../../harness/scenario.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const HONEST = 4;
/** It needs connections whose bytes can be spoilt. */
const BEHAVIOURS = BEHAVIOUR_NAMES.filter((name) => name !== 'handshake-garbage');
/** Content has to be requested. */
const options = { 'minimum-storage-radius': 1, 'cache-capacity': 0 };
const folder = temporaryFolder('svcnet-dishonest');

async function eventually(net: Cluster, missing: string, isSo: () => Promise<boolean>): Promise<void> {
  const probe = async () => ((await isSo()) ? { done: true } : { missing });
  await until('a dishonest node does not act', probe, { timeoutMs: 120_000, clock: net.clock });
}

async function acts(net: Cluster, node: string, behaviour: string): Promise<Record<string, number>> {
  const counts = () => nodeCounts(net.node(node).dataDir, behaviour);
  await eventually(net, `${node} does nothing`, async () =>
    Object.values(await counts()).some((count) => count > 0),
  );
  return counts();
}

describe('a node for every behaviour among a few honest ones', () => {
  let net: Cluster;

  beforeAll(async () => {
    net = await Cluster.start({
      driver: 'simulated',
      credit: 'low',
      seed: 7,
      stateDir: join(folder, 'simulated'),
      nodes: [
        { count: HONEST, options, neighbourhoods: ['0', '1', '0', '1'] },
        ...BEHAVIOURS.map((name) => ({ dishonest: [name], options, batches: false as const })),
      ],
    });
  });
  afterAll(async () => {
    await net.stop();
  });

  test('gives honest nodes no wrong bytes', async () => {
    const data = new Uint8Array(200_000).map((_, index) => (index * 7919) >> 3);
    const uploader = net.node(0);
    const { reference } = await uploader.bytes.upload(data, { batch: uploader.batch as string });
    await net.synced(reference);
    for (const reader of net.nodes.slice(1, HONEST)) {
      expect(await reader.bytes.download(reference)).toEqual(data);
    }
    // A node that owes nothing cannot refuse to pay.
    const debtor = net.node(HONEST + BEHAVIOURS.indexOf('refuse-to-pay'));
    await Promise.allSettled([debtor.bytes.download(reference)]);
  });

  test.each(BEHAVIOURS.map((name, index) => [name, `node-${HONEST + index}`]))(
    'acts: %s (%s)',
    async (name, node) => {
      await acts(net, node, name);
    },
  );

  test('does no harm to the honest nodes', async () => {
    for (const node of net.nodes.slice(0, HONEST)) {
      expect((await node.observe()).state).toBe('running');
      expect(await node.loggedErrors()).toEqual([]);
    }
  });
});

test('in separate processes they also corrupt bytes of connections, and clocks can be wrong', async () => {
  await using net = await Cluster.start({
    driver: 'process',
    machineFaults: true,
    seed: 8,
    stateDir: join(folder, 'process'),
    batches: false,
    nodes: [{ count: 2 }, { dishonest: ['handshake-garbage'] }],
  });
  await acts(net, 'node-2', 'handshake-garbage');
  const spoilt = async () => Object.keys(await acts(net, 'node-2', 'handshake-garbage'));
  await eventually(net, 'no introduction of garbage', async () =>
    (await spoilt()).includes('introductions of garbage'),
  );
  const { id } = await net.faults.begin({ kind: 'clock', node: 'node-1', offset: '-10s' });
  await eventually(net, 'no shifted clock has been read', async () => {
    const effect = (await net.faults.list()).find((fault) => fault.id === id)?.effect;
    return typeof effect?.['clock reads shifted'] === 'number';
  });
  await net.faults.heal();
  for (const node of net.nodes.slice(0, 2)) expect(await node.loggedErrors()).toEqual([]);
});
