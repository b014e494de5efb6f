import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { StorageNetworkContainer } from 'svcnet/testcontainers';

let net;

before(async () => {
  net = await new StorageNetworkContainer(process.env.SVCNET_IMAGE ?? 'svcnet')
    .withNodes(3)
    .withSeed(7)
    .start();
});

after(() => net?.stop());

test('every node reads what one has uploaded', async () => {
  const headers = { 'svc-postage-batch-id': net.batchId(0), 'svc-deferred-upload': 'false' };
  const uploaded = await fetch(`${net.apiUrl(0)}/bytes`, { method: 'POST', headers, body: 'hello' });
  assert.equal(uploaded.status, 201);
  const { reference } = await uploaded.json();
  for (const index of [0, 1, 2]) {
    const read = await fetch(`${net.apiUrl(index)}/bytes/${reference}`);
    assert.equal(await read.text(), 'hello');
  }
});
