import type { ClusterNode } from 'svcnet';
import { defineScenario, parameter } from 'svcnet/scenario';
import { verifyLedger, workingNodes } from './steps/steps.ts';
import { beside, expectSuccess, TRAFFIC } from './steps/traffic.ts';

const parameters = {
  every: parameter('duration', 15_000, 'interval between kills'),
  'down-for': parameter('duration', 20_000, 'how long a node stays down'),
  'max-down': parameter(
    'integer',
    20,
    'percentage of the nodes that may be down at once; at least one node',
    {
      min: 1,
    },
  ),
  duration: parameter('duration', 120_000, 'duration of the killing phase'),
  'min-reads': parameter('number', 0.99, 'smallest share of the reads that must succeed'),
  ...TRAFFIC,
};

export default defineScenario({
  name: 'node-kill',
  group: 'chaos',
  tags: ['kill'],
  about:
    'Kills random nodes under load and restarts them, then checks that downloads kept working and nothing is lost.',
  parameters,
  needs: { nodes: 3, started: true, capabilities: ['kill'] },
  cluster: { nodes: 6 },
  timeoutMs: 3_600_000,
  async run(context) {
    const { cluster, signal, parameters: given } = context;
    const nodes = workingNodes(cluster.nodes);
    const away = new Set<ClusterNode>();
    const most = Math.max(1, Math.floor((nodes.length * given['max-down']) / 100));
    const there = () => nodes.filter((node) => !away.has(node));
    let kills = 0;
    await beside(context, { nodes: there }, async (traffic) => {
      const random = context.random('kills');
      const returns: Promise<void>[] = [];
      const endsAt = cluster.clock.monotonic() + given.duration;
      while (cluster.clock.monotonic() < endsAt) {
        if (away.size < most) {
          const node = there()[random.below(there().length)] as ClusterNode;
          away.add(node);
          kills++;
          returns.push(
            (async () => {
              const { id } = await cluster.faults.begin({ kind: 'kill', node: node.name });
              await cluster.clock.sleep(given['down-for'], signal);
              await cluster.faults.heal(id);
              away.delete(node);
            })(),
          );
        }
        await Promise.race([cluster.clock.sleep(given.every, signal), failureOf(returns)]);
      }
      await Promise.all(returns);
      await traffic.stop();
      const reads = traffic.samples.filter(({ what }) => what === 'read');
      expectSuccess(context, 'reads succeed while nodes are killed', reads, { least: given['min-reads'] });
    });
    context.figure({ name: 'kills', value: kills, unit: '' });
    await cluster.meshed({ signal });
    await verifyLedger(context);
  },
});

/** Rejects with the first failure; otherwise waits for ever. */
async function failureOf(works: readonly Promise<void>[]): Promise<never> {
  return new Promise<never>((_, reject) => {
    for (const work of works) work.catch(reject);
  });
}
