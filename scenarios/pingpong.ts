import { ClientError, type ClusterNode } from 'svcnet';
import { defineScenario, messageOf, parameter, parseDurationMs, type ScenarioContext } from 'svcnet/scenario';
import { workingNodes } from './steps/steps.ts';

const parameters = {
  retries: parameter('integer', 5, 'attempts per peer', { min: 1, allowance: true }),
  backoff: parameter(
    'duration',
    2000,
    'pause after the first attempt; it grows by this much after each later one',
    {
      allowance: true,
    },
  ),
  'max-rtt': parameter('duration', 0, 'longest round trip allowed; 0: no limit', { allowance: true }),
};
type Context = ScenarioContext<typeof parameters>;

export default defineScenario({
  name: 'pingpong',
  group: 'functional',
  tags: ['connectivity'],
  about: 'Pings every peer of every node and measures the round trips.',
  parameters,
  needs: { nodes: 2 },
  cluster: { nodes: 5 },
  timeoutMs: 300_000,
  async run(context) {
    await context.step('ping', async (progress) => {
      const nodes = workingNodes(context.cluster.nodes);
      const counts = await Promise.all(nodes.map((node) => pingPeers(context, node)));
      progress.detail(`${counts.reduce((sum, count) => sum + count, 0)} round trips`);
    });
  },
});

async function pingPeers(context: Context, node: ClusterNode): Promise<number> {
  const peers = await node.client.peers(context.signal);
  context.expect(`${node.name} has a peer`, peers.length > 0, {
    observed: peers.length,
    expected: '1 or more',
  });
  const limit = context.parameters['max-rtt'];
  let slowest = 0;
  for (const { address } of peers) {
    const to = context.cluster.nodes.find(({ overlay }) => overlay === address)?.name ?? address.slice(0, 8);
    const { answer, ms } = await ping(context, node, address);
    const fits = ms !== undefined && (limit === 0 || ms <= limit);
    context.expect(`${node.name} and ${to} answer each other`, fits, {
      observed: answer,
      expected: limit === 0 ? 'a round trip' : `a round trip of at most ${limit} ms`,
    });
    slowest = Math.max(slowest, ms ?? 0);
  }
  context.figure({ name: 'slowest round trip', of: node.name, value: slowest, unit: 'ms' });
  return peers.length;
}

async function ping(
  context: Context,
  node: ClusterNode,
  overlay: string,
): Promise<{ readonly answer: string; readonly ms?: number }> {
  const { retries, backoff } = context.parameters;
  let answer = 'no answer';
  for (let attempt = 1; attempt <= retries; attempt++) {
    try {
      const work = () => node.client.pingpong(overlay, context.signal);
      answer = await context.measure({ operation: 'ping', node: node.name }, work, () => 0);
      const ms = roundTripMs(answer);
      if (ms !== undefined) return { answer, ms };
    } catch (error) {
      if (!(error instanceof ClientError) || context.signal.aborted) throw error;
      answer = messageOf(error);
    }
    if (attempt < retries) await context.cluster.clock.sleep(backoff * attempt, context.signal);
  }
  return { answer };
}

/** @param text such as `1.2ms`, `730µs` or `1m0.5s` */
export function roundTripMs(text: string): number | undefined {
  const micros = /^(\d+(?:\.\d+)?)[µu]s$/.exec(text)?.[1];
  if (micros !== undefined) return Number(micros) / 1000;
  const nanos = /^(\d+)ns$/.exec(text)?.[1];
  return nanos === undefined ? parseDurationMs(text) : Number(nanos) / 1e6;
}
