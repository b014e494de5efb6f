import { defineScenario, parameter, type ScenarioContext } from 'svcnet/scenario';
import { verifyLedger, workingNodes } from './steps/steps.ts';
import { beside, expectSuccess, p99, TRAFFIC } from './steps/traffic.ts';

const parameters = {
  profiles: parameter(
    'list',
    ['metro', 'continent', 'world'],
    'profiles to apply to all links, one after another',
  ),
  hold: parameter('duration', 5000, 'duration of each profile'),
  'slow-node': parameter('duration', 200, 'latency of one slow node among the others; 0: no slow node'),
  ...TRAFFIC,
};
type Context = ScenarioContext<typeof parameters>;

/** By the links' round trip: a chunk takes several. */
const PUSH_MAX = { baseMs: 5000, roundTrips: 20 } as const;
const READ_MAX = { baseMs: 1000, roundTrips: 12 } as const;
/** By one slow node; short times are not compared, nor those of its own chunks, which take its latency twice. */
const SLOWDOWN_MAX = 2;
const SLOWDOWN_FROM = { baseMs: 1000, latencies: 2 } as const;

export default defineScenario({
  name: 'slow-link',
  group: 'chaos',
  tags: ['links'],
  about:
    'Slows all links to city, continental and worldwide latency, then one node’s links: everything must still work.',
  parameters,
  needs: { nodes: 3, started: true, capabilities: ['linkFaults'] },
  cluster: { nodes: 5 },
  timeoutMs: 1_800_000,
  alone: true,
  async run(context) {
    for (const profile of context.parameters.profiles) {
      await underProfile(context, profile);
    }
    if (context.parameters['slow-node'] > 0) await slowNode(context);
    await context.cluster.meshed({ signal: context.signal });
    await verifyLedger(context);
  },
});

function underProfile(context: Context, profile: string): Promise<void> {
  return context.step(`links of profile ${profile}`, async (progress) => {
    const { cluster, signal, parameters: given } = context;
    const nodes = workingNodes(cluster.nodes);
    await beside(context, { nodes: () => nodes }, async (traffic) => {
      const { id } = await cluster.faults.begin({ kind: 'link', from: ['all'], to: ['all'], profile });
      const rttMs = await roundTripMs(context);
      context.figure({ name: 'round trip', of: profile, value: Math.round(rttMs), unit: 'ms' });
      const from = cluster.clock.now();
      await cluster.clock.sleep(given.hold, signal);
      await traffic.stop();
      await cluster.faults.heal(id);
      const samples = traffic.between(from);
      expectSuccess(context, `${profile}: all uploads and reads succeed`, samples, { least: 1 });
      for (const [what, limit] of [
        ['upload', PUSH_MAX],
        ['read', READ_MAX],
      ] as const) {
        const longest = p99(samples.filter((sample) => sample.what === what));
        const most = limit.baseMs + limit.roundTrips * rttMs;
        context.expect(`${profile}: ${what}s take a few round trips`, longest <= most, {
          observed: `${Math.round(longest)} ms`,
          expected: `at most ${Math.round(most)} ms`,
        });
      }
      progress.detail(`${profile}, ${samples.length} requests`);
    });
  });
}

/** The longest one. */
async function roundTripMs({ cluster, signal }: Context): Promise<number> {
  const [node] = workingNodes(cluster.nodes);
  if (node === undefined) return 0;
  const times: number[] = [];
  for (const { address } of await node.client.peers(signal)) {
    const startedAt = cluster.clock.monotonic();
    await node.client.pingpong(address, signal);
    times.push(cluster.clock.monotonic() - startedAt);
  }
  return Math.max(0, ...times);
}

function slowNode(context: Context): Promise<void> {
  return context.step('one slow node', async (progress) => {
    const { cluster, signal, parameters: given } = context;
    const nodes = workingNodes(cluster.nodes);
    const slow = nodes.at(-1);
    if (slow === undefined) return;
    const others = nodes.filter((node) => node !== slow);
    await beside(context, { nodes: () => others }, async (traffic) => {
      await cluster.clock.sleep(given.hold, signal);
      const from = cluster.clock.now();
      const request = { kind: 'link', from: [slow.name], to: ['all'], latency: given['slow-node'] };
      const { id } = await cluster.faults.begin(request);
      await cluster.clock.sleep(given.hold, signal);
      await traffic.stop();
      await cluster.faults.heal(id);
      const uploads = traffic.samples.filter(({ what }) => what === 'upload');
      const before = p99(uploads.filter(({ at }) => at < from));
      const meanwhile = p99(uploads.filter(({ at }) => at >= from));
      const least = SLOWDOWN_FROM.baseMs + SLOWDOWN_FROM.latencies * given['slow-node'];
      const most = Math.max(least, SLOWDOWN_MAX * before);
      context.expect('one slow node does not slow down the others', meanwhile <= most, {
        observed: `${Math.round(meanwhile)} ms, ${Math.round(before)} ms before`,
        expected: `at most ${Math.round(most)} ms`,
      });
      expectSuccess(context, 'one slow node: all uploads and reads succeed', traffic.between(from), {
        least: 1,
      });
      progress.detail(`${slow.name}, ${given['slow-node']} ms`);
    });
  });
}
