import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Cluster } from 'svcnet';

let net;

before(async () => {
  net = await Cluster.start({ driver: 'embedded', nodes: 3, seed: 7 });
});

after(() => net.stop());

test('every node reads what one has uploaded', async () => {
  const data = new TextEncoder().encode('hello');
  const { reference } = await net.node(0).bytes.upload(data);
  await net.synced(reference);
  for (const node of net.nodes) assert.deepEqual(await node.bytes.download(reference), data);
});
