import { atMost, defineScenario, expectBytes, formatBytes, parameter } from 'svcnet/scenario';
import { batchOf, chosenNode, uploadLedgered, verifyLedger } from './steps/steps.ts';

const parameters = {
  sizes: parameter('sizes', [4096, 2 ** 20], 'sizes of the uploads'),
  count: parameter('integer', 8, 'number of uploads of each size', { min: 1 }),
  concurrency: parameter('integer', 4, 'number of concurrent uploads', { min: 1 }),
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

export default defineScenario({
  name: 'upload',
  group: 'load',
  about: 'Uploads data of several sizes to one node, then finds every chunk on the network.',
  parameters,
  needs: { nodes: 2 },
  cluster: { nodes: 5 },
  timeoutMs: 600_000,
  async run(context) {
    const { sizes, count, concurrency } = context.parameters;
    const mode = context.parameters.mode as 'deferred' | 'direct';
    const node = chosenNode(context, context.parameters.node);
    const batch = batchOf(node);
    for (const size of sizes) {
      await context.step('upload', async (progress) => {
        progress.detail(`${count} x ${formatBytes(size)} on ${node.name}, ${mode}, ${concurrency} at once`);
        let done = 0;
        const works = Array.from({ length: count }, (_, i) => async () => {
          const data = context.random(`${size} bytes, upload ${i}`).bytes(size);
          await uploadLedgered(context, {
            operation: `upload ${formatBytes(size)}`,
            kind: 'bytes',
            node,
            batch,
            size,
            mode,
            upload: () =>
              node.bytes.upload(data, {
                batch,
                deferred: mode === 'deferred',
                redundancyLevel: 0,
                signal: context.signal,
              }),
            expected: () => expectBytes(data),
          });
          progress.progress(++done, count, 'uploads');
        });
        await atMost(concurrency, works);
      });
    }
    await verifyLedger(context);
  },
});
