import { defineScenario, expectBytes, parameter, plural } from 'svcnet/scenario';

export default defineScenario({
  name: 'spread',
  group: 'functional',
  about: 'Uploads on one node and downloads on every other one.',
  parameters: { size: parameter('size', 64 * 1024, 'size of the upload', { min: 1 }) },
  needs: { nodes: 2 },
  cluster: { nodes: 3 },
  timeoutMs: 120_000,
  async run({ cluster, parameters, random, step, measure, expect }) {
    const [uploader, ...readers] = cluster.nodes;
    if (uploader === undefined) return;
    const data = random('content').bytes(parameters.size);
    const content = await expectBytes(data);
    const { reference } = await step('upload', (progress) => {
      progress.detail(plural(content.chunks.length, 'chunk'));
      return measure(
        { operation: 'upload', node: uploader.name },
        () => uploader.bytes.upload(data),
        () => data.length,
      );
    });
    expect('the reference is that of the content', reference === content.reference, {
      observed: reference,
      expected: content.reference,
    });
    await step('sync', () => cluster.synced(reference));
    for (const reader of readers) {
      const read = await measure(
        { operation: 'download', node: reader.name },
        () => reader.bytes.download(reference),
        (bytes) => bytes.length,
      );
      expect(`${reader.name} reads the same bytes`, Buffer.compare(read, data) === 0, {
        observed: `${read.length} bytes`,
        expected: `the ${data.length} bytes of ${uploader.name}`,
        evidence: reference,
      });
    }
  },
});
