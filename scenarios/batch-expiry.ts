import { ClientError, type ClusterNode } from 'svcnet';
import { batchAmount, buyBatch, defineScenario, parameter, type ScenarioContext } from 'svcnet/scenario';
import { freshChunk, storers } from './steps/presence.ts';
import { batchOf, chosenNode, inTime, ledgerDirect, verifyLedger } from './steps/steps.ts';

const parameters = {
  ttl: parameter('integer', 60, 'lifetime of the first batch, in blocks', { min: 30 }),
  chunks: parameter('integer', 60, 'chunks to upload with each batch; some get a stamp from both', {
    min: 3,
  }),
  node: parameter('node', '', 'node that uploads; the first one when empty'),
};
type Context = ScenarioContext<typeof parameters>;

const DEPTH = 17;
const REFUSED_WITHIN_BLOCKS = 2;
/** Every node reads each block. */
const MINED_AT_ONCE = 1;
const EVICTED_WITHIN_MS = 60_000;

export default defineScenario({
  name: 'batch-expiry',
  group: 'chaos',
  tags: ['chain', 'storage'],
  about:
    'Lets a batch expire, then checks that nodes reject its stamps, evict its chunks and keep those of another batch.',
  parameters,
  needs: { nodes: 3, control: true, started: true },
  cluster: { nodes: 4, options: { 'cache-capacity': 0 } },
  timeoutMs: 600_000,
  async run(context) {
    const { cluster, signal } = context;
    if (cluster.chain.steady) context.skip('blocks are mined on demand, which a node of the cluster forbids');
    const node = chosenNode(context, context.parameters.node);
    const amount = batchAmount(
      context.parameters.ttl * cluster.chain.blockTimeMs,
      await cluster.chain.batchTerms(),
    );
    const short = await buyBatch(cluster, node, { amount, depth: DEPTH, label: 'short' }, signal);
    const { count, lost } = await fill(context, node, short);
    await expire(context, node, short);
    await evicted(context, lost);
    context.figure({ name: 'uploaded under both batches', value: count, unit: 'chunks' });
    await verifyLedger(context);
  },
});

/** Chunks of the short batch, the long one, and both: the ledger holds those that must stay. */
function fill(
  context: Context,
  node: ClusterNode,
  short: string,
): Promise<{ readonly count: number; readonly lost: readonly string[] }> {
  return context.step('upload', async (progress) => {
    const { signal } = context;
    const random = context.random('chunks');
    const long = batchOf(node);
    const lost: string[] = [];
    let both = 0;
    const most = context.parameters.chunks;
    for (let n = 0; n < most; n++) {
      const [short1, stays] = [freshChunk(random), freshChunk(random)];
      await node.chunks.upload(short1.data, { batch: short, signal });
      // The long batch also pays for every third chunk of the short one.
      const isBoth = n % 3 === 0;
      for (const { data, address } of isBoth ? [stays, short1] : [stays]) {
        const requestedAtMs = context.cluster.clock.now();
        await node.chunks.upload(data, { batch: long, signal });
        const entry = { kind: 'chunk', reference: address, size: data.length, chunks: [address] } as const;
        await ledgerDirect(context, node, { ...entry, requestedAtMs });
      }
      if (isBoth) both++;
      else lost.push(short1.address);
      progress.progress(n + 1, most, 'chunks');
    }
    return { count: both, lost };
  });
}

function expire(context: Context, node: ClusterNode, batch: string): Promise<void> {
  return context.step('expire', async (progress) => {
    const { cluster, signal } = context;
    const random = context.random('late chunks');
    const { block } = await node.client.chainState(signal);
    const end = (await cluster.chain.batch(batch))?.block ?? block;
    const last = end + context.parameters.ttl;
    let refusedAt: number | undefined;
    let answer = 'taken';
    for (let height = block; refusedAt === undefined && height <= last + 20; ) {
      await cluster.chain.mine(MINED_AT_ONCE);
      height = await cluster.chain.height(signal);
      await inTime(
        'the node has read the block',
        async (aborted) => ((await node.client.chainState(aborted)).block >= height ? undefined : 'not yet'),
        { cluster, timeoutMs: 10_000, signal },
      );
      try {
        await node.chunks.upload(freshChunk(random).data, { batch, signal });
      } catch (error) {
        if (!(error instanceof ClientError) || error.status === undefined || signal.aborted) throw error;
        answer = error.message;
        refusedAt = height;
        context.expect(
          'an upload with an expired batch fails with a client error',
          error.status >= 400 && error.status < 500,
          {
            observed: error.message,
            expected: 'a status of 4xx',
          },
        );
      }
    }
    const late = (refusedAt ?? Number.POSITIVE_INFINITY) - last;
    context.expect('an expired batch is refused at once', late <= REFUSED_WITHIN_BLOCKS, {
      observed: refusedAt === undefined ? answer : `block ${refusedAt}: ${answer}`,
      expected: `refused by block ${last + REFUSED_WITHIN_BLOCKS}`,
    });
    progress.detail(`block ${refusedAt ?? 'none'} of ${last}`);
  });
}

function evicted(context: Context, chunks: readonly string[]): Promise<void> {
  return context.step('evict', async (progress) => {
    const { cluster, signal } = context;
    const full = storers(cluster.nodes);
    let left = 0;
    const probe = async (aborted: AbortSignal) => {
      const has = await Promise.all(
        full.flatMap((node) => chunks.map((chunk) => node.chunks.has(chunk, aborted))),
      );
      left = has.filter(Boolean).length;
      if (left > 0) await cluster.chain.mine(MINED_AT_ONCE);
      return left === 0 ? undefined : `${left} are still there`;
    };
    const missing = await inTime('expired chunks are gone', probe, {
      cluster,
      timeoutMs: EVICTED_WITHIN_MS,
      signal,
    });
    context.expect('chunks of an expired batch leave the reserves', missing === undefined, {
      observed: missing ?? `${chunks.length} gone everywhere`,
      expected: `gone within ${EVICTED_WITHIN_MS / 1000} s`,
    });
    progress.detail(`${chunks.length} chunks`);
  });
}
