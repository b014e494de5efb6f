import { defineScenario, expectBytes } from 'svcnet/scenario';

export default defineScenario({
  name: 'isolated',
  group: 'chaos',
  about: 'A node is separated from the others during an upload, and has its chunks after it is back.',
  parameters: {},
  needs: { nodes: 3, capabilities: ['linkFaults'] },
  cluster: { nodes: 3, linkFaults: () => true },
  timeoutMs: 120_000,
  async run({ cluster, random, step, expect, signal }) {
    const data = random('content').bytes(100_000);
    const { chunks } = await expectBytes(data);
    await step('isolate node-2', () => cluster.faults.isolate('node-2'));
    const { reference } = await step('upload', () => cluster.node(0).bytes.upload(data, { signal }));
    const [fault] = await step('heal', () => cluster.faults.heal());
    expect(
      'the fault has changed something',
      fault !== undefined && Object.values(fault.effect).some(Boolean),
      {
        observed: JSON.stringify(fault?.effect),
        expected: 'an effect',
      },
    );
    await cluster.meshed({ signal });
    await step('sync', () => cluster.synced(reference, { signal }));
    const read = await cluster.node(2).bytes.download(reference, { signal });
    expect('node-2 reads the upload', Buffer.compare(read, data) === 0, {
      observed: `${read.length} bytes`,
      expected: `${data.length} bytes in ${chunks.length} chunks`,
      evidence: reference,
    });
  },
});
