import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../formats/clock.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics, type Metrics } from '../../../node/env/metrics.ts';
import { httpEndpoint } from '../../../node/onchain/http-endpoint.ts';
import { createRpc, type Rpc } from '../../../node/onchain/rpc.ts';

/** @param id of the request */
type Answer = (answer: ServerResponse, request: IncomingMessage, id: number) => void;

const open: { server?: Server; rpc?: Rpc } = {};

afterEach(async () => {
  open.rpc?.close();
  open.server?.closeAllConnections();
  await new Promise((resolve) =>
    open.server === undefined ? resolve(undefined) : open.server.close(resolve),
  );
  delete open.server;
  delete open.rpc;
});

interface Endpoint {
  readonly rpc: Rpc;
  readonly url: string;
  readonly bodies: string[];
  readonly sockets: Set<Socket>;
  readonly metrics: Metrics;
}

/** The last answer serves all later requests. */
async function endpoint(...answers: Answer[]): Promise<Endpoint> {
  const bodies: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, answer) => {
    sockets.add(request.socket);
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => (body += part));
    request.on('end', () => {
      bodies.push(body);
      const next = answers.length > 1 ? answers.shift() : answers[0];
      next?.(answer, request, (JSON.parse(body) as { id: number }).id);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const metrics = createMetrics({ prefix: 'svc' });
  const rpc = createRpc(httpEndpoint(url), { clock: systemClock(), log: silentLogger(), metrics });
  Object.assign(open, { server, rpc });
  return { rpc, url, bodies, sockets, metrics };
}

const json =
  (body: object, status = 200): Answer =>
  (answer, _, id) =>
    answer
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
const block = json({ result: '0x10' });

describe('an endpoint', () => {
  test('is called by POST, over one connection, and counted', async () => {
    const { rpc, bodies, sockets, metrics } = await endpoint(block);
    expect([await rpc.blockNumber(), await rpc.blockNumber()]).toEqual([16, 16]);
    expect(bodies.map((body) => JSON.parse(body) as unknown)).toEqual([
      { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] },
      { jsonrpc: '2.0', id: 2, method: 'eth_blockNumber', params: [] },
    ]);
    expect(sockets.size).toBe(1);
    expect(await metrics.expose()).toContain('svc_eth_backend_total_rpc_calls 2');
  });

  test('is counted by method, with the next nonce and a past one counted separately', async () => {
    const { rpc, metrics } = await endpoint(block, block, block, block);
    await rpc.blockNumber();
    await rpc.transactionCount('0x00');
    await rpc.minedCount('0x00', 'latest');
    await rpc.minedCount('0x00', 12);
    const text = await metrics.expose();
    const counts = ['block_number', 'pending_nonce_at', 'nonce_at', 'send_transaction'].map((type) =>
      Number(new RegExp(`^svc_eth_backend_calls_${type} (\\d+)$`, 'm').exec(text)?.[1]),
    );
    expect(counts).toEqual([1, 1, 2, 0]);
  });

  test('that closed an idle connection is called again', async () => {
    const { rpc, bodies } = await endpoint(block, (_, request) => request.socket.destroy(), block);
    expect(await rpc.blockNumber()).toBe(16);
    expect(await rpc.blockNumber()).toBe(16);
    expect(bodies.length).toBe(3);
  });

  test('whose idle connection receives unsolicited data is called over another one', async () => {
    const { rpc, sockets } = await endpoint(block);
    await rpc.blockNumber();
    for (const socket of sockets) socket.write('HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n');
    await vi.waitFor(() => expect([...sockets].every((socket) => socket.destroyed)).toBe(true));
    expect(await rpc.blockNumber()).toBe(16);
    expect(sockets.size).toBe(2);
  });

  test('that closes each connection after its answer is called over new ones', async () => {
    const { rpc, sockets } = await endpoint((answer, request, id) => {
      answer.setHeader('connection', 'close');
      block(answer, request, id);
    });
    expect([await rpc.blockNumber(), await rpc.blockNumber()]).toEqual([16, 16]);
    expect(sockets.size).toBe(2);
  });

  test('uses eight connections at most', async () => {
    const held: (() => void)[] = [];
    const { rpc, sockets } = await endpoint(
      (answer, request, id) => void held.push(() => block(answer, request, id)),
    );
    const asking = Promise.all(Array.from({ length: 12 }, () => rpc.blockNumber()));
    await vi.waitFor(() => expect(held.length).toBe(8));
    for (let answered = 0; answered < 12; answered++) {
      await vi.waitFor(() => expect(held.length).toBeGreaterThan(0));
      held.shift()?.();
    }
    expect(new Set(await asking)).toEqual(new Set([16]));
    expect(sockets.size).toBe(8);
  });

  test('that refuses with an error status and a JSON error is understood', async () => {
    const { rpc } = await endpoint(json({ error: { code: -32_000, message: 'too many requests' } }, 429));
    await expect(rpc.blockNumber()).rejects.toMatchObject({
      code: 'RPC_ERROR',
      message: 'eth_blockNumber: too many requests',
    });
  });

  test.each([
    ['a code', json({ error: { code: -32_005, message: 'refused on purpose' } })],
    ['a text', json({ error: { code: -32_000, message: 'Too Many Requests' } })],
    ['a status', ((answer) => answer.writeHead(429).end('slow down')) satisfies Answer],
  ])('that has no time for a call, and says so by %s, is called again', async (_, busy) => {
    const { rpc, bodies } = await endpoint(busy, busy, block);
    expect(await rpc.blockNumber()).toBe(16);
    expect(bodies.length).toBe(3);
  });

  test('that never has time is given up, and so is one that has too many events', async () => {
    const busy = json({ error: { code: -32_005, message: 'limit exceeded' } });
    const { rpc, bodies } = await endpoint(busy);
    await expect(rpc.blockNumber()).rejects.toMatchObject({ code: 'RPC_ERROR' });
    expect(bodies.length).toBe(4);
    const filter = { address: '0x00', topics: [], fromBlock: 0, toBlock: 1 };
    await expect(rpc.logs(filter)).rejects.toMatchObject({ code: 'RPC_ERROR' });
    expect(bodies.length).toBe(5);
    const leaving = new AbortController();
    const asking = rpc.blockNumber(leaving.signal);
    leaving.abort(new Error('client left'));
    await expect(asking).rejects.toThrow('client left');
  });

  test('that refuses for another reason is not called again', async () => {
    const { rpc, bodies } = await endpoint(json({ error: { code: -32_000, message: 'unknown block' } }));
    await expect(rpc.blockNumber()).rejects.toMatchObject({ code: 'RPC_ERROR' });
    expect(bodies.length).toBe(1);
  });

  test('behind a broken proxy is unreachable', async () => {
    const { rpc, url } = await endpoint((answer) => answer.writeHead(502).end('<html>bad gateway</html>'));
    await expect(rpc.blockNumber()).rejects.toMatchObject({
      code: 'RPC_UNREACHABLE',
      message: `chain endpoint ${url} answered HTTP 502`,
    });
  });

  test('that does not speak JSON gives a malformed answer', async () => {
    const { rpc, metrics } = await endpoint((answer) => answer.end('hello'));
    await expect(rpc.blockNumber()).rejects.toMatchObject({ code: 'RPC_ERROR' });
    expect(await metrics.expose()).toContain('svc_eth_backend_total_rpc_errors 1');
  });

  test('that hangs up in the middle is reported as unreachable by name', async () => {
    const { rpc, url } = await endpoint((answer) => {
      answer.writeHead(200, { 'content-length': 1000 }).write('{"result":');
      answer.socket?.destroySoon();
    });
    await expect(rpc.blockNumber()).rejects.toMatchObject({
      code: 'RPC_UNREACHABLE',
      message: expect.stringContaining(url) as string,
    });
  });

  test('that is missing is reported as unreachable by name', async () => {
    const { rpc, url } = await endpoint(block);
    await new Promise((resolve) => open.server?.close(resolve));
    await expect(rpc.blockNumber()).rejects.toMatchObject({
      code: 'RPC_UNREACHABLE',
      message: expect.stringContaining(url) as string,
    });
  });

  test('that does not answer is given up when the caller aborts', async () => {
    const { rpc } = await endpoint(() => undefined);
    const leaving = new AbortController();
    const asking = rpc.blockNumber(leaving.signal);
    leaving.abort(new Error('client left'));
    await expect(asking).rejects.toThrow('client left');
  });

  test('that does not answer in time is unreachable', async () => {
    const { url } = await endpoint(() => undefined);
    const real = systemClock();
    const clock = { ...real, deadline: (_: number, parent?: AbortSignal) => real.deadline(20, parent) };
    const rpc = createRpc(httpEndpoint(url), { clock, log: silentLogger() });
    await expect(rpc.blockNumber()).rejects.toMatchObject({
      code: 'RPC_UNREACHABLE',
      message: `chain endpoint ${url}: no result within 20 ms`,
    });
    rpc.close();
  });
});

test.each(['', 'localhost:8545', 'ftp://127.0.0.1', 'ws://127.0.0.1:8546', 'http://'])(
  '%j is not an endpoint',
  (url) => {
    const deps = { clock: systemClock(), log: silentLogger() };
    expect(() => createRpc(httpEndpoint(url), deps)).toThrow(TypeError);
  },
);

test('user and password are sent but never shown', async () => {
  const seen: (string | undefined)[] = [];
  const { url } = await endpoint((answer, request) => {
    seen.push(request.headers.authorization);
    answer.writeHead(401).end('no');
  });
  const endpointUrl = url.replace('//', '//me:secret@');
  const rpc = createRpc(httpEndpoint(endpointUrl), { clock: systemClock(), log: silentLogger() });
  await expect(rpc.blockNumber()).rejects.toMatchObject({
    message: `chain endpoint ${url}… answered HTTP 401`,
  });
  expect(seen).toEqual([`Basic ${Buffer.from('me:secret').toString('base64')}`]);
  rpc.close();
});
