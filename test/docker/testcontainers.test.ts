/** Needs Docker. The image of the real package's reaper cannot be pulled everywhere. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deriveNode } from '../../harness/cluster/plan/seed.ts';
import { StorageNetworkContainer } from '../../harness/testcontainers.ts';
import { buildImage, docker } from './image.ts';

process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true';

let image: string;
beforeAll(async () => {
  image = await buildImage('testcontainers');
});
afterAll(() => {
  docker('rmi', image);
});

test('a file uploaded on one node is downloaded from another, using only fetch', async () => {
  let id: string;
  {
    await using net = await new StorageNetworkContainer(image).withNodes(3).withSeed(7).start();
    id = net.getId();
    const privileges = '{{.HostConfig.CapDrop}} {{.HostConfig.SecurityOpt}}';
    expect(docker('inspect', '--format', privileges, id)).toBe('[ALL] [no-new-privileges]');
    const data = randomBytes(50_000);
    const uploaded = await fetch(`${net.apiUrl(0)}/bytes`, {
      method: 'POST',
      headers: { 'svc-postage-batch-id': net.batchId(0), 'svc-deferred-upload': 'false' },
      body: data,
    });
    expect(uploaded.status).toBe(201);
    const { reference } = (await uploaded.json()) as { reference: string };
    const read = await fetch(`${net.apiUrl(2)}/bytes/${reference}`);
    expect(Buffer.compare(Buffer.from(await read.arrayBuffer()), data)).toBe(0);

    expect([0, 1, 2].map((index) => net.overlay(index))).toEqual(
      [0, 1, 2].map((index) => deriveNode({ seed: 7n, index, networkId: 4020 }).overlay),
    );
    const addresses = (await (await fetch(`${net.debugUrl(1)}/addresses`)).json()) as { overlay: string };
    expect(addresses.overlay).toBe(net.overlay(1));
    const chain = await fetch(net.rpcUrl(), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }),
    });
    expect(await chain.json()).toMatchObject({ result: '0x7a69' });
    for (const index of [3, -1, 0.5, Number.NaN]) {
      expect(() => net.apiUrl(index)).toThrow(`no node ${index}: the network has nodes 0 to 2`);
      expect(() => net.batchId(index)).toThrow('the network has nodes 0 to 2');
    }
  }
  expect(docker('ps', '-aq', '--no-trunc', '--filter', `id=${id}`)).toBe('');
});

describe('arguments are checked before anything starts', () => {
  const container = () => new StorageNetworkContainer(image);
  test.each([0, 201, 2.5, Number.NaN])('withNodes(%s)', (count) => {
    expect(() => container().withNodes(count)).toThrow(
      `withNodes: got ${count}, expected a whole number from 1 to 200`,
    );
  });
  test.each([-1, 1.5, 2 ** 60, 2n ** 64n, -1n])('withSeed(%s)', (seed) => {
    expect(() => container().withSeed(seed)).toThrow(
      `withSeed: got ${seed}, expected a whole number from 0 to 2^64 - 1, as bigint when above 2^53`,
    );
  });
  test('withDialect', () => {
    expect(() => container().withDialect('swarn' as 'swarm')).toThrow(
      /^withDialect: got 'swarn', expected one of svc, swarm.*swarm/,
    );
  });
});
