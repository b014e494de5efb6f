import { defineScenario, parameter } from 'svcnet/scenario';

export default defineScenario({
  name: 'power-cut',
  group: 'chaos',
  about:
    'Cuts the power of a node that has just acknowledged an upload, and reads the upload from another node.',
  parameters: {
    mode: parameter('text', 'deferred', 'who acknowledges the upload: its node, or the network', {
      oneOf: ['deferred', 'direct'],
    }),
  },
  needs: { nodes: 4, capabilities: ['power'] },
  cluster: { nodes: 4, machineFaults: () => true },
  timeoutMs: 120_000,
  async run({ cluster, parameters, random, step, expect, signal }) {
    const data = random('content').bytes(100_000);
    const deferred = parameters.mode === 'deferred';
    const { reference } = await step('upload', () =>
      cluster.node(0).bytes.upload(data, { deferred, signal }),
    );
    await step('cut power', () => cluster.faults.begin({ kind: 'power-cut', node: 'node-0' }));
    await step('heal', () => cluster.faults.heal());
    const [read] = await step('download', () =>
      Promise.allSettled([cluster.node(3).bytes.download(reference, { signal })]),
    );
    expect('node-3 can read what node-0 acknowledged', read.status === 'fulfilled', {
      observed: read.status === 'fulfilled' ? `${read.value.length} bytes` : String(read.reason),
      expected: `${data.length} bytes`,
      evidence: reference,
    });
  },
});
