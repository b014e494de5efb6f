import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { expectBytes } from '../../harness/inspect/ledger/content.ts';
import { bytesOf, eventually, heldBy, http, reserveSize } from '../cluster/node/kit.ts';
import { errorsInLogs, OTHERS, of, startMixed } from './kit.ts';

/** Nodes pay what the public network grants: about fourteen chunks per second. */
const SIZE = 600_000;

/** Stored without redundancy. @returns addresses of the chunks */
async function upload(node: ClusterNode, data: Uint8Array, { deferred }: { deferred: boolean }) {
  const { chunks, reference } = await expectBytes(data);
  const headers = {
    'swarm-postage-batch-id': String(node.batch),
    'swarm-deferred-upload': String(deferred),
    'swarm-redundancy-level': '0',
  };
  const { json } = await http(node, '/bytes', { method: 'POST', headers, body: data });
  expect(json['reference']).toBe(reference);
  return chunks;
}

/** And the same number of chunks. */
async function catchUp(nodes: readonly ClusterNode[], chunks: readonly string[]): Promise<void> {
  for (const node of nodes) {
    await eventually(`${node.name} has not caught up`, async () => {
      const held = await heldBy([node], chunks);
      return held.length === chunks.length ? undefined : `it has ${held.length} of ${chunks.length} chunks`;
    });
  }
  await eventually('reserves differ', async () => {
    const sizes = await Promise.all(nodes.map(reserveSize));
    return new Set(sizes).size === 1 ? undefined : `sizes ${sizes.join(', ')}`;
  });
}

describe.each(OTHERS)('$title', (side) => {
  let net: Cluster;
  let ours: readonly [ClusterNode, ClusterNode];
  let theirs: readonly [ClusterNode, ClusterNode];
  beforeAll(async () => {
    net = await startMixed({ side, own: 2, others: 2, seed: 13 });
    ours = of('svc', net) as [ClusterNode, ClusterNode];
    theirs = of(side.flavour, net) as [ClusterNode, ClusterNode];
  });
  afterAll(() => net.stop());

  test('all nodes get every chunk, whichever node uploaded it', async () => {
    const all: string[] = [];
    for (const [index, node] of net.nodes.entries()) {
      all.push(...(await upload(node, bytesOf(`from ${index}`, 200_000), { deferred: true })));
    }
    await catchUp(net.nodes, all);
  });

  test('a node of theirs that was away catches up from our nodes only', async () => {
    const [late, other] = theirs;
    for (const node of theirs) await node.stop();
    const chunks = await upload(ours[0], bytesOf('without theirs', SIZE), { deferred: false });
    await late.start();
    await catchUp([...ours, late], chunks);
    await other.start();
    await catchUp(net.nodes, chunks);
  });

  test('a node of ours that was away catches up from theirs only', async () => {
    const [late, other] = ours;
    for (const node of ours) await node.stop();
    const chunks = await upload(theirs[0], bytesOf('without ours', SIZE), { deferred: false });
    await catchUp(theirs, chunks);
    await late.start();
    await catchUp([...theirs, late], chunks);
    await other.start();
    await catchUp(net.nodes, chunks);
  });

  test('no log has an error', async () => {
    expect(await errorsInLogs(net)).toEqual([]);
  });
});
