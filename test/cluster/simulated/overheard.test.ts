import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../../harness/index.ts';
import { overheard } from '../../../harness/inspect/trace/overheard.ts';
import { type Hop, type Route, routeOf } from '../../../harness/inspect/trace/route.ts';
import { testimonies, witnessesOf } from '../../../harness/inspect/trace/witnesses.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { bytesOf } from '../node/kit.ts';

const SIGNAL = new AbortController().signal;
const stateDir = temporaryFolder('svcnet-simulated-overheard');
let net: Cluster;

beforeAll(async () => {
  net = await Cluster.start({
    driver: 'simulated',
    seed: 11,
    tap: true,
    nodes: [
      {
        count: 6,
        // Each is closer to 0000 than the one before.
        neighbourhoods: ['111', '10', '01', '001', '0000', '0000'],
        options: { 'minimum-storage-radius': 3, 'chunk-events': 50_000 },
      },
    ],
    topology: {
      links: [
        ['node-0', 'node-1'],
        ['node-1', 'node-2'],
        ['node-2', 'node-3'],
        ['node-3', 'node-4'],
        ['node-3', 'node-5'],
        ['node-4', 'node-5'],
      ],
    },
    stateDir,
  });
});
afterAll(() => net.stop());

const nameOf = (overlay: string) => net.nodes.find((node) => node.overlay === overlay)?.name;

async function bothRoutes(chunk: string): Promise<readonly [reported: Route, heard: Route]> {
  const told = await testimonies(await witnessesOf(net.nodes, SIGNAL), chunk, SIGNAL);
  const heard = await overheard(net.tap({ kept: true }), net.nodes, chunk);
  return [routeOf(told, nameOf), routeOf(heard, nameOf)];
}

function shape({ node, from, outcome, storer, attempts }: Hop): unknown {
  return {
    node,
    from,
    outcome,
    storer,
    attempts: attempts.map(({ peer, outcome: end, hop }) => ({ peer, end, hop: hop && shape(hop) })),
  };
}
const shapes = ({ pushes, requests }: Route) => ({
  pushes: pushes.map(shape),
  requests: requests.map(shape),
});

async function uploaded(stream: string): Promise<string> {
  for (let i = 0; ; i++) {
    const { reference } = await net.node(0).bytes.upload(bytesOf(`${stream} ${i}`, 500));
    await net.synced(reference);
    if (reference.startsWith('0')) return reference;
  }
}

test('a push and a request through several nodes are told hop by hop', async () => {
  const reference = await uploaded('routed');
  await net.node(1).bytes.download(reference);
  const [reported, heard] = await bothRoutes(reference);
  expect(shapes(heard)).toEqual(shapes(reported));
  expect(JSON.stringify(shapes(heard).pushes)).toContain('"outcome":"signed"');
  const pulls = ({ pulls: all }: Route) => all.map(({ node, peer }) => [node, peer]);
  expect(pulls(heard)).toEqual(pulls(reported));
});

test('a push whose receipt is lost has failed for its sender, and not for the others', async () => {
  const { id } = await net.faults.message({
    from: 'node-1',
    to: 'node-0',
    protocol: 'pushsync',
    message: 'receipt',
    where: 'address starts 0000',
    drop: true,
    reset: true,
    first: 1,
  });
  const reference = await uploaded('lost');
  await net.faults.heal(id);
  const [, { pushes }] = await bothRoutes(reference);
  // Only the node knows which attempts are one push.
  expect(pushes).toHaveLength(1);
  expect(pushes[0]?.attempts.map(({ outcome, hop }) => [outcome, hop?.outcome])).toEqual([
    ['failed', 'forwarded'],
    ['done', 'forwarded'],
  ]);
});
