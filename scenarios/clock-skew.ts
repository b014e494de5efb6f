import { ClientError, type ClusterNode } from 'svcnet';
import { atMost, defineScenario, parameter, parseDurationMs, type ScenarioContext } from 'svcnet/scenario';
import { CHUNK_PRICE_MAX } from './steps/money.ts';
import { drawn, type FreshChunk, freshChunk, storers } from './steps/presence.ts';
import { batchOf, inTime, ledgerDirect, verifyLedger, workingNodes } from './steps/steps.ts';
import { beside, expectSuccess, TRAFFIC } from './steps/traffic.ts';

const parameters = {
  tolerated: parameter('list', ['1s', '-1s'], 'skews that every node must tolerate'),
  refused: parameter(
    'list',
    ['30s', '-30s', '5m', '-5m', '1h', '-1h'],
    'skews that all other nodes must tolerate',
  ),
  drift: parameter('integer', 500, 'parts per million by which the clocks also run fast'),
  share: parameter('number', 0, 'share of the full nodes whose clocks are skewed; at least one node', {
    min: 0,
  }),
  hold: parameter('duration', 5000, 'how long each skew lasts'),
  debt: parameter(
    'integer',
    200,
    'chunks that each node uploads while its clock is wrong, so that payments are due',
    { min: 1 },
  ),
  'recovers-within': parameter(
    'duration',
    120_000,
    'time within which a node that others had rejected must upload again after its clock is corrected',
    { allowance: true },
  ),
  'min-success': parameter('number', 0.99, 'smallest share of uploads and reads that must succeed'),
  ...TRAFFIC,
};
type Context = ScenarioContext<typeof parameters>;

/** Of a node whose clock is wrong; others may let an upload wait. */
const ATTEMPT_MS = 5000;
const ATTEMPTS_AT_ONCE = 16;

export default defineScenario({
  name: 'clock-skew',
  group: 'chaos',
  tags: ['clock'],
  about:
    'Skews the clocks of some nodes under load: a small skew must harm no node, a large one only the skewed nodes, and all must recover.',
  parameters,
  needs: { nodes: 3, started: true, capabilities: ['clock'] },
  cluster: { nodes: 5, credit: 'network' },
  timeoutMs: 3_600_000,
  async run(context) {
    const { parameters: given } = context;
    const nodes = workingNodes(context.cluster.nodes);
    const full = storers(nodes);
    const skewed = drawn(context, 'skewed', full, Math.max(1, Math.floor(full.length * given.share)));
    for (const skew of given.tolerated) await under(context, { skew, skewed, active: nodes });
    const others = nodes.filter((node) => !skewed.includes(node));
    for (const skew of given.refused) {
      await under(context, { skew, skewed, active: others });
      await recovered(context, { skew, skewed, others });
    }
    await context.cluster.meshed({ signal: context.signal });
    await verifyLedger(context);
  },
});

/** @param active upload and read meanwhile, and must not be affected */
function under(
  context: Context,
  { skew, skewed, active }: { skew: string; skewed: readonly ClusterNode[]; active: readonly ClusterNode[] },
): Promise<void> {
  return context.step(`skew ${skew}`, async (progress) => {
    const { cluster, signal, parameters: given } = context;
    await beside(context, { nodes: () => active }, async (traffic) => {
      const begun: string[] = [];
      for (const { name: node } of skewed) {
        const fault = { kind: 'clock', node, offset: skew, drift: given.drift };
        begun.push((await cluster.faults.begin(fault)).id);
      }
      const before = await settledByTime(skewed, signal);
      const from = cluster.clock.now();
      await Promise.all([
        cluster.clock.sleep(given.hold, signal),
        ...skewed.map((node) => borrow(context, node, skew)),
      ]);
      await traffic.stop();
      if (given.tolerated.includes(skew)) await expectMoney(context, { skew, skewed, before });
      for (const id of begun) await cluster.faults.heal(id);
      const who = active.length === workingNodes(cluster.nodes).length ? 'all nodes' : 'all other nodes';
      expectSuccess(context, `skew ${skew}: ${who} keep serving`, traffic.between(from), {
        least: given['min-success'],
      });
    });
    progress.detail(skewed.map(({ name }) => name).join(', '));
  });
}

/** An upload, whatever becomes of it: an idle node may not read its clock for seconds, and a wrong one would be no fault. */
async function attempt(node: ClusterNode, { data }: FreshChunk, signal: AbortSignal): Promise<void> {
  try {
    await node.chunks.upload(data, { batch: batchOf(node), timeoutMs: ATTEMPT_MS, signal });
  } catch (error) {
    if (!(error instanceof ClientError) || signal.aborted) throw error;
  }
}

/**
 * The node makes debts while its clock is wrong, by uploads, as in a small network every node has every chunk. Time settles
 * the debts, or the node refuses its peers: both need dates and spans. A node that counts spans by its wall clock stays
 * alone afterwards.
 */
async function borrow(context: Context, node: ClusterNode, skew: string): Promise<void> {
  const random = context.random(`debts of ${node.name} at ${skew}`);
  const chunks = Array.from({ length: context.parameters.debt }, () => freshChunk(random));
  // A node without peers may let every chunk wait.
  const until = context.cluster.clock.monotonic() + context.parameters.hold + ATTEMPT_MS;
  const works = chunks.map((chunk) => async () => {
    if (context.cluster.clock.monotonic() < until) await attempt(node, chunk, context.signal);
  });
  await atMost(ATTEMPTS_AT_ONCE, works);
}

/** Amounts that nodes and peers have settled, accounting units. */
async function settledByTime(nodes: readonly ClusterNode[], signal: AbortSignal): Promise<bigint> {
  const totals = await Promise.all(nodes.map((node) => node.client.timeSettlements(signal)));
  return totals.reduce((sum, { totalSent, totalReceived }) => sum + totalSent + totalReceived, 0n);
}

/** With more credit than is uploaded, nothing has to be settled. */
async function expectMoney(
  context: Context,
  { skew, skewed, before }: { skew: string; skewed: readonly ClusterNode[]; before: bigint },
): Promise<void> {
  const { signal, parameters: given } = context;
  const [first] = skewed;
  const accounts = first === undefined ? [] : await first.client.accounting(signal);
  const [lowest = 0n] = accounts
    .map(({ thresholdReceived }) => thresholdReceived)
    .toSorted((a, b) => (a < b ? -1 : 1));
  if (accounts.length === 0 || lowest * BigInt(accounts.length) > BigInt(given.debt) * CHUNK_PRICE_MAX)
    return;
  const settled = (await settledByTime(skewed, signal)) - before;
  context.expect(`skew ${skew}: time settles debts meanwhile`, settled > 0n, {
    observed: `${settled} accounting units settled`,
    expected: 'more than nothing: this skew harms nobody',
  });
}

function recovered(
  context: Context,
  { skew, skewed, others }: { skew: string; skewed: readonly ClusterNode[]; others: readonly ClusterNode[] },
): Promise<void> {
  return context.step(`recovery from ${skew}`, async () => {
    const [reader] = others;
    const random = context.random(`recovery ${skew}`);
    const startedAt = context.cluster.clock.monotonic();
    for (const node of skewed) {
      const probe = async (signal: AbortSignal) => {
        const { data, address } = freshChunk(random);
        const requestedAtMs = context.cluster.clock.now();
        try {
          await node.chunks.upload(data, { batch: batchOf(node), signal });
          await reader?.chunks.download(address, { cache: false, signal });
        } catch (error) {
          if (signal.aborted) throw error;
          return `${node.name}: ${String(error)}`;
        }
        const upload = { kind: 'chunk', reference: address, size: data.length, chunks: [address] } as const;
        await ledgerDirect(context, node, { ...upload, requestedAtMs });
        return undefined;
      };
      const timeoutMs = context.parameters['recovers-within'];
      const missing = await inTime('it uploads again', probe, { ...context, timeoutMs });
      context.expect(`skew ${skew}: ${node.name} recovers once its clock is right`, missing === undefined, {
        observed: missing ?? 'uploads, and others read it',
        expected: `uploads that others read within ${timeoutMs / 1000} s`,
      });
    }
    const ms = parseDurationMs(skew.replace('-', '')) ?? 0;
    const seconds = ((context.cluster.clock.monotonic() - startedAt) / 1000).toFixed(1);
    context.figure({
      name: `time to recover from ${skew.startsWith('-') ? '-' : ''}${ms / 1000} s`,
      value: seconds,
      unit: 's',
    });
  });
}
