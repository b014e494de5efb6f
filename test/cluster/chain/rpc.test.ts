import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createRpcClient, type RpcClient } from '../../../chain/rpc.ts';

let server: Server;
let rpc: RpcClient;
/** Number of the request, of all and of its connection. @returns whether the connection breaks without an answer */
type Breaks = (request: number, ofConnection: number) => boolean;

async function start(breaks: Breaks): Promise<() => number> {
  const counts = new WeakMap<object, number>();
  let asked = 0;
  server = createServer(({ socket }, response) => {
    const ofConnection = (counts.get(socket) ?? 0) + 1;
    counts.set(socket, ofConnection);
    if (breaks(++asked, ofConnection)) socket.resetAndDestroy();
    else response.end(JSON.stringify([{ id: 0, result: asked }]));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await promise;
  rpc = createRpcClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return () => asked;
}

afterEach(() => {
  rpc.close();
  server.close();
});

test('a call on a kept connection that ends is sent over a new one', async () => {
  await start((_request, ofConnection) => ofConnection === 2);
  expect(await rpc.call('eth_blockNumber')).toBe(1);
  expect(await rpc.call('eth_blockNumber')).toBe(3);
});

test('a call on a new connection is sent once: the endpoint may have read it', async () => {
  const asked = await start(() => true);
  await expect(rpc.call('eth_blockNumber')).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(asked()).toBe(1);
});

test('an endpoint that breaks every connection has failed', async () => {
  const asked = await start((request) => request > 1);
  await rpc.call('eth_blockNumber');
  await expect(rpc.call('eth_blockNumber')).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(asked()).toBe(3);
});
