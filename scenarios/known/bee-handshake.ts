import { defineScenario, type ScenarioContext, wireVerdicts } from 'svcnet/scenario';
import { type Implementation, implementations } from '../steps/known.ts';

export default defineScenario({
  name: 'bee-handshake',
  group: 'chaos',
  about: 'Introduces a peer without an address record: the node must refuse it and survive.',
  parameters: {},
  needs: { nodes: 1 },
  cluster: { nodes: 1, with: { bee: 1 } },
  timeoutMs: 300_000,
  async run(context) {
    for (const one of implementations(context.cluster.nodes)) await introduce(context, one);
  },
});

function introduce(context: ScenarioContext, { flavour, nodes: [node] }: Implementation): Promise<void> {
  return context.step(`introductions to ${flavour}`, async () => {
    const { cluster, signal } = context;
    const peer = { peer: node.p2p, networkId: BigInt(cluster.chain.networkId) };
    const rows = await wireVerdicts(peer, ['introduction', '15 no address', '14 no address'], signal);
    for (const { id, about, verdict, reason = verdict } of rows) {
      if (verdict === 'skipped') continue;
      context.expect(`${flavour}: ${about} (${id})`, verdict === 'passed', {
        observed: reason,
        expected: 'passed',
      });
    }
  });
}
