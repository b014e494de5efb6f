import { ClientError, type ClusterNode } from 'svcnet';
import {
  atMost,
  defineScenario,
  expectTar,
  formatBytes,
  parameter,
  plural,
  type ScenarioContext,
  type SiteDocuments,
  type TreeFile,
  tarOf,
  toHex,
} from 'svcnet/scenario';
import {
  createFeed,
  type Feed,
  type UpdateVersion,
  updatePayload,
  versionsParameter,
} from './steps/feed-steps.ts';
import {
  batchOf,
  chosenNode,
  difference,
  errorAsText,
  inTime,
  ledgerDirect,
  otherNodes,
  uploadLedgered,
  verifyLedger,
} from './steps/steps.ts';

const parameters = {
  files: parameter('integer', 10, 'number of files in the flat collection', { min: 1 }),
  size: parameter('size', 5000, 'size of the largest file', { min: 1 }),
  pathBytes: parameter(
    'integer',
    64,
    'length of the longest path in the flat collection, in bytes, before hex encoding doubles it',
    {
      min: 8,
    },
  ),
  versions: versionsParameter,
  node: parameter('node', '', 'node that uploads; the first one when empty'),
};
type Context = ScenarioContext<typeof parameters>;

/** Others try a path ten times, every five seconds; here tries are more frequent. */
const SERVED_WITHIN_MS = 50_000;
const PATHS_AT_ONCE = 6;
/** Shorter ones could be drawn twice. */
const PATH_BYTES_MIN = 8;
const WRONG_PATH = 'assets/no-such-file';
const DOCUMENTS = { indexDocument: 'index.html', errorDocument: 'error.html' } as const;
const SITE_PATHS = [
  DOCUMENTS.indexDocument,
  'assets/styles/styles.css',
  'assets/styles/images/image.png',
  DOCUMENTS.errorDocument,
];

interface Shown {
  readonly what: string;
  readonly root: string;
  /** Bytes by path. */
  readonly paths: readonly TreeFile[];
  readonly error?: Uint8Array;
}

export default defineScenario({
  name: 'manifest',
  group: 'functional',
  about:
    'Uploads a collection and websites behind feeds, replaces the websites, and reads every path on every other node.',
  parameters,
  needs: { nodes: 2 },
  cluster: { nodes: 5 },
  timeoutMs: 600_000,
  async run(context) {
    const uploader = chosenNode(context, context.parameters.node);
    const flat = flatTree(context);
    const root = await upload(context, uploader, 'flat collection', flat);
    await readBack(context, uploader, { what: 'the flat collection', root, paths: flat });
    for (const version of context.parameters.versions as readonly UpdateVersion[]) {
      const site = await createFeed(context, uploader, version);
      for (const index of [0n, 1n]) {
        const what = `${version} website, update ${index}`;
        const tree = siteTree(context, what);
        const reference = await upload(context, uploader, what, tree, DOCUMENTS);
        await update(context, uploader, site, index, reference);
        await readBack(context, uploader, shownSite(what, site, tree));
      }
    }
    await verifyLedger(context);
  },
});

function flatTree(context: Context): TreeFile[] {
  const { files, pathBytes, size } = context.parameters;
  const random = context.random('flat collection');
  return Array.from({ length: files }, () => ({
    path: toHex(random.bytes(PATH_BYTES_MIN + random.below(pathBytes - PATH_BYTES_MIN + 1))),
    data: random.bytes(1 + random.below(size)),
  }));
}

/** Equal paths, other bytes. */
function siteTree(context: Context, stream: string): TreeFile[] {
  const random = context.random(stream);
  return SITE_PATHS.map((path) => ({ path, data: random.bytes(1 + random.below(context.parameters.size)) }));
}

function shownSite(what: string, { root }: Feed, tree: readonly TreeFile[]): Shown {
  const [index, , , error] = tree as readonly [TreeFile, TreeFile, TreeFile, TreeFile];
  return { what: `the ${what}`, root, paths: [{ path: '', data: index.data }, ...tree], error: error.data };
}

function upload(
  context: Context,
  node: ClusterNode,
  what: string,
  tree: readonly TreeFile[],
  documents: SiteDocuments = {},
): Promise<string> {
  const { signal } = context;
  return context.step('upload', async (progress) => {
    const archive = await tarOf(tree);
    const batch = batchOf(node);
    const size = tree.reduce((sum, { data }) => sum + data.length, 0);
    progress.detail(`${what}: ${plural(tree.length, 'file')}, ${formatBytes(size)} on ${node.name}`);
    const options = { batch, deferred: false, redundancyLevel: 0, signal, ...documents };
    return uploadLedgered(context, {
      operation: 'upload archive',
      kind: 'collection',
      node,
      batch,
      size,
      mode: 'direct',
      upload: () => node.files.uploadTar(archive, options),
      expected: () => expectTar(archive, documents, { dialect: node.dialect }),
    });
  });
}

function update(
  context: Context,
  node: ClusterNode,
  { version, owner, topic }: Feed,
  index: bigint,
  website: string,
): Promise<void> {
  const { signal } = context;
  return context.step('update', async (progress) => {
    progress.detail(`${version}, update ${index} on ${node.name}`);
    const batch = batchOf(node);
    const requestedAtMs = context.cluster.clock.now();
    const wrapped = await updatePayload(version, website, node, context);
    const work = () => node.feeds.update(owner, { topic, index, wrapped }, { batch, signal });
    const key = { operation: 'update feed', node: node.name };
    const { reference } = await context.measure(key, work, () => wrapped.length);
    await ledgerDirect(context, node, {
      kind: 'feed-update',
      reference,
      size: wrapped.length,
      chunks: [reference],
      requestedAtMs,
    });
  });
}

function readBack(context: Context, uploader: ClusterNode, shown: Shown): Promise<void> {
  return context.step('download', async (progress) => {
    const readers = otherNodes(context.cluster.nodes, uploader);
    progress.detail(`${shown.what} from ${plural(readers.length, 'node')}`);
    const readOn = async (reader: ClusterNode): Promise<void> => {
      const wrong: string[] = [];
      const works = shown.paths.map((file) => async () => {
        const missing = await servedWrong(context, reader, shown.root, file);
        if (missing !== undefined) wrong.push(missing);
      });
      await atMost(PATHS_AT_ONCE, works);
      const { length: count } = shown.paths;
      context.expect(`${reader.name} serves every path of ${shown.what}`, wrong.length === 0, {
        observed: `${plural(count - wrong.length, 'path')} equal`,
        expected: `${plural(count, 'path')} equal`,
        ...(wrong.length === 0 ? {} : { evidence: wrong.join('\n') }),
      });
      await askWrongPath(context, reader, shown);
    };
    await Promise.all(readers.map(readOn));
  });
}

/** Errors in the table are failed tries. @returns what is still wrong at the end */
function servedWrong(
  context: Context,
  reader: ClusterNode,
  root: string,
  { path, data }: TreeFile,
): Promise<string | undefined> {
  const key = { operation: 'download path', node: reader.name };
  const probe = (signal: AbortSignal) =>
    errorAsText(signal, async () => {
      const work = () => reader.files.download(root, path, { cache: false, signal });
      return difference(await context.measure(key, work, ({ length }) => length), data);
    });
  const what = `${reader.name} serves '${path}' of ${root}, ${data.length} bytes`;
  return inTime(what, probe, { ...context, timeoutMs: SERVED_WITHIN_MS });
}

/** An error document makes it a success: the website itself says that there is no such page. */
async function askWrongPath(
  context: Context,
  reader: ClusterNode,
  { what, root, error }: Shown,
): Promise<void> {
  const options = { cache: false, signal: context.signal };
  const seen = await reader.files.download(root, WRONG_PATH, options).then(
    (data) => (error === undefined ? `${data.length} bytes` : (difference(data, error) ?? 'error document')),
    (failure: unknown) => {
      if (failure instanceof ClientError && failure.status !== undefined) return String(failure.status);
      throw failure;
    },
  );
  const expected = error === undefined ? '404' : 'error document';
  context.expect(`${reader.name} answers a wrong path of ${what} with ${expected}`, seen === expected, {
    observed: seen,
    expected,
  });
}
