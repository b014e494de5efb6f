import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bee } from '@ethersphere/bee-js';
import { Cluster } from 'svcnet';

test('bee-js uploads to one node and downloads from another', async () => {
  await using net = await Cluster.start({
    preset: 'factory',
    driver: 'embedded',
    ports: 'free',
    chain: { port: 0 },
  });
  const [uploader, reader] = [new Bee(net.node(0).api), new Bee(net.node(4).api)];
  const { reference } = await uploader.uploadData(net.node(0).batch, 'hello');
  await net.synced(reference.toHex());
  assert.equal((await reader.downloadData(reference)).toUtf8(), 'hello');
});
