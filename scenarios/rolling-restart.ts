import type { ClusterNode } from 'svcnet';
import { defineScenario, parameter, type ScenarioContext } from 'svcnet/scenario';
import { drawn } from './steps/presence.ts';
import { verifyLedger, workingNodes } from './steps/steps.ts';
import { beside, expectSuccess, TRAFFIC } from './steps/traffic.ts';

const parameters = {
  gap: parameter('duration', 0, 'pause between a node becoming ready and the next restart'),
  'shutdown-within': parameter('duration', 10_000, 'longest time that a node may take to stop', {
    allowance: true,
  }),
  ...TRAFFIC,
};
type Context = ScenarioContext<typeof parameters>;

/** For a restarted node. */
const READY_WITHIN_MS = 60_000;
/**
 * Of requests to untouched nodes, unless at most as many fail as nodes are restarted: each may meet a peer that has just
 * gone, or read what only that peer has.
 */
const AVAILABLE = 0.98;
/** Before a stop, and after readiness: other nodes' requests end. */
const CALM_MS = 300;

export default defineScenario({
  name: 'rolling-restart',
  group: 'durability',
  tags: ['restart'],
  about:
    'Restarts the nodes one by one under load, then checks that requests to the others succeeded and nothing is lost.',
  parameters,
  needs: { nodes: 3, started: true },
  cluster: { nodes: 5 },
  timeoutMs: 1_800_000,
  async run(context) {
    const nodes = workingNodes(context.cluster.nodes);
    const away = new Set<ClusterNode>();
    const order = drawn(context, 'order', nodes, nodes.length);
    await beside(context, { nodes: () => nodes.filter((node) => !away.has(node)) }, async (traffic) => {
      for (const node of order) {
        await restart(context, node, away);
        await context.cluster.clock.sleep(context.parameters.gap, context.signal);
      }
      await traffic.stop();
      expectSuccess(context, 'requests to the other nodes succeed', traffic.samples, {
        least: AVAILABLE,
        allBut: order.length,
      });
    });
    await context.cluster.meshed({ signal: context.signal });
    const running = nodes.filter((node) => node.running).length;
    context.expect('every node is ready again', running === nodes.length, {
      observed: running,
      expected: nodes.length,
    });
    await verifyLedger(context);
  },
});

function restart(context: Context, node: ClusterNode, away: Set<ClusterNode>): Promise<void> {
  return context.step('restart', async (progress) => {
    const { signal } = context;
    away.add(node);
    await context.cluster.clock.sleep(CALM_MS, signal);
    const startedAt = context.cluster.clock.monotonic();
    const { forced } = await node.stop();
    const ms = context.cluster.clock.monotonic() - startedAt;
    const limit = context.parameters['shutdown-within'];
    context.expect(`${node.name} stops in time, by itself`, !forced && ms <= limit, {
      observed: `${Math.round(ms)} ms${forced ? ', by force' : ''}`,
      expected: `at most ${limit} ms`,
    });
    const launchedAt = context.cluster.clock.monotonic();
    await node.start({ timeoutMs: READY_WITHIN_MS, signal });
    const seconds = (context.cluster.clock.monotonic() - launchedAt) / 1000;
    context.figure({ name: 'ready again after', of: node.name, value: seconds.toFixed(2), unit: 's' });
    away.delete(node);
    progress.detail(`${node.name} in ${seconds.toFixed(1)} s`);
  });
}
