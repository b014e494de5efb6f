import { type ClusterNode, HarnessError, type OpenedFile } from 'svcnet';
import { defineScenario, expectFile, formatBytes, parameter, type ScenarioContext } from 'svcnet/scenario';
import { batchOf, difference, otherNodes, uploadLedgered, verifyLedger } from './steps/steps.ts';

const parameters = {
  file: parameter('text', 'file-retrieval', 'base name of the files; a number is appended to each'),
  size: parameter('size', 2 ** 20, 'size of each file', { min: 1 }),
  count: parameter('integer', 1, 'number of files per uploader', { min: 1 }),
  uploaders: parameter('integer', 1, 'number of full nodes that upload, counted from the first', { min: 1 }),
  full: parameter('boolean', false, 'download from every other node instead of only the last one'),
};
type Context = ScenarioContext<typeof parameters>;

const CONTENT_TYPE = 'text/x-file-retrieval; charset=utf-8';

interface Uploaded {
  readonly name: string;
  readonly data: Uint8Array;
  readonly reference: string;
}

interface Downloaded extends OpenedFile {
  readonly data: Uint8Array;
}

export default defineScenario({
  name: 'file-retrieval',
  group: 'functional',
  about:
    'Uploads named files, downloads them from another node, and compares bytes, file names and content types.',
  parameters,
  needs: { nodes: 2 },
  cluster: { nodes: 5 },
  timeoutMs: 600_000,
  async run(context) {
    for (const uploader of uploadersOf(context)) {
      const readers = readersOf(context, uploader);
      for (let i = 0; i < context.parameters.count; i++) {
        const file = await upload(context, uploader, i);
        await context.step('download', async (progress) => {
          for (const [done, reader] of readers.entries()) {
            progress.detail(`${file.name} of ${uploader.name} from ${reader.name}`);
            await readBack(context, reader, file);
            progress.progress(done + 1, readers.length, 'readers');
          }
        });
      }
    }
    await verifyLedger(context);
  },
});

function uploadersOf({ cluster, parameters: { uploaders } }: Context): ClusterNode[] {
  const full = cluster.nodes.filter((node) => node.running && node.mode === 'full');
  if (full.length < uploaders)
    throw new HarnessError('USAGE', `uploaders: ${uploaders} asked for, ${full.length} full nodes run`);
  return full.slice(0, uploaders);
}

function readersOf({ cluster, parameters: { full } }: Context, uploader: ClusterNode): ClusterNode[] {
  const others = otherNodes(cluster.nodes, uploader);
  return full ? others : others.slice(-1);
}

function upload(context: Context, node: ClusterNode, i: number): Promise<Uploaded> {
  const { file, size } = context.parameters;
  const { signal } = context;
  return context.step('upload', async (progress) => {
    const batch = batchOf(node);
    const name = `${file}-${i}`;
    progress.detail(`${name}, ${formatBytes(size)} on ${node.name}`);
    const data = context.random(`${node.name} ${name}`).bytes(size);
    const about = { name, contentType: CONTENT_TYPE };
    const reference = await uploadLedgered(context, {
      operation: 'upload file',
      kind: 'file',
      node,
      batch,
      size,
      mode: 'deferred',
      upload: () => node.files.upload(data, { ...about, batch, redundancyLevel: 0, signal }),
      expected: () => expectFile(data, about),
    });
    return { name, data, reference };
  });
}

async function readBack(
  context: Context,
  reader: ClusterNode,
  { name, data, reference }: Uploaded,
): Promise<void> {
  const key = { operation: 'download file', node: reader.name };
  const work = () => fetchFile(context, reader, reference);
  const seen = await context.measure(key, work, (file) => file.data.length);
  const part = difference(seen.data, data);
  context.expect(`${reader.name} serves ${name} (${reference.slice(0, 8)})`, part === undefined, {
    observed: part ?? 'equal bytes',
    expected: `${data.length} bytes`,
  });
  context.expect(`${reader.name} returns the name of ${name}`, seen.filename === name, {
    observed: seen.filename,
    expected: name,
  });
  context.expect(`${reader.name} returns the content type of ${name}`, seen.contentType === CONTENT_TYPE, {
    observed: seen.contentType,
    expected: CONTENT_TYPE,
  });
}

async function fetchFile(context: Context, node: ClusterNode, reference: string): Promise<Downloaded> {
  const begin = async () => {
    const file = await node.files.open(reference, '', { cache: false, signal: context.signal });
    const rest = file.pieces()[Symbol.asyncIterator]();
    return { file, rest, first: await rest.next() };
  };
  const key = { operation: 'first byte', node: node.name };
  const { file, rest, first } = await context.measure(key, begin, () => 0);
  const pieces: Uint8Array[] = [];
  for (let next = first; next.done !== true; next = await rest.next()) pieces.push(next.value);
  return { ...file, data: Buffer.concat(pieces) };
}
