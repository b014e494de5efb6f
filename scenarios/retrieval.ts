import {
  atMost,
  defineScenario,
  expectBytes,
  formatBytes,
  parameter,
  type ScenarioContext,
} from 'svcnet/scenario';
import { batchOf, chosenNode, difference, otherNodes, uploadLedgered, verifyLedger } from './steps/steps.ts';

const parameters = {
  sizes: parameter('sizes', [4096, 2 ** 20], 'sizes of the data'),
  count: parameter('integer', 8, 'number of uploads of each size', { min: 1 }),
  concurrency: parameter('integer', 4, 'number of concurrent downloads per node', { min: 1 }),
  node: parameter('node', '', 'node that uploads; the first one when empty'),
  reader: parameter('node', '', 'node that downloads; every other one when empty'),
  cache: parameter('boolean', false, 'let the reader cache what it fetches'),
};
type Context = ScenarioContext<typeof parameters>;

interface Piece {
  readonly data: Uint8Array;
  readonly reference: string;
}

export default defineScenario({
  name: 'retrieval',
  group: 'load',
  about: 'Uploads data of several sizes to one node, downloads it from the others, and compares every byte.',
  parameters,
  needs: { nodes: 2 },
  cluster: { nodes: 5 },
  timeoutMs: 600_000,
  async run(context) {
    for (const size of context.parameters.sizes) await download(context, size, await upload(context, size));
    await verifyLedger(context);
  },
});

function upload(context: Context, size: number): Promise<Piece[]> {
  const { count } = context.parameters;
  const node = chosenNode(context, context.parameters.node);
  const batch = batchOf(node);
  return context.step('upload', async (progress) => {
    progress.detail(`${count} x ${formatBytes(size)} on ${node.name}`);
    const pieces: Piece[] = [];
    for (let i = 0; i < count; i++) {
      const data = context.random(`${size} bytes, piece ${i}`).bytes(size);
      const reference = await uploadLedgered(context, {
        operation: `upload ${formatBytes(size)}`,
        kind: 'bytes',
        node,
        batch,
        size,
        mode: 'deferred',
        upload: () => node.bytes.upload(data, { batch, redundancyLevel: 0, signal: context.signal }),
        expected: () => expectBytes(data),
      });
      pieces.push({ data, reference });
      progress.progress(i + 1, count, 'chunks');
    }
    return pieces;
  });
}

function download(context: Context, size: number, pieces: readonly Piece[]): Promise<void> {
  const { reader, concurrency, cache } = context.parameters;
  const uploader = chosenNode(context, context.parameters.node);
  const readers =
    reader === '' ? otherNodes(context.cluster.nodes, uploader) : [context.cluster.node(reader)];
  return context.step('download', async (progress) => {
    progress.detail(
      `${pieces.length} x ${formatBytes(size)} from ${readers.map(({ name }) => name).join(', ')}`,
    );
    let done = 0;
    const perReader = readers.map((node) => {
      const works = pieces.map(({ data, reference }) => async () => {
        const operation = `download ${formatBytes(size)}`;
        const work = () => node.bytes.download(reference, { cache, signal: context.signal });
        const seen = await context.measure({ operation, node: node.name }, work, ({ length }) => length);
        const part = difference(seen, data);
        context.expect(
          `${node.name} serves ${reference.slice(0, 8)} (${formatBytes(size)})`,
          part === undefined,
          {
            observed: part ?? 'equal bytes',
            expected: `${size} bytes of ${reference}`,
          },
        );
        progress.progress(++done, readers.length * pieces.length, 'downloads');
      });
      return atMost(concurrency, works);
    });
    await Promise.all(perReader);
  });
}
