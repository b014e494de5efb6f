import type { ClusterNode } from 'svcnet';
import { defineScenario, PlacementWatch, parameter, type ScenarioContext } from 'svcnet/scenario';
import { checkBooks, underWay } from './steps/money.ts';
import { drawn, storers } from './steps/presence.ts';
import { inTime, verifyLedger, waysOfAstray, workingNodes } from './steps/steps.ts';
import { missingLinks } from './steps/topology.ts';
import { beside, expectSuccess, type Sample, TRAFFIC } from './steps/traffic.ts';

const SPLITS = ['halves', 'majority-minority', 'one-way', 'bridge'] as const;

const parameters = {
  split: parameter('text', 'halves', 'shape of the partition', { oneOf: SPLITS }),
  hold: parameter('duration', 60_000, 'duration of the partition'),
  baseline: parameter('duration', 5000, 'duration of the load before the partition'),
  'deadline-heal': parameter('duration', 60_000, 'time within which all links must be back', {
    allowance: true,
  }),
  'min-served': parameter(
    'number',
    0.95,
    'smallest share of the reads within a side that must succeed during the partition',
  ),
  ...TRAFFIC,
};
type Context = ScenarioContext<typeof parameters>;

const FAILS_WITHIN_MS = 35_000;
const PLACED_WITHIN_MS = 120_000;
/** Of the full nodes, unless both sides are equal. */
const MINORITY = 0.2;

interface Sides {
  readonly one: readonly ClusterNode[];
  readonly other: readonly ClusterNode[];
  /** Reaches both sides. */
  readonly bridge: readonly ClusterNode[];
}

export default defineScenario({
  name: 'partition-and-heal',
  group: 'chaos',
  tags: ['links'],
  about:
    'Partitions the network under load: each side must keep working, and after the heal every chunk must be where it belongs.',
  parameters,
  needs: { nodes: 4, started: true, capabilities: ['linkFaults'] },
  cluster: { nodes: 6 },
  timeoutMs: 1_800_000,
  async run(context) {
    const { cluster, signal, parameters: given } = context;
    const sides = sidesOf(context);
    const nodes = workingNodes(cluster.nodes);
    const before = await checkBooks(context);
    const readersOf = (uploader: ClusterNode) => sideOf(sides, uploader);
    await beside(context, { nodes: () => nodes, readersOf }, async (traffic) => {
      await cluster.clock.sleep(given.baseline, signal);
      const cutAt = cluster.clock.now();
      const groups = [sides.one, sides.other].map((side) => side.map(({ name }) => name));
      const way = given.split === 'one-way' ? { oneWay: true } : {};
      const { id } = await cluster.faults.begin({ kind: 'partition', groups, ...way });
      await cluster.clock.sleep(given.hold, signal);
      await cluster.faults.heal(id);
      const healedAt = cluster.clock.now();
      await whole(context);
      await traffic.stop();
      meanwhile(context, traffic.between(cutAt, healedAt));
      expectSuccess(context, 'uploads and reads succeed before the partition', traffic.between(0, cutAt), {
        least: given['min-served'],
      });
    });
    await placed(context);
    await checkBooks(context, { before, timeoutMs: given['deadline-heal'], isExplained: underWay(() => 1) });
    await verifyLedger(context);
  },
});

function sidesOf(context: Context): Sides {
  const nodes = workingNodes(context.cluster.nodes);
  const order = drawn(context, 'sides', nodes, nodes.length);
  const { split } = context.parameters;
  const bridge = split === 'bridge' ? order.splice(0, 1) : [];
  const share = split === 'majority-minority' ? MINORITY : 0.5;
  const size = Math.max(1, Math.round(order.length * share));
  return { one: order.slice(0, size), other: order.slice(size), bridge };
}

/** Reached by a node. */
function sideOf({ one, other, bridge }: Sides, node: ClusterNode): readonly ClusterNode[] {
  if (one.includes(node)) return [...one, ...bridge];
  return other.includes(node) ? [...other, ...bridge] : [...one, ...other];
}

function meanwhile(context: Context, samples: readonly Sample[]): void {
  const reads = samples.filter(({ what }) => what === 'read');
  expectSuccess(context, 'each side reads what it has stored', reads, {
    least: context.parameters['min-served'],
  });
  const longest = samples.reduce((most, { ms }) => Math.max(most, ms), 0);
  context.expect('requests that cannot be served fail without hanging', longest <= FAILS_WITHIN_MS, {
    observed: `${Math.round(longest)} ms`,
    expected: `at most ${FAILS_WITHIN_MS} ms`,
  });
  const uploads = samples.filter(({ what }) => what === 'upload');
  const taken = uploads.filter(({ failure }) => failure === undefined).length;
  context.figure({ name: 'uploads taken while separated', value: taken, unit: `of ${uploads.length}` });
}

function whole(context: Context): Promise<void> {
  return context.step('heal', async (progress) => {
    const { cluster, signal, parameters: given } = context;
    const startedAt = cluster.clock.monotonic();
    const missing = await missingLinks(context, given['deadline-heal']);
    context.expect('every node finds the others again', missing === undefined, {
      observed: missing ?? 'all links',
      expected: `all links within ${given['deadline-heal'] / 1000} s`,
    });
    const lists = await Promise.all(
      storers(cluster.nodes).map(async (node) => (await node.client.blocklist(signal)).map(() => node.name)),
    );
    const refusing = lists.flat();
    context.expect('no node refuses another', refusing.length === 0, {
      observed: refusing.join(', ') || 'none',
      expected: 'none',
    });
    const seconds = (cluster.clock.monotonic() - startedAt) / 1000;
    context.figure({ name: 'time to heal', value: seconds.toFixed(1), unit: 's' });
    progress.detail(`${seconds.toFixed(1)} s`);
  });
}

function placed(context: Context): Promise<void> {
  return context.step('places', async (progress) => {
    const { cluster, ledger, signal } = context;
    const watch = new PlacementWatch(
      ledger.entries.flatMap(({ chunks }) => chunks),
      storers(cluster.nodes),
    );
    const probe = async (aborted: AbortSignal) => {
      const seen = await watch.probe(aborted);
      return 'missing' in seen ? seen.missing : undefined;
    };
    const missing = await inTime('every chunk is in place', probe, {
      cluster,
      timeoutMs: PLACED_WITHIN_MS,
      signal,
    });
    context.expect('every chunk is on every node of its neighbourhood', missing === undefined, {
      observed: missing ?? 'all',
      expected: `all within ${PLACED_WITHIN_MS / 1000} s`,
      ...(missing === undefined ? {} : await waysOfAstray(context, watch)),
    });
    progress.detail(`${watch.placed.length} chunks`);
  });
}
