import { ClientError, type ClusterNode } from 'svcnet';
import {
  atMost,
  defineScenario,
  grouped,
  makeCac,
  messageOf,
  parameter,
  type ScenarioContext,
  toHex,
} from 'svcnet/scenario';
import { type KnownContent, readContent, uploadContent, withoutPin } from './steps/content.ts';
import { chosenNode, verifyLedger, workingNodes } from './steps/steps.ts';

const parameters = {
  ref: parameter(
    'text',
    '',
    'ledger.jsonl of a run, or a file with the root on the first line and one chunk on each later line; empty: upload new content',
  ),
  size: parameter('size', 2 ** 20, 'size of the new content', { min: 1 }),
  concurrency: parameter('integer', 10, 'number of concurrent requests', { min: 1 }),
  'max-attempts': parameter('integer', 10, 'attempts per chunk', { min: 1, allowance: true }),
  'min-rate': parameter('number', 1, 'smallest share of the chunks that must be retrieved'),
};
type Context = ScenarioContext<typeof parameters>;

const LINES_SHOWN = 50;

export default defineScenario({
  name: 'data-durability',
  group: 'durability',
  about: 'Downloads every chunk of known content from nodes that have not pinned it.',
  parameters,
  needs: { nodes: 2 },
  cluster: { nodes: 5 },
  timeoutMs: 3_600_000,
  async run(context) {
    const { ref, size } = context.parameters;
    const own = { name: 'content', size };
    const known =
      ref === '' ? [await uploadContent(context, chosenNode(context, ''), own)] : readContent(ref);
    await fetchAll(context, known);
    if (ref === '') await verifyLedger(context);
  },
});

function fetchAll(context: Context, known: readonly KnownContent[]): Promise<void> {
  return context.step('download', async (progress) => {
    const nodes = workingNodes(context.cluster.nodes);
    const lost: string[] = [];
    let total = 0;
    let done = 0;
    for (const { reference, chunks } of known) {
      const readers = await withoutPin(nodes, reference, context.signal);
      if (readers.length === 0) context.skip(`every node has pinned ${reference}`);
      total += chunks.length;
      const works = chunks.map((chunk, index) => async () => {
        const failure = await fetchOne(context, readers, index, chunk);
        if (failure !== undefined) lost.push(`chunk ${chunk}: ${failure}`);
        progress.progress(++done, total, 'chunks');
      });
      await atMost(context.parameters.concurrency, works);
    }
    const least = context.parameters['min-rate'];
    context.expect('enough chunks come from the network', total - lost.length >= least * total, {
      observed: `${grouped(total - lost.length)} of ${grouped(total)}`,
      expected: `at least ${Math.round(least * 1000) / 10} %`,
      ...(lost.length === 0 ? {} : { evidence: lost.slice(0, LINES_SHOWN).join('\n') }),
    });
    context.figure({ name: 'retrieved', value: total - lost.length, unit: 'chunks' });
    progress.detail(`${grouped(total)} chunks`);
  });
}

async function fetchOne(
  context: Context,
  readers: readonly ClusterNode[],
  index: number,
  chunk: string,
): Promise<string | undefined> {
  const { signal } = context;
  let failure = '';
  for (let attempt = 0; attempt < context.parameters['max-attempts']; attempt++) {
    const node = readers[(index + attempt) % readers.length] as ClusterNode;
    try {
      const work = () => node.chunks.download(chunk, { cache: false, signal });
      const key = { operation: 'download chunk', node: node.name };
      const data = await context.measure(key, work, ({ length }) => length);
      if (addressOf(data) === chunk) return undefined;
      failure = `${data.length} bytes from ${node.name} are not those of its address`;
    } catch (error) {
      if (!(error instanceof ClientError) || signal.aborted) throw error;
      failure = messageOf(error);
    }
  }
  return failure;
}

/** @param data span and payload */
function addressOf(data: Uint8Array): string {
  const span = new DataView(data.buffer, data.byteOffset).getBigUint64(0, true);
  return toHex(makeCac(span, data.subarray(8)).address);
}
