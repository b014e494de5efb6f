import type { ClusterNode } from 'svcnet';
import { defineScenario, parameter } from 'svcnet/scenario';
import { drawn, storers } from './steps/presence.ts';
import { verifyLedger, workingNodes } from './steps/steps.ts';
import { missingLinks } from './steps/topology.ts';
import { beside, expectSuccess, p99, TRAFFIC } from './steps/traffic.ts';

const parameters = {
  hold: parameter('duration', 45_000, 'duration of the pause'),
  'max-p99': parameter('duration', 10_000, 'largest 99th percentile of upload times during the pause', {
    allowance: true,
  }),
  node: parameter('node', '', 'full node that is paused; drawn from the seed when empty'),
  ...TRAFFIC,
};

const AVAILABLE = 0.99;
const REJOINS_WITHIN_MS = 60_000;

export default defineScenario({
  name: 'pause',
  group: 'chaos',
  tags: ['pause'],
  about: 'Pauses a node under load: the others must work without it, and it must catch up afterwards.',
  parameters,
  needs: { nodes: 3, started: true, capabilities: ['pause'] },
  cluster: { nodes: 5 },
  timeoutMs: 1_800_000,
  async run(context) {
    const { cluster, signal, parameters: given } = context;
    const [victim] =
      given.node === '' ? drawn(context, 'victim', storers(cluster.nodes), 1) : [cluster.node(given.node)];
    const others = workingNodes(cluster.nodes).filter((node) => node !== victim);
    await beside(context, { nodes: () => others }, async (traffic) => {
      const from = cluster.clock.now();
      const { id } = await cluster.faults.begin({ kind: 'pause', node: (victim as ClusterNode).name });
      await cluster.clock.sleep(given.hold, signal);
      await cluster.faults.heal(id);
      await traffic.stop();
      const samples = traffic.between(from);
      expectSuccess(context, 'the other nodes keep serving', samples, { least: AVAILABLE });
      const longest = p99(samples.filter(({ what }) => what === 'upload'));
      context.expect('uploads do not wait for the paused node', longest <= given['max-p99'], {
        observed: `${Math.round(longest)} ms`,
        expected: `at most ${given['max-p99']} ms`,
      });
    });
    await context.step('rejoin', async (progress) => {
      const missing = await missingLinks(context, REJOINS_WITHIN_MS);
      context.expect(`${(victim as ClusterNode).name} rejoins the network`, missing === undefined, {
        observed: missing ?? 'all links',
        expected: `all links within ${REJOINS_WITHIN_MS / 1000} s`,
      });
      progress.detail((victim as ClusterNode).name);
    });
    await verifyLedger(context);
  },
});
