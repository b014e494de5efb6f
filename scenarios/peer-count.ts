import { defineScenario, parameter } from 'svcnet/scenario';
import { expectRules, WITHIN, wrongOn } from './steps/topology.ts';

/** So many are enough. */
const PEERS_MAX = 16;

export default defineScenario({
  name: 'peer-count',
  group: 'functional',
  tags: ['connectivity'],
  about: 'Counts the peers of every node.',
  parameters: {
    'min-peers': parameter(
      'integer',
      0,
      `smallest number of peers of a full node; 0: all others, at most ${PEERS_MAX}. Other nodes need one`,
      { allowance: true },
    ),
    ...WITHIN,
  },
  needs: { nodes: 2 },
  cluster: { nodes: 5 },
  timeoutMs: 300_000,
  async run(context) {
    const { nodes } = context.cluster;
    const full = nodes.filter((node) => node.running && node.mode === 'full').length;
    const least = context.parameters['min-peers'] || Math.min(full - 1, PEERS_MAX);
    await expectRules(context, [
      {
        name: 'every node has enough peers',
        expected: `${least} peers, or one of a node that is not full`,
        wrong: (signal) =>
          wrongOn(nodes, async (node) => {
            const { length } = await node.client.peers(signal);
            return length >= (node.mode === 'full' ? least : 1) ? [] : [`has ${length} peers`];
          }),
      },
    ]);
  },
});
