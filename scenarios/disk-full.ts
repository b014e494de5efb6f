import { ClientError, type ClusterNode, type LogPosition } from 'svcnet';
import {
  defineScenario,
  fromHex,
  messageOf,
  parameter,
  proximityOrder,
  type ScenarioContext,
} from 'svcnet/scenario';
import { drawn, type FreshChunk, freshChunk, storers } from './steps/presence.ts';
import { batchOf, difference, inTime, ledgerDirect, verifyLedger, workingNodes } from './steps/steps.ts';
import { beside, expectSuccess, TRAFFIC } from './steps/traffic.ts';

const parameters = {
  chunks: parameter(
    'integer',
    20,
    'chunks uploaded in advance, which the node must serve while its disk is full',
    { min: 1 },
  ),
  attempts: parameter('integer', 10, 'number of uploads that the node must reject', { min: 1 }),
  'resumes-within': parameter(
    'duration',
    30_000,
    'time within which the node must store data again once there is space',
    {
      allowance: true,
    },
  ),
  'min-success': parameter('number', 0.99, 'smallest share of the requests to other nodes that must succeed'),
  node: parameter('node', '', 'full node whose disk fills up; drawn from the seed when empty'),
  ...TRAFFIC,
};
type Context = ScenarioContext<typeof parameters>;

/** A server error, which 507 specifies. */
const REFUSALS = [500, 507] as const;
const MINUTE_MS = 60_000;

export default defineScenario({
  name: 'disk-full',
  group: 'chaos',
  tags: ['disk'],
  about:
    'Fills a node’s disk, while it runs and before it starts: the node must reject new data, serve what it has, and recover by itself.',
  parameters,
  needs: { nodes: 3, started: true, capabilities: ['disk', 'kill'] },
  cluster: { nodes: 4 },
  timeoutMs: 1_800_000,
  async run(context) {
    const { cluster, parameters: given } = context;
    const [victim] =
      given.node === '' ? drawn(context, 'victim', storers(cluster.nodes), 1) : [cluster.node(given.node)];
    const node = victim as ClusterNode;
    const kept = await stored(context, node);
    const others = workingNodes(cluster.nodes).filter((other) => other !== node);
    await beside(context, { nodes: () => others }, async (traffic) => {
      for (const when of ['while it runs', 'at its start'] as const) {
        let since = await node.output.end();
        const from = cluster.clock.now();
        const { id } = await cluster.faults.begin({ kind: 'disk-full', node: node.name });
        if (when === 'at its start') {
          // The node starts again when the kill is healed.
          const kill = await cluster.faults.begin({ kind: 'kill', node: node.name });
          // What it logs from its start on.
          since = await node.output.end();
          await cluster.faults.heal(kill.id);
        }
        await refuses(context, node, when);
        await serves(context, { node, kept, when });
        await saysSo(context, { node, since, from, when });
        await cluster.faults.heal(id);
        await resumes(context, node, when);
      }
      await traffic.stop();
      expectSuccess(context, 'all other nodes keep serving', traffic.samples, {
        least: given['min-success'],
      });
    });
    await cluster.meshed({ signal: context.signal });
    await verifyLedger(context);
  },
});

async function upload(
  context: Context,
  node: ClusterNode,
  chunk: FreshChunk,
  signal: AbortSignal,
): Promise<void> {
  const { data, address } = chunk;
  const requestedAtMs = context.cluster.clock.now();
  await node.chunks.upload(data, { batch: batchOf(node), signal });
  const entry = { kind: 'chunk', reference: address, size: data.length, chunks: [address] } as const;
  await ledgerDirect(context, node, { ...entry, requestedAtMs });
}

/** Chunks of the node's own area: it keeps no others, and has no peers to ask at its start. */
function stored(context: Context, node: ClusterNode): Promise<readonly FreshChunk[]> {
  return context.step('store', async () => {
    const random = context.random('stored');
    const overlay = fromHex(node.overlay);
    const { storageRadius } = await node.client.status(context.signal);
    const chunks: FreshChunk[] = [];
    while (chunks.length < context.parameters.chunks) {
      context.signal.throwIfAborted();
      const chunk = freshChunk(random);
      if (proximityOrder(overlay, fromHex(chunk.address)) >= storageRadius) chunks.push(chunk);
    }
    for (const chunk of chunks) await upload(context, node, chunk, context.signal);
    return chunks;
  });
}

function refuses(context: Context, node: ClusterNode, when: string): Promise<void> {
  return context.step(`full ${when}`, async () => {
    const random = context.random(`refused ${when}`);
    const answers: string[] = [];
    for (let attempt = 0; attempt < context.parameters.attempts; attempt++) {
      try {
        // Deferred: the node itself must keep it.
        const options = { batch: batchOf(node), deferred: true, signal: context.signal };
        await node.bytes.upload(freshChunk(random).data, options);
        answers.push('stored');
      } catch (error) {
        if (!(error instanceof ClientError)) throw error;
        answers.push(String(error.status ?? messageOf(error)));
      }
    }
    const wrong = answers.filter((answer) => !REFUSALS.some((status) => answer === String(status)));
    context.expect(`full ${when}: it refuses uploads as an error of its own`, wrong.length === 0, {
      observed: [...new Set(answers)].join(', '),
      expected: `${REFUSALS.join(' or ')} for each of ${answers.length}`,
    });
  });
}

async function serves(
  context: Context,
  { node, kept, when }: { node: ClusterNode; kept: readonly FreshChunk[]; when: string },
): Promise<void> {
  const failures: string[] = [];
  for (const { address, data } of kept) {
    try {
      const part = difference(await node.chunks.download(address, { signal: context.signal }), data);
      if (part !== undefined) failures.push(`chunk ${address}: ${part}`);
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      failures.push(`chunk ${address}: ${messageOf(error)}`);
    }
  }
  context.expect(`full ${when}: it serves what was stored before`, failures.length === 0, {
    observed: `${kept.length - failures.length} of ${kept.length}`,
    expected: `${kept.length} of ${kept.length}`,
    ...(failures.length === 0 ? {} : { evidence: failures.slice(0, 20).join('\n') }),
  });
}

/** The node says it at most once a minute: a log that fills the disk is of no use. */
async function saysSo(
  context: Context,
  {
    node,
    since,
    from,
    when,
  }: { node: ClusterNode; since: LogPosition | undefined; from: number; when: string },
): Promise<void> {
  const errors = await node.loggedErrors(since);
  const most = 1 + Math.floor((context.cluster.clock.now() - from) / MINUTE_MS);
  const names = errors.some(({ message }) => message.includes('disk is full'));
  context.expect(`full ${when}: its log says so, and once a minute at most`, names && errors.length <= most, {
    observed: `${errors.length} errors${names ? '' : ', but none names the disk'}`,
    expected: `1 to ${most}, at least one naming the disk`,
    ...(errors.length === 0
      ? {}
      : {
          evidence: errors
            .slice(0, 20)
            .map(({ message }) => message)
            .join('\n'),
        }),
  });
}

function resumes(context: Context, node: ClusterNode, when: string): Promise<void> {
  return context.step(`space again ${when}`, async () => {
    const random = context.random(`resumes ${when}`);
    const probe = async (signal: AbortSignal) => {
      try {
        // The node itself must keep it: others may take direct uploads.
        await node.bytes.upload(freshChunk(random).data, { batch: batchOf(node), deferred: true, signal });
        await upload(context, node, freshChunk(random), signal);
        return undefined;
      } catch (error) {
        if (!(error instanceof ClientError)) throw error;
        return messageOf(error);
      }
    };
    const timeoutMs = context.parameters['resumes-within'];
    const missing = await inTime('it stores again', probe, { ...context, timeoutMs });
    context.expect(`full ${when}: it stores again by itself once there is space`, missing === undefined, {
      observed: missing ?? 'stores',
      expected: `stores within ${timeoutMs / 1000} s`,
    });
  });
}
