import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ClusterNode } from 'svcnet';
import {
  atMost,
  buyBatch,
  defineScenario,
  expectBytes,
  expectForm,
  expectTar,
  formatBytes,
  formOf,
  grouped,
  parameter,
  readTree,
  type ScenarioContext,
  type StepProgress,
  type TreeFile,
  tarOf,
} from 'svcnet/scenario';
import {
  chosenNode,
  difference,
  type LedgeredUpload,
  otherNodes,
  uploadLedgered,
  verifyLedger,
} from './steps/steps.ts';

const DEFAULT_TREE = dirname(fileURLToPath(import.meta.resolve('undici/package.json')));
/** A day at 24,000 per chunk and block, one block a second. */
const BATCH_AMOUNT = 24_000n * 86_400n;
const PATHS_AT_ONCE = 6;

const parameters = {
  dir: parameter('text', DEFAULT_TREE, 'directory to upload'),
  size: parameter('size', 64 * 2 ** 20, 'size of the large file', { min: 1 }),
  depth: parameter('integer', 20, 'depth of the batch to buy', { min: 17 }),
  node: parameter('node', '', 'node that uploads; the first one when empty'),
};
type Context = ScenarioContext<typeof parameters>;

interface Uploads {
  readonly tree: readonly TreeFile[];
  readonly collection: string;
  readonly file: Uint8Array;
  readonly reference: string;
}

export default defineScenario({
  name: 'smoke',
  group: 'functional',
  about:
    'Buys a batch, uploads a directory and a large file to one node, and reads both back from every other node.',
  parameters,
  needs: { nodes: 2 },
  cluster: { nodes: 5 },
  timeoutMs: 1_800_000,
  async run(context) {
    const uploader = chosenNode(context, context.parameters.node);
    const batch = await buy(context, uploader);
    const tree = await readTree(context.parameters.dir);
    const collection = await uploadTree(context, uploader, batch, tree);
    const file = context.random('file').bytes(context.parameters.size);
    const reference = await uploadFile(context, uploader, batch, file);
    for (const reader of otherNodes(context.cluster.nodes, uploader)) {
      await readBack(context, reader, { tree, collection, file, reference });
    }
    await verifyLedger(context);
  },
});

function buy(context: Context, node: ClusterNode): Promise<string> {
  return context.step('stamp', async (progress) => {
    const { depth } = context.parameters;
    const request = { amount: BATCH_AMOUNT, depth, label: 'smoke' };
    const work = () => buyBatch(context.cluster, node, request, context.signal);
    const batch = await context.measure({ operation: 'buy batch', node: node.name }, work, () => 0);
    const stamp = await node.stamps.get(batch, context.signal);
    context.expect('the batch bought is usable', stamp.usable && stamp.depth === depth, {
      observed: `usable ${stamp.usable}, depth ${stamp.depth} on ${node.name}`,
      expected: `usable true, depth ${depth}`,
    });
    progress.detail(`batch ${batch.slice(0, 8)} of depth ${depth} on ${node.name}`);
    return batch;
  });
}

function uploadTree(
  context: Context,
  node: ClusterNode,
  batch: string,
  tree: readonly TreeFile[],
): Promise<string> {
  return context.step('upload', async (progress) => {
    const size = tree.reduce((sum, { data }) => sum + data.length, 0);
    progress.detail(`${grouped(tree.length)} files, ${formatBytes(size)} on ${node.name}`);
    const { upload, expected } = await asCollection(context, node, batch, tree);
    return uploadLedgered(context, {
      operation: 'upload dir',
      kind: 'collection',
      node,
      batch,
      size,
      mode: 'deferred',
      upload,
      expected,
      onSynced: syncProgress(progress),
    });
  });
}

/**
 * An archive; in the dialect of Bees a form, which names content types: a Bee takes those of an archive's files from its
 * host, and they go into the manifest.
 */
async function asCollection(
  { signal }: Context,
  node: ClusterNode,
  batch: string,
  tree: readonly TreeFile[],
): Promise<Pick<LedgeredUpload, 'upload' | 'expected'>> {
  const options = { batch, redundancyLevel: 0, signal };
  if (node.dialect === 'swarm') {
    const form = formOf(tree);
    return { upload: () => node.files.uploadForm(form, options), expected: () => expectForm(form) };
  }
  const archive = await tarOf(tree);
  return {
    upload: () => node.files.uploadTar(archive, options),
    expected: () => expectTar(archive, {}, { dialect: node.dialect }),
  };
}

function uploadFile(context: Context, node: ClusterNode, batch: string, file: Uint8Array): Promise<string> {
  return context.step('upload', (progress) => {
    progress.detail(`${formatBytes(file.length)} on ${node.name}`);
    return uploadLedgered(context, {
      operation: 'upload file',
      kind: 'bytes',
      node,
      batch,
      size: file.length,
      mode: 'deferred',
      upload: () => node.bytes.upload(file, { batch, redundancyLevel: 0, signal: context.signal }),
      expected: () => expectBytes(file),
      onSynced: syncProgress(progress),
    });
  });
}

function syncProgress(progress: StepProgress): NonNullable<LedgeredUpload['onSynced']> {
  return (synced, split, others) =>
    progress.progress(synced, split, others === undefined ? 'chunks synced' : `chunks synced; ${others}`);
}

function readBack(context: Context, reader: ClusterNode, uploads: Uploads): Promise<void> {
  return context.step('download', async (progress) => {
    progress.detail(reader.name);
    await readTreeBack(context, reader, uploads, (done) =>
      progress.progress(done, uploads.tree.length + 1, 'files'),
    );
    const { file, reference } = uploads;
    const work = () => reader.bytes.download(reference, { signal: context.signal });
    const seen = await context.measure(
      { operation: 'download file', node: reader.name },
      work,
      ({ length }) => length,
    );
    const part = difference(seen, file);
    context.expect(`${reader.name} serves the large file`, part === undefined, {
      observed: part ?? 'equal bytes',
      expected: `${file.length} bytes of ${reference}`,
    });
  });
}

async function readTreeBack(
  context: Context,
  reader: ClusterNode,
  { tree, collection }: Uploads,
  onProgress: (done: number) => void,
): Promise<void> {
  const wrong: string[] = [];
  let done = 0;
  const works = tree.map(({ path, data }) => async () => {
    const work = () => reader.files.download(collection, path, { signal: context.signal });
    const seen = await context.measure(
      { operation: 'download dir', node: reader.name },
      work,
      ({ length }) => length,
    );
    const part = difference(seen, data);
    if (part !== undefined) wrong.push(`${path}: ${part}, expected ${data.length} bytes`);
    onProgress(++done);
  });
  await atMost(PATHS_AT_ONCE, works);
  const seen = {
    observed: `${tree.length - wrong.length} files equal`,
    expected: `${tree.length} files equal`,
  };
  const evidence = wrong.length === 0 ? seen : { ...seen, evidence: wrong.slice(0, 20).join('\n') };
  context.expect(`${reader.name} serves every file of the directory`, wrong.length === 0, evidence);
}
