import { ClientError, type ClusterNode, HarnessError } from 'svcnet';
import {
  addressPrefix,
  defineScenario,
  fromHex,
  messageOf,
  parameter,
  plural,
  type ScenarioContext,
} from 'svcnet/scenario';
import { drawn, type FreshChunk, freshChunk, storers } from './steps/presence.ts';
import { batchOf, difference, ledgerDirect, verifyLedger } from './steps/steps.ts';

const parameters = {
  bits: parameter(
    'integer',
    0,
    'number of leading bits that define a neighbourhood; 0: the storage radius of the uploader',
  ),
};
type Context = ScenarioContext<typeof parameters>;

/** 4,096 neighbourhoods; each costs so many hashes. */
const BITS_MAX = 12;

export default defineScenario({
  name: 'network-availability',
  group: 'durability',
  about: 'Uploads a chunk to every neighbourhood, then downloads all of them from another node.',
  parameters,
  needs: { nodes: 2 },
  cluster: { nodes: 6, neighbourhoods: ['0', '1'], options: { 'minimum-storage-radius': 1 } },
  timeoutMs: 600_000,
  async run(context) {
    const [uploader, reader] = drawn(context, 'nodes', storers(context.cluster.nodes), 2);
    if (uploader === undefined || reader === undefined)
      throw new HarnessError('NODE_STATE', 'fewer than two full nodes of the cluster run');
    const { storageRadius } = await uploader.client.status(context.signal);
    const bits = Math.min(BITS_MAX, context.parameters.bits || storageRadius);
    context.figure({ name: 'neighbourhoods', value: 2 ** bits, unit: '' });
    const chunks = await mine(context, bits);
    const sent = await upload(context, uploader, chunks);
    await download(context, reader, sent);
    await verifyLedger(context);
  },
});

function mine(context: Context, bits: number): Promise<ReadonlyMap<string, FreshChunk>> {
  return context.step('mine', async (progress) => {
    const random = context.random('chunks');
    const found = new Map<string, FreshChunk>();
    while (found.size < 2 ** bits) {
      const chunk = freshChunk(random);
      const neighbourhood = addressPrefix(fromHex(chunk.address), bits);
      if (!found.has(neighbourhood)) found.set(neighbourhood, chunk);
    }
    progress.detail(plural(found.size, 'chunk'));
    return new Map([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}

function upload(
  context: Context,
  node: ClusterNode,
  chunks: ReadonlyMap<string, FreshChunk>,
): Promise<ReadonlyMap<string, FreshChunk>> {
  return context.step('upload', async (progress) => {
    const sent = new Map<string, FreshChunk>();
    const refused: string[] = [];
    for (const [neighbourhood, chunk] of chunks) {
      const requestedAtMs = context.cluster.clock.now();
      try {
        const work = () => node.chunks.upload(chunk.data, { batch: batchOf(node), signal: context.signal });
        await context.measure({ operation: 'upload chunk', node: node.name }, work, () => 4096);
        sent.set(neighbourhood, chunk);
        const { address } = chunk;
        const entry = { kind: 'chunk', reference: address, size: 4096, chunks: [address] } as const;
        await ledgerDirect(context, node, { ...entry, requestedAtMs });
      } catch (error) {
        if (!(error instanceof ClientError) || context.signal.aborted) throw error;
        refused.push(`neighbourhood '${neighbourhood}': ${messageOf(error)}`);
      }
      progress.progress(sent.size + refused.length, chunks.size, 'chunks');
    }
    context.expect('every neighbourhood takes a chunk', refused.length === 0, {
      observed: `${sent.size} of ${chunks.size}`,
      expected: chunks.size,
      ...(refused.length === 0 ? {} : { evidence: refused.slice(0, 20).join('\n') }),
    });
    progress.detail(`on ${node.name}`);
    return sent;
  });
}

function download(
  context: Context,
  node: ClusterNode,
  chunks: ReadonlyMap<string, FreshChunk>,
): Promise<void> {
  return context.step('download', async (progress) => {
    const wrong: string[] = [];
    for (const [neighbourhood, { address, data }] of chunks) {
      try {
        const work = () => node.chunks.download(address, { cache: false, signal: context.signal });
        const key = { operation: 'download chunk', node: node.name };
        const part = difference(await context.measure(key, work, ({ length }) => length), data);
        if (part !== undefined) wrong.push(`neighbourhood '${neighbourhood}': ${part}`);
      } catch (error) {
        if (!(error instanceof ClientError) || context.signal.aborted) throw error;
        wrong.push(`neighbourhood '${neighbourhood}': ${messageOf(error)}`);
      }
    }
    context.expect('every neighbourhood returns its chunk', wrong.length === 0, {
      observed: `${chunks.size - wrong.length} of ${chunks.size}`,
      expected: chunks.size,
      ...(wrong.length === 0 ? {} : { evidence: wrong.slice(0, 20).join('\n') }),
    });
    progress.detail(`on ${node.name}`);
  });
}
