import type { ClusterNode, LogPosition } from 'svcnet';
import {
  atMost,
  CHUNK_PAYLOAD_SIZE,
  defineScenario,
  expectBytes,
  expectForm,
  expectTar,
  formatBytes,
  formOf,
  makeCac,
  PlacementWatch,
  parameter,
  plural,
  type ScenarioContext,
  type TreeFile,
  tarOf,
  until,
} from 'svcnet/scenario';
import { cashCheque } from './steps/cheque-steps.ts';
import { checkBooks, settle } from './steps/money.ts';
import {
  batchOf,
  difference,
  uploadLedgered,
  verifyLedger,
  waysOfAstray,
  workingNodes,
} from './steps/steps.ts';

/** As on the public network: some fifteen chunks per second and link. */
const TIMEOUT_MS = 1_800_000;
/** Balances agree when nothing is under way; a settlement takes two seconds at most. */
const SETTLED_TIMEOUT_MS = 30_000;
/** Pull sync takes seconds in a neighbourhood; a loaded machine gets more time. */
const PLACEMENT_TIMEOUT_MS = 120_000;
const FOLDERS = ['', 'a/', 'a/b/', 'c d/'];
/** A Bee knows these content types on every host; others depend on the host, and go into the manifest. */
const EXTENSIONS = ['html', 'json', 'png', 'pdf', 'css'];
/** To one node. */
const DOWNLOADS_AT_ONCE = 4;

const parameters = {
  sizes: parameter('sizes', [1, 4096, 4097, 2 ** 20, 2 ** 22], 'sizes of the data, from 1 to 64MiB'),
  chunks: parameter('integer', 50, 'number of individual chunks that each implementation uploads', {
    min: 1,
  }),
  files: parameter('integer', 12, 'number of files in the directory', { min: 1 }),
  sample: parameter('integer', 500, 'number of chunks to look for on every full node', { min: 1 }),
};
type Context = ScenarioContext<typeof parameters>;

/** One implementation: its uploading node, and all nodes, which read the other's uploads. */
interface Side {
  readonly name: string;
  readonly uploader: ClusterNode;
  readonly nodes: readonly ClusterNode[];
}

interface Piece {
  readonly what: string;
  readonly by: Side;
  readonly data: Uint8Array;
  readonly download: (reader: ClusterNode) => Promise<Uint8Array>;
}

export default defineScenario({
  name: 'mixed',
  group: 'functional',
  about: 'Uploads to our node and to a Bee, then reads everything back from every node of the other kind.',
  parameters,
  needs: { nodes: 2, flavours: ['svc', 'bee'], started: true },
  cluster: { nodes: 4, with: { bee: 2 } },
  timeoutMs: TIMEOUT_MS,
  async run(context) {
    const sides = [sideOf(context, 'svc'), sideOf(context, 'bee')] as const;
    const { nodes } = context.cluster;
    const logEnds = new Map(
      await Promise.all(nodes.map(async (node) => [node, await node.output.end()] as const)),
    );
    const pieces: Piece[] = [];
    for (const size of context.parameters.sizes) pieces.push(...(await uploadData(context, sides, size)));
    pieces.push(...(await uploadChunks(context, sides)));
    pieces.push(...(await uploadTree(context, sides)));
    // Reads first: once pull sync has brought everything everywhere, no node asks the network.
    for (const side of sides) await readBack(context, side, pieces);
    await findCopies(context);
    await settle(context, { timeoutMs: SETTLED_TIMEOUT_MS });
    for (const [payers, payees] of [sides, sides.toReversed()] as [Side, Side][])
      await cashAcross(context, payers, payees);
    await checkBooks(context);
    await checkRefusals(context, logEnds);
    await verifyLedger(context);
  },
});

function sideOf(context: Context, flavour: ClusterNode['flavour']): Side {
  const nodes = workingNodes(context.cluster.nodes).filter((node) => node.flavour === flavour);
  const uploader = nodes.find(({ mode }) => mode === 'full') ?? nodes[0];
  if (uploader === undefined)
    throw new RangeError('the runner starts no scenario whose flavours are missing');
  return { name: flavour, uploader, nodes };
}

function uploadData(context: Context, sides: readonly Side[], size: number): Promise<Piece[]> {
  const { signal } = context;
  return context.step('upload', (progress) => {
    progress.detail(`${formatBytes(size)} on ${names(sides)}`);
    return Promise.all(
      sides.map(async (by): Promise<Piece> => {
        const { uploader: node } = by;
        const batch = batchOf(node);
        const data = context.random(`${by.name} ${size}`).bytes(size);
        const reference = await uploadLedgered(context, {
          operation: `upload ${formatBytes(size)}`,
          kind: 'bytes',
          node,
          batch,
          size,
          mode: 'deferred',
          upload: () => node.bytes.upload(data, { batch, redundancyLevel: 0, signal }),
          expected: () => expectBytes(data),
        });
        const what = `${formatBytes(size)} of ${node.name}`;
        return { what, by, data, download: (reader) => reader.bytes.download(reference, { signal }) };
      }),
    );
  });
}

function uploadChunks(context: Context, sides: readonly Side[]): Promise<Piece[]> {
  const { signal } = context;
  const { chunks: count } = context.parameters;
  return context.step('upload', async (progress) => {
    progress.detail(`${plural(count, 'chunk')} on ${names(sides)}`);
    const pieces: Piece[] = [];
    let done = 0;
    const perSide = sides.map((by) => {
      const { uploader: node } = by;
      const batch = batchOf(node);
      const random = context.random(`${by.name} chunks`);
      const works = Array.from({ length: count }, (_, i) => async () => {
        const payload = random.bytes(1 + random.below(CHUNK_PAYLOAD_SIZE));
        const { data } = makeCac(BigInt(payload.length), payload);
        const reference = await uploadLedgered(context, {
          operation: 'upload chunk',
          kind: 'chunk',
          node,
          batch,
          size: data.length,
          mode: 'direct',
          upload: () => node.chunks.upload(data, { batch, signal }),
          expected: () => expectBytes(payload),
        });
        const what = `chunk ${i} of ${node.name}`;
        pieces.push({ what, by, data, download: (reader) => reader.chunks.download(reference, { signal }) });
        progress.progress(++done, sides.length * count, 'chunks');
      });
      return atMost(DOWNLOADS_AT_ONCE, works);
    });
    await Promise.all(perSide);
    return pieces;
  });
}

/** Uploads an archive and a form, and reads every file of each by its path. */
function uploadTree(context: Context, sides: readonly Side[]): Promise<Piece[]> {
  const { signal } = context;
  return context.step('upload', async (progress) => {
    const tree = treeOf(context);
    const size = tree.reduce((sum, { data }) => sum + data.length, 0);
    progress.detail(
      `${plural(tree.length, 'file')}, ${formatBytes(size)}, archive and form on ${names(sides)}`,
    );
    const archive = await tarOf(tree);
    const form = formOf(tree);
    const perSide = sides.map(async (by) => {
      const { uploader: node } = by;
      const batch = batchOf(node);
      const options = { batch, redundancyLevel: 0, signal };
      const common = { kind: 'collection', node, batch, size, mode: 'deferred' } as const;
      const tar = await uploadLedgered(context, {
        ...common,
        operation: 'upload archive',
        upload: () => node.files.uploadTar(archive, options),
        expected: () => expectTar(archive, {}, { dialect: node.dialect }),
      });
      const parts = await uploadLedgered(context, {
        ...common,
        operation: 'upload form',
        upload: () => node.files.uploadForm(form, options),
        expected: () => expectForm(form),
      });
      return [...filesOf('archive', by, tar, tree, signal), ...filesOf('form', by, parts, tree, signal)];
    });
    return (await Promise.all(perSide)).flat();
  });
}

function filesOf(
  kind: string,
  by: Side,
  reference: string,
  tree: readonly TreeFile[],
  signal: AbortSignal,
): Piece[] {
  return tree.map(({ path, data }) => ({
    what: `${path} of the ${kind} of ${by.uploader.name}`,
    by,
    data,
    download: (reader) => reader.files.download(reference, path, { signal }),
  }));
}

function treeOf(context: Context): TreeFile[] {
  const random = context.random('directory');
  return Array.from({ length: context.parameters.files }, (_, i) => ({
    path: `${FOLDERS[i % FOLDERS.length]}file-${i}.${EXTENSIONS[i % EXTENSIONS.length]}`,
    data: random.bytes(random.below(4 * CHUNK_PAYLOAD_SIZE)),
  }));
}

/** Few chunks: all; else some by seed. The ledger's check covers all. */
function sampleOf(context: Context): string[] {
  const { sample } = context.parameters;
  const all = [...new Set(context.ledger.entries.flatMap(({ chunks }) => chunks))];
  const draw = context.random('sample');
  while (all.length > sample) {
    all[draw.below(all.length)] = all.at(-1) ?? '';
    all.pop();
  }
  return all;
}

async function findCopies(context: Context): Promise<void> {
  const { cluster, signal } = context;
  const full = cluster.nodes.filter((node) => node.running && node.mode === 'full');
  await context.step('placement', async (progress) => {
    const watch = new PlacementWatch(sampleOf(context), full);
    const seen = await until('chunks are not where they belong', (aborted) => watch.probe(aborted), {
      clock: cluster.clock,
      timeoutMs: PLACEMENT_TIMEOUT_MS,
      signal,
    }).catch((error: unknown) => error as Error);
    const { placed } = watch;
    context.expect(`every full node of a chunk's neighbourhood holds it`, !(seen instanceof Error), {
      observed: seen instanceof Error ? seen.message : plural(placed.length, 'chunk'),
      expected: 'every chunk',
      ...(seen instanceof Error ? await waysOfAstray(context, watch) : {}),
    });
    const counts = placed.map(({ holders }) => holders.length);
    const average = counts.reduce((sum, count) => sum + count, 0) / Math.max(1, counts.length);
    progress.detail(
      `${plural(placed.length, 'chunk')} where they belong, ${average.toFixed(1)} copies each, at least ${Math.min(...counts)}`,
    );
  });
}

function readBack(context: Context, side: Side, pieces: readonly Piece[]): Promise<void> {
  const foreign = pieces.filter(({ by }) => by !== side);
  return context.step('download', async (progress) => {
    progress.detail(
      `${plural(foreign.length, 'piece')} from ${side.nodes.map(({ name }) => name).join(', ')}`,
    );
    let done = 0;
    const perNode = side.nodes.map(async (reader) => {
      const wrong: string[] = [];
      const works = foreign.map(({ what, by, data, download }) => async () => {
        const key = { operation: `download from ${by.name}`, node: reader.name };
        const seen = await context.measure(
          key,
          () => download(reader),
          ({ length }) => length,
        );
        const part = difference(seen, data);
        if (part !== undefined) wrong.push(`${what}: ${part}, expected ${data.length} bytes`);
        progress.progress(++done, side.nodes.length * foreign.length, 'downloads');
      });
      await atMost(DOWNLOADS_AT_ONCE, works);
      const other = foreign[0]?.by.uploader.name ?? 'nobody';
      context.expect(`${reader.name} (${side.name}) serves everything of ${other}`, wrong.length === 0, {
        observed: `${foreign.length - wrong.length} pieces equal`,
        expected: `${foreign.length} pieces equal`,
        ...(wrong.length === 0 ? {} : { evidence: wrong.slice(0, 20).join('\n') }),
      });
    });
    await Promise.all(perNode);
  });
}

/** One kind accepts the other's cheques, and gets all of their tokens. */
async function cashAcross(context: Context, payers: Side, payees: Side): Promise<void> {
  const { chequebookEnabled } = await payers.uploader.client.node(context.signal);
  if (!chequebookEnabled) return;
  for (const payee of payees.nodes.filter(({ mode }) => mode === 'full')) {
    if (!(await payee.client.node(context.signal)).swapEnabled) continue;
    await cashCheque(context, payers.uploader, payee);
    return;
  }
}

async function checkRefusals(
  context: Context,
  logEnds: ReadonlyMap<ClusterNode, LogPosition>,
): Promise<void> {
  const nodes = context.cluster.nodes.filter((node) => node.running);
  await context.step('refusals', async () => {
    const refused = await Promise.all(
      nodes.map(async ({ name, client }) =>
        (await client.blocklist(context.signal)).map(
          ({ address, reason }) => `${name} refuses ${address.slice(0, 8)}: ${reason}`,
        ),
      ),
    );
    expectNone(context, 'no node refuses another', refused.flat());
    const complaints = await Promise.all(
      nodes.map(async (node) =>
        (await node.loggedErrors(logEnds.get(node))).map(
          ({ module, message, fields }) => `${node.name} ${module}: ${message} ${JSON.stringify(fields)}`,
        ),
      ),
    );
    expectNone(context, 'no node has logged an error', complaints.flat());
  });
}

function expectNone(context: Context, name: string, found: readonly string[]): void {
  const seen = { observed: String(found.length), expected: '0' };
  const evidence = found.length === 0 ? seen : { ...seen, evidence: found.slice(0, 20).join('\n') };
  context.expect(name, found.length === 0, evidence);
}

function names(sides: readonly Side[]): string {
  return sides.map(({ name, uploader }) => `${uploader.name} (${name})`).join(' and ');
}
