import {
  atMost,
  atRate,
  defineScenario,
  expectBytes,
  formatBytes,
  parameter,
  type ScenarioContext,
} from 'svcnet/scenario';
import { batchOf, chosenNode, uploadLedgered, verifyLedger } from './steps/steps.ts';

/** For each size: `svcnet load` is for more, and keeps no ledger. */
const DURATION_MAX_MS = 300_000;
const TIMEOUT_MS = 6 * DURATION_MAX_MS;

const parameters = {
  sizes: parameter('sizes', [4096, 2 ** 20], 'sizes of the uploads'),
  count: parameter('integer', 8, 'number of uploads of each size', { min: 1 }),
  concurrency: parameter('integer', 4, 'number of concurrent uploads', { min: 1 }),
  rate: parameter(
    'integer',
    0,
    'uploads that begin per second, however long each takes, instead of count and concurrency (0: those); one is dropped if 256 are under way',
    { min: 0, max: 1000 },
  ),
  duration: parameter('duration', 10_000, 'how long uploads of each size begin, with a rate', {
    min: 1000,
    max: DURATION_MAX_MS,
  }),
  node: parameter('node', '', 'node that uploads; the first one when empty'),
  mode: parameter(
    'text',
    'deferred',
    'when an upload is answered: once it is stored locally (deferred), or by the network (direct)',
    {
      oneOf: ['deferred', 'direct'],
    },
  ),
};

type Context = ScenarioContext<typeof parameters>;

/** @param intendedMs counts for the latency; absent: its own start */
async function upload(context: Context, size: number, index: number, intendedMs?: number): Promise<void> {
  const node = chosenNode(context, context.parameters.node);
  const batch = batchOf(node);
  const mode = context.parameters.mode as 'deferred' | 'direct';
  const data = context.random(`${size} bytes, upload ${index}`).bytes(size);
  await uploadLedgered(context, {
    operation: `upload ${formatBytes(size)}`,
    kind: 'bytes',
    node,
    batch,
    size,
    mode,
    intendedMs,
    upload: () =>
      node.bytes.upload(data, {
        batch,
        deferred: mode === 'deferred',
        redundancyLevel: 0,
        signal: context.signal,
      }),
    expected: () => expectBytes(data),
  });
}

function uploadAtRate(context: Context, size: number): Promise<void> {
  const { rate, duration, mode, node } = context.parameters;
  return context.step('upload', async (progress) => {
    const { clock } = context.cluster;
    const { name } = chosenNode(context, node);
    progress.detail(`${formatBytes(size)} on ${name}, ${mode}, ${rate} per second`);
    const loop = { perSecond: rate, durationMs: duration, clock, signal: context.signal };
    let done = 0;
    const planned = Math.floor((rate * duration) / 1000);
    const { dropped, wallMs } = await atRate(loop, async (index, intendedMs) => {
      await upload(context, size, index, intendedMs);
      progress.progress(++done, planned, 'uploads');
    });
    const of = formatBytes(size);
    context.figure({ name: 'uploads planned', of, value: planned, unit: 'uploads' });
    context.figure({ name: 'uploads dropped', of, value: dropped, unit: 'uploads' });
    const achieved = perSecond(done, Math.max(duration, wallMs));
    context.figure({ name: 'rate achieved', of, value: achieved, unit: 'uploads/s' });
  });
}

function perSecond(count: number, ms: number): number {
  return Math.round((count * 100_000) / ms) / 100;
}

export default defineScenario({
  name: 'upload',
  group: 'load',
  about: 'Uploads data of several sizes to one node, then finds every chunk on the network.',
  parameters,
  needs: { nodes: 2 },
  cluster: { nodes: 5 },
  timeoutMs: TIMEOUT_MS,
  async run(context) {
    const { sizes, count, concurrency, rate, mode } = context.parameters;
    const { name } = chosenNode(context, context.parameters.node);
    for (const size of sizes) {
      if (rate > 0) {
        await uploadAtRate(context, size);
        continue;
      }
      await context.step('upload', async (progress) => {
        progress.detail(`${count} x ${formatBytes(size)} on ${name}, ${mode}, ${concurrency} at once`);
        let done = 0;
        const works = Array.from({ length: count }, (_, i) => async () => {
          await upload(context, size, i);
          progress.progress(++done, count, 'uploads');
        });
        await atMost(concurrency, works);
      });
    }
    await verifyLedger(context);
  },
});
