import { ClientError, type ClusterNode } from 'svcnet';
import {
  type Chunk,
  createSigner,
  defineScenario,
  makeCac,
  parameter,
  type ScenarioContext,
  type Signer,
  signSoc,
  socParts,
  toHex,
} from 'svcnet/scenario';
import {
  batchOf,
  chosenNode,
  difference,
  errorAsText,
  inTime,
  ledgerDirect,
  verifyLedger,
  workingNodes,
} from './steps/steps.ts';

const parameters = {
  size: parameter('size', 14, 'size of the payload', { min: 1, max: 4096 }),
  count: parameter('integer', 5, 'number of chunks to upload, each with its own owner', { min: 1 }),
  node: parameter('node', '', 'node that uploads; the first one when empty'),
};
type Context = ScenarioContext<typeof parameters>;

/** A neighbourhood replaces a chunk within a round of pull syncing. */
const REPLACED_WITHIN_MS = 60_000;

interface Owned {
  readonly owner: Signer;
  readonly payload: Uint8Array;
  readonly chunk: Chunk;
}

export default defineScenario({
  name: 'soc',
  group: 'functional',
  about:
    'Uploads single-owner chunks to one node, reads them on every node, replaces one, and checks that a forged one is rejected.',
  parameters,
  needs: { nodes: 2 },
  cluster: { nodes: 5 },
  timeoutMs: 300_000,
  async run(context) {
    const uploader = chosenNode(context, context.parameters.node);
    const uploaded: Owned[] = [];
    await context.step('upload', async (progress) => {
      for (let i = 0; i < context.parameters.count; i++) {
        const owned = make(context, i);
        await upload(context, uploader, owned);
        uploaded.push(owned);
        progress.progress(i + 1, context.parameters.count, 'chunks');
      }
    });
    for (const reader of workingNodes(context.cluster.nodes)) {
      await context.step('download', async (progress) => {
        progress.detail(reader.name);
        for (const owned of uploaded) await readBack(context, reader, owned);
      });
    }
    await refuseForged(context, uploader);
    const [first] = uploaded;
    if (first !== undefined) await replace(context, uploader, first);
    await verifyLedger(context);
  },
});

/** New owner and id. */
function make(context: Context, i: number): Owned {
  const random = context.random(`chunk ${i}`);
  const owner = createSigner(random.bytes(32));
  const id = random.bytes(32);
  const payload = random.bytes(context.parameters.size);
  return { owner, payload, chunk: wrap(owner, id, payload) };
}

function wrap(owner: Signer, id: Uint8Array, payload: Uint8Array): Chunk {
  return signSoc(id, makeCac(BigInt(payload.length), payload).data, owner);
}

async function upload(context: Context, node: ClusterNode, { owner, payload, chunk }: Owned): Promise<void> {
  const batch = batchOf(node);
  const requestedAtMs = context.cluster.clock.now();
  const work = () =>
    node.soc.upload(toHex(owner.address), socParts(chunk.data), { batch, signal: context.signal });
  const key = { operation: 'upload soc', node: node.name };
  const { reference } = await context.measure(key, work, () => payload.length);
  const address = toHex(chunk.address);
  context.expect('the reference is the hash of id and owner', reference === address, {
    observed: `${reference} from ${node.name}`,
    expected: address,
  });
  await ledgerDirect(context, node, {
    kind: 'soc',
    reference,
    size: payload.length,
    chunks: [reference],
    requestedAtMs,
  });
}

async function readBack(
  context: Context,
  node: ClusterNode,
  { owner, payload, chunk }: Owned,
): Promise<void> {
  const options = { cache: false, signal: context.signal };
  const address = toHex(chunk.address);
  const { id, signature } = socParts(chunk.data);
  const key = { operation: 'download soc', node: node.name };
  const work = () => node.soc.download(toHex(owner.address), id, options);
  const seen = await context.measure(key, work, ({ data }) => data.length);
  const part = difference(seen.data, payload);
  context.expect(`${node.name} serves the content of ${address.slice(0, 8)}`, part === undefined, {
    observed: part ?? 'equal bytes',
    expected: `${payload.length} bytes`,
  });
  context.expect(`${node.name} returns its signature`, seen.signature === toHex(signature), {
    observed: seen.signature,
    expected: toHex(signature),
  });
  const whole = difference(await node.chunks.download(address, options), chunk.data);
  context.expect(`${node.name} serves the chunk ${address.slice(0, 8)} itself`, whole === undefined, {
    observed: whole ?? 'equal bytes',
    expected: `${chunk.data.length} bytes`,
  });
}

function refuseForged(context: Context, node: ClusterNode): Promise<void> {
  return context.step('refuse', async () => {
    const good = make(context, context.parameters.count);
    const other = make(context, context.parameters.count + 1);
    const parts = socParts(good.chunk.data);
    const forged = { ...parts, signature: socParts(other.chunk.data).signature };
    for (const [what, owner, soc] of [
      ['a signature of another chunk', good.owner, forged],
      ['an owner who did not sign', other.owner, parts],
    ] as const) {
      const work = node.soc.upload(toHex(owner.address), soc, {
        batch: batchOf(node),
        signal: context.signal,
      });
      const seen = await work.then(
        () => 'taken',
        (error: unknown) => (error instanceof ClientError ? error.class : String(error)),
      );
      context.expect(`${node.name} refuses ${what}`, seen === 'http.401', {
        observed: seen,
        expected: 'http.401',
      });
    }
  });
}

function replace(context: Context, node: ClusterNode, { owner, chunk }: Owned): Promise<void> {
  return context.step('replace', async (progress) => {
    const { id } = socParts(chunk.data);
    const payload = context.random('replacement').bytes(context.parameters.size);
    const replacement = { owner, payload, chunk: wrap(owner, id, payload) };
    await upload(context, node, replacement);
    const readers = workingNodes(context.cluster.nodes);
    for (const reader of readers) {
      progress.detail(reader.name);
      const probe = (signal: AbortSignal) =>
        errorAsText(signal, async () => {
          const seen = await reader.soc.download(toHex(owner.address), id, { cache: false, signal });
          return difference(seen.data, payload);
        });
      const what = `${reader.name} serves the newer content`;
      const work = () => inTime(what, probe, { ...context, timeoutMs: REPLACED_WITHIN_MS });
      const key = { operation: 'replace soc', node: reader.name };
      const missing = await context.measure(key, work, () => payload.length);
      context.expect(what, missing === undefined, { observed: missing ?? 'newer', expected: 'newer' });
    }
  });
}
