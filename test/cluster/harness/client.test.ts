import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, expect, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { DIALECTS } from '../../../harness/client/dialect.ts';
import { ClientError } from '../../../harness/client/errors.ts';
import { NodeClient } from '../../../harness/client/node-client.ts';
import type { Uploaded } from '../../../harness/client/types.ts';

const REFERENCE = 'ab'.repeat(32);
const BATCH = 'cd'.repeat(32);
const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function serve(
  handle: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<string> {
  const server: Server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function client(api: string, options: Partial<ConstructorParameters<typeof NodeClient>[0]> = {}): NodeClient {
  const made = new NodeClient({ node: 'node-0', api, ...options });
  closers.push(() => made.close());
  return made;
}

async function failure(work: Promise<unknown>): Promise<ClientError> {
  const error = await work.then(
    () => new Error('it succeeded'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ClientError);
  return error as ClientError;
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}

test('an upload sends its batch and returns reference and tag', async () => {
  const seen: { headers: IncomingMessage['headers']; body: string }[] = [];
  const uploaded: Uploaded[] = [];
  const api = await serve(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    seen.push({ headers: request.headers, body: Buffer.concat(pieces).toString() });
    response.setHeader('svc-tag', '7');
    json(response, 201, { reference: REFERENCE });
  });
  const node = client(api, { defaultBatch: () => BATCH, onUploaded: (one) => uploaded.push(one) });
  const result = await node.bytes.upload(Readable.from([Buffer.from('hel'), Buffer.from('lo')]), {
    deferred: false,
    pin: true,
  });
  expect(result).toEqual({ reference: REFERENCE, tag: 7 });
  expect(uploaded).toEqual([result]);
  expect(seen[0]).toMatchObject({
    body: 'hello',
    headers: { 'svc-postage-batch-id': BATCH, 'svc-deferred-upload': 'false', 'svc-pin': 'true' },
  });
});

test('bytes, texts and streams of any kind are sent unchanged', async () => {
  const bodies: string[] = [];
  const api = await serve(async (request, response) => {
    let body = '';
    for await (const piece of request) body += String(piece);
    bodies.push(body);
    json(response, 201, { reference: REFERENCE });
  });
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(Buffer.from('str'));
    yield Buffer.from('eam');
  }
  const node = client(api);
  await node.bytes.upload(Buffer.from('bytes'));
  await node.bytes.upload('text');
  await node.bytes.upload(pieces());
  await node.bytes.upload(new Uint8Array(0));
  expect(bodies).toEqual(['bytes', 'text', 'stream', '']);
});

test('the swarm dialect has different names and the same results', async () => {
  const api = await serve((request, response) => {
    if (request.url === '/node') return json(response, 200, { beeMode: 'full', swapEnabled: false });
    if (request.url === '/wallet')
      return json(response, 200, {
        bzzBalance: '100000000000000000000',
        nativeTokenBalance: '5',
        chainID: 1,
        walletAddress: '0x00000000000000000000000000000000000000AB',
      });
    if (request.url === '/timesettlements')
      return json(response, 200, { totalReceived: '18446744073709551616', totalSent: '0', settlements: [] });
    response.setHeader('swarm-tag', '3');
    json(response, 201, { reference: `${request.url} ${String(request.headers['swarm-postage-batch-id'])}` });
  });
  const node = client(api, { dialect: DIALECTS.swarm });
  expect((await node.node()).mode).toBe('full');
  expect((await node.wallet.balances()).tokenBalance).toBe(10n ** 20n);
  expect((await node.timeSettlements()).totalReceived).toBe(2n ** 64n);
  expect(await node.files.upload('x', { batch: BATCH, name: 'a b' })).toEqual({
    reference: `/bzz?name=a%20b ${BATCH}`,
    tag: 3,
  });
});

test('a file is opened with its name and type before its bytes', async () => {
  const api = await serve((_request, response) => {
    const name = Buffer.from('pr\u20acis "x" \\\\ y'.replace(/"/g, String.raw`\"`)).toString('latin1');
    response.setHeader('content-type', 'text/x-own; a=b');
    response.setHeader('content-disposition', `inline; filename="${name}"`);
    response.setHeader('content-length', 5);
    response.write(Buffer.from('hello'));
    response.end();
  });
  const file = await client(api).files.open(REFERENCE, 'a');
  expect([file.contentType, file.filename]).toEqual(['text/x-own; a=b', 'pr\u20acis "x" \\ y']);
  expect(Buffer.concat(await Array.fromAsync(file.pieces())).toString()).toBe('hello');
});

test('a file without a name can also be opened', async () => {
  const api = await serve((_request, response) => response.end('hello'));
  expect((await client(api).files.open(REFERENCE)).filename).toBeUndefined();
});

test('presence of a chunk is requested with HEAD', async () => {
  const asked: string[] = [];
  const api = await serve((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.writeHead(asked.length === 1 ? 200 : 404).end();
  });
  const node = client(api);
  expect([await node.chunks.has(REFERENCE), await node.chunks.has(REFERENCE)]).toEqual([true, false]);
  expect(asked[0]).toBe(`HEAD /chunks/${REFERENCE}`);
});

test('all pages of tags are read', async () => {
  const api = await serve((request, response) => {
    const query = new URL(request.url ?? '', 'http://node').searchParams;
    const offset = Number(query.get('offset'));
    const count = Math.min(Number(query.get('limit')), 1500 - offset);
    json(response, 200, { tags: Array.from({ length: count }, (_, i) => ({ uid: offset + i + 1 })) });
  });
  const tags = await client(api).tags.list();
  expect(tags).toHaveLength(1500);
  expect(tags.at(-1)?.uid).toBe(1500);
});

test('a status is an error with class, message and reasons of either shape', async () => {
  const api = await serve((request, response) => {
    if (request.url === '/stamps') return json(response, 402, { code: 402, message: 'batch is overissued' });
    const reasons = ['svc-tag: invalid syntax', { field: 'svc-pin', error: 'invalid syntax' }];
    json(response, 400, { code: 400, message: 'invalid header params', reasons });
  });
  const node = client(api);
  expect(await failure(node.stamps.list())).toMatchObject({
    class: 'stamp.full',
    status: 402,
    node: 'node-0',
  });
  const error = await failure(node.peers());
  expect(error.class).toBe('http.400');
  expect(error.reasons).toEqual(['svc-tag: invalid syntax', 'svc-pin: invalid syntax']);
});

test('an error that is not JSON is shown as it is', async () => {
  const api = await serve((_request, response) => response.writeHead(502).end('bad gateway'));
  const error = await failure(client(api).peers());
  expect(error).toMatchObject({ class: 'http.502', message: 'node-0: GET /peers: 502 bad gateway' });
});

test('a port where nothing listens is a failed connect', async () => {
  const api = await serve(() => undefined);
  await closers.pop()?.();
  expect((await failure(client(api).health())).class).toBe('client.connect');
});

test('a connection that is cut before the answer is a reset', async () => {
  const api = await serve((request) => request.socket.destroy());
  expect((await failure(client(api).health())).class).toBe('client.reset');
});

test('a connection that is cut within the body is a short body, read whole or piece by piece', async () => {
  const api = await serve((_request, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('only this', () => response.destroy());
  });
  const node = client(api);
  expect((await failure(node.bytes.download(REFERENCE))).class).toBe('client.short_body');
  const pieces = await node.bytes.stream(REFERENCE);
  const reading = async () => {
    for await (const piece of pieces) expect(piece.length).toBeGreaterThan(0);
  };
  expect((await failure(reading())).class).toBe('client.short_body');
});

test('an answer without end is read up to the limit of its kind, and its connection is closed', async () => {
  const piece = Buffer.alloc(2 ** 20, ' ');
  const ends: Promise<unknown>[] = [];
  const api = await serve((request, response) => {
    ends.push(once(response, 'close'));
    response.writeHead(request.url === '/health' ? 500 : 200);
    const send = () => {
      while (!response.destroyed && response.write(piece));
    };
    response.on('drain', send);
    send();
  });
  const node = client(api);
  for (const ask of [() => node.peers(), () => node.metrics(), () => node.chunks.download(REFERENCE)])
    expect((await failure(ask())).class).toBe('client.long_body');
  expect(await failure(node.health())).toMatchObject({ class: 'http.500' });
  await Promise.all(ends);
  expect(ends).toHaveLength(4);
});

test('a message longer than any message ends the subscription, and what came before is kept', async () => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  closers.push(() => new Promise((resolve) => server.close(resolve)));
  const ended = new Promise<void>((resolve) => {
    server.once('connection', (socket) => {
      socket.on('close', () => resolve());
      socket.send(Buffer.from('hello'));
      socket.send(Buffer.alloc(65_537));
    });
  });
  const node = client(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  using subscription = await node.messages.listen('topic');
  await ended;
  expect(subscription.texts).toEqual(['hello']);
});

test('headers without end fail the request', async () => {
  const flood = createTcpServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const send = () => {
        while (!socket.destroyed && socket.write(`x-header: ${'a'.repeat(4096)}\r\n`));
      };
      socket.on('drain', send);
      send();
    });
  });
  await new Promise<void>((resolve) => flood.listen(0, '127.0.0.1', resolve));
  closers.push(() => new Promise((resolve) => flood.close(resolve)));
  const node = client(`http://127.0.0.1:${(flood.address() as AddressInfo).port}`);
  expect((await failure(node.peers())).class).toBe('client.reset');
});

test('a node that accepts a connection and stays silent is a timeout', async () => {
  const silent = createTcpServer((socket) => socket.on('error', () => socket.destroy()).resume());
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  closers.push(() => new Promise((resolve) => silent.close(resolve)));
  const node = client(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`);
  expect((await failure(node.bytes.download(REFERENCE, { timeoutMs: 50 }))).class).toBe('client.timeout');
});

test('an abort by the caller is distinguished from a timeout', async () => {
  const api = await serve(() => undefined);
  const abort = new AbortController();
  const download = failure(client(api).bytes.download(REFERENCE, { signal: abort.signal }));
  abort.abort();
  expect((await download).class).toBe('client.aborted');
});

test('a node that refuses a batch before reading the body gives its answer, not a broken pipe', async () => {
  const api = await serve((_request, response) => {
    response.writeHead(404, { 'content-type': 'application/json', connection: 'close' });
    response.end(JSON.stringify({ code: 404, message: 'batch with id not found' }));
  });
  const big = Readable.from(
    (function* () {
      for (let i = 0; i < 64; i++) yield Buffer.alloc(65_536);
    })(),
  );
  expect((await failure(client(api).bytes.upload(big))).class).toBe('stamp.unknown');
});
