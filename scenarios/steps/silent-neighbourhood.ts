import { ClientError, type ClusterNode } from 'svcnet';
import {
  type Chunk,
  fromHex,
  makeCac,
  parameter,
  proximityOrder,
  type ScenarioContext,
  toHex,
} from 'svcnet/scenario';
import { batchOf, inTime, otherNodes, workingNodes } from './steps.ts';

/** Bits; nodes of the other neighbourhoods are too far away to answer for it. */
const RADIUS = 3;
const NEIGHBOURHOODS = ['000', '001', '010', '111'];
/** Six attempts of a Bee, each with half a minute for its peers. */
const UPLOAD_TIMEOUT_MS = 600_000;

export const SILENT_PARAMETERS = {
  by: parameter(
    'text',
    'pause',
    'how the node is silenced: it is paused, or a fault keeps pushsync deliveries from it',
    { oneOf: ['pause', 'message'] },
  ),
  chunks: parameter('integer', 6, 'number of chunks to upload at once', { min: 1 }),
  synced: parameter('integer', 60, 'seconds to watch deferred uploads while the node does not answer', {
    min: 1,
    allowance: true,
  }),
  arrive: parameter(
    'integer',
    60,
    'seconds within which the chunks must be where they belong once the node answers again',
    {
      min: 1,
      allowance: true,
    },
  ),
};
type SilentContext = ScenarioContext<typeof SILENT_PARAMETERS>;

/** One neighbourhood has a single node, far from the others. */
export const SILENT_CLUSTER = {
  nodes: NEIGHBOURHOODS.length,
  neighbourhoods: NEIGHBOURHOODS,
  options: { 'minimum-storage-radius': RADIUS },
  tap: ({ by }: { readonly by: string }) => by === 'message',
} as const;

/**
 * Looks for what was acknowledged once the silent node answers again.
 * @param mode deferred: the tag's count of synced chunks acknowledges
 */
export async function uploadToSilent(context: SilentContext, mode: 'direct' | 'deferred'): Promise<void> {
  if (SILENT_CLUSTER.tap(context.parameters)) context.requires('tap');
  const nodes = workingNodes(context.cluster.nodes);
  const silent = nodes.find((node) => node.overlay >= 'e'.padEnd(64, '0'));
  const uploader = nodes.find((node) => node !== silent);
  if (silent === undefined || uploader === undefined) {
    return context.skip(
      `needs a node for each of the neighbourhoods ${NEIGHBOURHOODS.join(', ')}, as bee-5400.yaml has them`,
    );
  }
  await expectAccepted(context, uploader, silent, mode);
  const chunks = chunksNear(context, silent, 'chunks');
  const { faults } = context.cluster;
  const { id } = await faults.begin(
    context.parameters.by === 'pause'
      ? { kind: 'pause', node: silent.name }
      : {
          kind: 'message',
          to: [silent.name],
          oneWay: true,
          protocol: 'pushsync',
          message: 'delivery',
          drop: true,
        },
    { signal: context.signal },
  );
  const acknowledged = await upload(context, uploader, { chunks, mode });
  await faults.heal(id);
  await expectArrival(context, silent, acknowledged);
}

/**
 * The control: while its node answers, the neighbourhood's chunk is acknowledged and arrives. Otherwise the refusals of the
 * others say nothing about silence.
 */
function expectAccepted(
  context: SilentContext,
  uploader: ClusterNode,
  node: ClusterNode,
  mode: Uploads['mode'],
): Promise<void> {
  return context.step('control', async (progress) => {
    const [chunk] = chunksNear(context, node, 'control');
    if (chunk === undefined) return;
    const acknowledged =
      mode === 'direct'
        ? await acceptsDirectly(context, uploader, chunk)
        : await synchronises(context, uploader, chunk);
    const address = toHex(chunk.address);
    const probe = async (limit: AbortSignal) =>
      (await node.chunks.has(address, limit)) ? undefined : `${address} is not on ${node.name}`;
    const options = { ...context, timeoutMs: context.parameters.arrive * 1000 };
    const missing = acknowledged ? await inTime('the chunk arrives', probe, options) : 'not acknowledged';
    context.expect(
      `${node.flavour}: while its node answers, its neighbourhood takes a chunk`,
      missing === undefined,
      {
        observed: missing ?? 'acknowledged, and there',
        expected: 'acknowledged, and there',
      },
    );
    progress.detail(`${mode}, ${uploader.name} to ${node.name}`);
  });
}

function chunksNear(context: SilentContext, node: ClusterNode, stream: string): Chunk[] {
  const random = context.random(stream);
  const overlay = fromHex(node.overlay);
  const chunks: Chunk[] = [];
  while (chunks.length < context.parameters.chunks) {
    const chunk = makeCac(64n, random.bytes(64));
    if (proximityOrder(chunk.address, overlay) >= RADIUS) chunks.push(chunk);
  }
  return chunks;
}

interface Uploads {
  readonly chunks: readonly Chunk[];
  readonly mode: 'direct' | 'deferred';
}

/** @returns acknowledged ones */
function upload(context: SilentContext, node: ClusterNode, { chunks, mode }: Uploads): Promise<Chunk[]> {
  return context.step('upload', async (progress) => {
    let done = 0;
    const answers = await Promise.all(
      chunks.map(async (chunk) => {
        const acknowledged =
          mode === 'direct'
            ? await acceptsDirectly(context, node, chunk)
            : await synchronises(context, node, chunk);
        progress.progress(++done, chunks.length, 'chunks');
        return acknowledged ? [chunk] : [];
      }),
    );
    const acknowledged = answers.flat();
    const others = chunks.length - acknowledged.length;
    context.figure({ name: 'acknowledged', value: acknowledged.length, unit: 'chunks' });
    context.figure({ name: mode === 'direct' ? 'refused' : 'not synced', value: others, unit: 'chunks' });
    progress.detail(
      `${acknowledged.length} acknowledged, ${others} ${mode === 'direct' ? 'refused' : 'not synced'}`,
    );
    return acknowledged;
  });
}

/** Without a tag, the answer waits for the receipt. */
async function acceptsDirectly({ signal }: SilentContext, node: ClusterNode, chunk: Chunk): Promise<boolean> {
  const options = { batch: batchOf(node), timeoutMs: UPLOAD_TIMEOUT_MS, signal };
  try {
    await node.chunks.upload(chunk.data, options);
    return true;
  } catch (error) {
    if (!(error instanceof ClientError) || signal.aborted) throw error;
    return false;
  }
}

/** Whether a tag counts the chunk as synced while its neighbourhood is silent. */
async function synchronises(
  { cluster, signal, parameters: { synced } }: SilentContext,
  node: ClusterNode,
  chunk: Chunk,
): Promise<boolean> {
  const { uid } = await node.tags.create(signal);
  await node.chunks.upload(chunk.data, { batch: batchOf(node), tag: uid, signal });
  const probe = async (limit: AbortSignal) => {
    const tag = await node.tags.get(uid, limit);
    return tag.synced > 0 ? undefined : 'not synced';
  };
  return (
    (await inTime('the tag is synced', probe, { cluster, timeoutMs: synced * 1000, signal })) === undefined
  );
}

function expectArrival(context: SilentContext, node: ClusterNode, chunks: readonly Chunk[]): Promise<void> {
  return context.step('arrival', async () => {
    const { cluster, signal, parameters: given } = context;
    const absent = async (limit: AbortSignal) => {
      const held = await Promise.all(chunks.map(({ address }) => node.chunks.has(toHex(address), limit)));
      return chunks.filter((_, i) => !held[i]);
    };
    const probe = async (limit: AbortSignal) => {
      const { length } = await absent(limit);
      return length === 0 ? undefined : `${length} of ${chunks.length} chunks are not on ${node.name}`;
    };
    const options = { ...context, timeoutMs: given.arrive * 1000 };
    const missing = await inTime(`what was acknowledged is on ${node.name}`, probe, options);
    const lines: string[] = [];
    for (const { address } of await absent(signal)) {
      const chunk = toHex(address);
      const others = otherNodes(cluster.nodes, node);
      const held = await Promise.all(others.map((other) => other.chunks.has(chunk, signal)));
      const where = others
        .filter((_, i) => held[i])
        .map(({ name, overlay }) => `${name} (${proximityOrder(fromHex(overlay), address)} bits in common)`);
      lines.push(
        `chunk ${chunk}: only on ${where.join(', ') || 'no node'}, whose storage radius of ${RADIUS} does not cover it`,
      );
    }
    context.expect(`${node.flavour}: what is acknowledged is in its neighbourhood`, missing === undefined, {
      observed: missing ?? `${chunks.length} acknowledged chunks are there`,
      expected: `all acknowledged chunks within ${given.arrive} s`,
      ...(lines.length === 0 ? {} : { evidence: lines.join('\n') }),
    });
  });
}
