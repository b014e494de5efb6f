/** What only a real socket shows: connections that break, readers that do not read, bytes that are not HTTP. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Client, request } from 'undici';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { CHUNK_PAYLOAD_SIZE, type Chunk } from '../../../formats/chunk/chunk.ts';
import { decodeSpan } from '../../../formats/chunk/span.ts';
import type { Clock } from '../../../formats/clock.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { ApiStartError } from '../../../node/api/listen.ts';
import { BATCH } from '../../unit/api/fake-postage.ts';
import { hurried, newApi, type Running, startApi } from './kit.ts';

async function start(clock?: Clock): Promise<Running & { main: string }> {
  const started = await startApi({ debugAddress: '127.0.0.1:0' }, clock);
  return { ...started, main: `http://${started.address}` };
}

/** The socket ends with the test. */
async function raw(port: number, bytes: string | Buffer): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  await new Promise((resolve) => socket.once('connect', resolve));
  // The server may cut the connection.
  socket.on('error', () => undefined);
  socket.write(bytes);
  return socket;
}

function uploadHead(length: number, deferred = true): string {
  return `POST /bytes HTTP/1.1\r\nHost: 127.0.0.1\r\nsvc-postage-batch-id: ${BATCH}\r\nsvc-tag: 1\r\nsvc-deferred-upload: ${deferred}\r\nContent-Length: ${length}\r\n\r\n`;
}

function largeFile(): { reference: string; chunks: Chunk[]; size: number } {
  const leaf = makeCac(BigInt(CHUNK_PAYLOAD_SIZE), new Uint8Array(CHUNK_PAYLOAD_SIZE).fill(1));
  const above = (child: Chunk, span: number) =>
    makeCac(BigInt(span), Buffer.concat(Array(128).fill(child.address)));
  const middle = above(leaf, CHUNK_PAYLOAD_SIZE * 128);
  const size = CHUNK_PAYLOAD_SIZE * 128 * 128;
  const root = above(middle, size);
  return { reference: toHex(root.address), chunks: [leaf, middle, root], size };
}

describe('a client that asks before it sends the body', () => {
  const asking = (more = '') =>
    uploadHead(5000).replace('\r\n\r\n', `\r\nExpect: 100-continue\r\n${more}\r\n`);

  test('is told to go on once its request is admitted, and then is answered', async () => {
    const { port, services } = await start();
    await services.store.tags.create();
    const socket = await raw(port, asking('Connection: close\r\n'));
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write(Buffer.alloc(5000, 1));
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 201 /);
  });

  test('keeps the body when its request is refused', async () => {
    const { port } = await startApi({ tokens: { api: 'secret' } });
    const socket = await raw(port, asking());
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer.toLowerCase()).toContain('connection: close');
  });
});

describe('uploads that break off', () => {
  test.each([
    ['aborted', (socket: Socket) => socket.resetAndDestroy()],
    ['truncated', (socket: Socket) => socket.end()],
  ])('an %s upload leaves no session and no count', async (_name, breakOff) => {
    const { port, services, turn } = await start();
    await services.store.tags.create();
    const socket = await raw(
      port,
      Buffer.concat([Buffer.from(uploadHead(1_000_000)), Buffer.alloc(100_000, 1)]),
    );
    await vi.waitFor(() => expect(turn.sessions).toEqual([{ tagUid: 1, state: 'open' }]));
    breakOff(socket);
    await vi.waitFor(() => expect(turn.sessions).toEqual([{ tagUid: 1, state: 'cleaned' }]));
    expect(services.store.tags.get(1)).toMatchObject({ split: 0, seen: 0 });
    expect(services.store.uploads.totals().pending).toBe(0);
  });

  test('a client that leaves while its direct upload waits for receipts stops the pushes', async () => {
    const { main, port, turn } = await start();
    turn.pushesHang = true;
    const socket = await raw(
      port,
      Buffer.concat([Buffer.from(uploadHead(5000, false)), Buffer.alloc(5000, 1)]),
    );
    await vi.waitFor(async () => {
      const { body } = await request(`${main}/metrics`);
      expect(await body.text()).toMatch(/api_request_count 2|api_request_count [3-9]/);
    });
    socket.resetAndDestroy();
    await vi.waitFor(async () => {
      const { body } = await request(`${main}/metrics`);
      expect(await body.text()).toContain('svc_api_response_code_count{code="499",method="POST"} 1');
    });
  });

  test('an upload whose client stops sending is answered, closed and rolled back', async () => {
    const { main, port, turn, services } = await start(hurried(100));
    await services.store.tags.create();
    const socket = await raw(port, `${uploadHead(1_000_000)}some of it`);
    expect(await text(socket)).toMatch(
      /^HTTP\/1\.1 408 Request Timeout\r\n(?:.*\r\n)*connection: close\r\n/i,
    );
    expect(turn.sessions.map(({ state }) => state)).toEqual(['cleaned']);
    const { body } = await request(`${main}/metrics`);
    expect(await body.text()).toContain('svc_api_idle_ended_count{what="body"} 1');
  });

  test('a request that waits while the process stalls is answered; one without an end is refused', async () => {
    const { port } = await start();
    const waiting = await raw(port, '');
    const endless = await raw(port, 'GET /health HTTP/1.1\r\n');
    // Node.js looks at its connections during the stall, and both must be accepted before.
    await new Promise((resolve) => setTimeout(resolve, 100));
    // Timers come next in the event loop, sockets after them.
    await new Promise(setImmediate);
    waiting.write('GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5200);
    expect(await text(waiting)).toMatch(/^HTTP\/1\.1 200 /);
    expect(await text(endless)).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
  });

  test('a client that expects 100-continue is told to continue', async () => {
    const { port, services } = await start();
    await services.store.tags.create();
    const head = uploadHead(4).replace('\r\n\r\n', '\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n');
    const socket = await raw(port, head);
    const answer = text(socket);
    await vi.waitFor(() => expect(socket.bytesRead).toBeGreaterThan(0));
    socket.write('body');
    expect(await answer).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /);
  });

  test('a body of unknown length is streamed in', async () => {
    const { main, services } = await start();
    const parts = (async function* () {
      for (let i = 0; i < 50; i++) yield Buffer.alloc(10_000, i);
    })();
    const headers = { 'svc-postage-batch-id': BATCH };
    const { statusCode, body } = await request(`${main}/bytes`, {
      method: 'POST',
      headers,
      body: Readable.from(parts),
    });
    const { reference } = (await body.json()) as { reference: string };
    expect(statusCode).toBe(201);
    const root = services.store.chunks.get(Buffer.from(reference, 'hex'));
    expect(decodeSpan(root?.data ?? new Uint8Array(8))).toBe(500_000n);
  });
});

describe('answers before the body is read', () => {
  test.each([
    ['unknown batch', { 'svc-postage-batch-id': '00'.repeat(32) }, '/bytes', 404],
    ['wrong method', {}, '/health', 405],
    ['too large', { 'svc-postage-batch-id': BATCH }, '/chunks', 413],
    ['unknown path', {}, '/nowhere', 404],
  ] as [string, Record<string, string>, string, number][])(
    '%s: the connection stays usable',
    async (_name, headers, path, status) => {
      const { main } = await start();
      const client = new Client(main);
      const refused = await client.request({ method: 'POST', path, headers, body: Buffer.alloc(3_000_000) });
      expect(refused.statusCode).toBe(status);
      await refused.body.dump();
      const next = await client.request({ method: 'GET', path: '/health' });
      expect(next.statusCode).toBe(200);
      await next.body.dump();
      await client.close();
    },
  );

  test('a bucket that fills up in the middle of the body is answered with 402', async () => {
    const { main, turn } = await start();
    turn.stampsLeft = 10;
    const client = new Client(main);
    const headers = { 'svc-postage-batch-id': BATCH };
    const refused = await client.request({
      method: 'POST',
      path: '/bytes',
      headers,
      body: Buffer.alloc(3_000_000, 1),
    });
    expect([refused.statusCode, await refused.body.json()]).toEqual([
      402,
      { code: 402, message: 'batch is overissued' },
    ]);
    const next = await client.request({ method: 'GET', path: '/health' });
    expect(next.statusCode).toBe(200);
    await next.body.dump();
    await client.close();
    expect(turn.sessions.map(({ state }) => state)).toEqual(['cleaned']);
  });

  test('a body without end is cut off', async () => {
    const { port } = await start();
    const socket = await raw(
      port,
      'POST /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000000\r\n\r\n',
    );
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const part = Buffer.alloc(1_000_000);
    const pump = () => {
      while (!socket.destroyed && socket.write(part));
      if (!socket.destroyed) socket.once('drain', pump);
    };
    pump();
    socket.resume();
    await closed;
    expect(socket.bytesWritten).toBeLessThan(100_000_000);
  });
});

describe('downloads', () => {
  test('a reader that does not read holds back the chunks, and gets the rest once it reads', async () => {
    const { port, services, turn } = await start();
    const { reference, chunks, size } = largeFile();
    for (const chunk of chunks) turn.network.set(toHex(chunk.address), chunk);
    const getter = services.netstore.getter.bind(services.netstore);
    let fetched = 0;
    services.netstore.getter = (options) => {
      const inner = getter(options);
      return {
        get(address, signal) {
          fetched += 1;
          return inner.get(address, signal);
        },
      };
    };
    const socket = await raw(
      port,
      `GET /bytes/${reference} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`,
    );
    socket.pause();
    let before = -1;
    await vi.waitFor(
      () => {
        const still = fetched > 10 && fetched === before;
        before = fetched;
        expect(still).toBe(true);
      },
      { interval: 200, timeout: 120_000 },
    );
    // Sockets buffer a few megabytes of the 64.
    expect(fetched).toBeLessThan((size / CHUNK_PAYLOAD_SIZE) * 0.75);
    let received = 0;
    socket.on('data', (part: Buffer) => {
      received += part.length;
    });
    socket.resume();
    await new Promise((resolve) => socket.once('end', resolve));
    socket.end();
    expect(received).toBeGreaterThan(size);
    expect(fetched).toBeGreaterThanOrEqual(size / CHUNK_PAYLOAD_SIZE);
  });

  test('a reader that never reads is cut off, and its slot is freed', async () => {
    const { main, port, turn } = await start(hurried(1000));
    const { reference, chunks } = largeFile();
    for (const chunk of chunks) turn.network.set(toHex(chunk.address), chunk);
    const stalled = await raw(port, `GET /bytes/${reference} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    stalled.pause();
    await vi.waitFor(async () => {
      const { body } = await request(`${main}/metrics`);
      const text = await body.text();
      expect(text).toContain('svc_api_idle_ended_count{what="answer"} 1');
      expect(text).toMatch(/svc_api_download_stalled_count [1-9]/);
    });
    stalled.destroy();
  });

  test('a client that leaves stops the retrieval', async () => {
    const { port, services } = await start();
    const { reference, chunks } = largeFile();
    const byAddress = new Map(chunks.map((chunk) => [toHex(chunk.address), chunk]));
    const asked: AbortSignal[] = [];
    services.netstore.getter = () => ({
      async get(address, signal) {
        const chunk = byAddress.get(toHex(address));
        if (chunk === undefined || signal === undefined) throw new Error('unexpected request');
        if (asked.push(signal) > 300)
          await new Promise((_resolve, reject) => signal.addEventListener('abort', reject));
        return chunk;
      },
    });
    const socket = await raw(port, `GET /bytes/${reference} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    socket.resume();
    await vi.waitFor(() => expect(asked.length).toBeGreaterThan(300));
    expect(asked.at(-1)?.aborted).toBe(false);
    socket.resetAndDestroy();
    await vi.waitFor(() => expect(asked.at(-1)?.aborted).toBe(true));
  });

  test('a chunk that fails in the middle breaks off the body short of its length', async () => {
    const { main, services } = await start();
    const { reference, chunks } = largeFile();
    const byAddress = new Map(chunks.map((chunk) => [toHex(chunk.address), chunk]));
    let left = 1000;
    services.netstore.getter = () => ({
      async get(address) {
        const chunk = byAddress.get(toHex(address));
        if (chunk === undefined || left-- === 0) throw new Error('lost');
        return chunk;
      },
    });
    const { statusCode, body } = await request(`${main}/bytes/${reference}`);
    expect(statusCode).toBe(200);
    await expect(body.arrayBuffer()).rejects.toThrow();
  });
});

describe('connections', () => {
  test('several requests go over one connection', async () => {
    const { port } = await start();
    const socket = await raw(
      port,
      'GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /node HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n',
    );
    const answer = await text(socket);
    expect(answer.match(/^HTTP\/1\.1 200 OK/gm)).toHaveLength(2);
    expect(answer).toMatch(/^Keep-Alive: timeout=30/im);
  });

  test('a client that sends thousands of requests without waiting for answers delays others by a few of them', async () => {
    const { port } = await start();
    const count = 2000;
    const greedy = await raw(port, 'GET /node HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.repeat(count));
    await once(greedy, 'readable');
    const other = await raw(port, 'GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n');
    const metrics = await text(other);
    // The answer says how many requests the node had begun before it.
    expect(Number(/^svc_api_request_count (\d+)$/m.exec(metrics)?.[1])).toBeLessThan(200);
    greedy.write('GET /node HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n');
    const answers = await text(greedy);
    expect(answers.match(/^HTTP\/1\.1 200 OK/gm)).toHaveLength(count + 1);
  });

  test.each([
    ['no HTTP', 'GARBAGE\r\n\r\n', 400, 'Bad Request'],
    ['a version that HTTP has not', 'GET / HTTP/9.9\r\n\r\n', 400, 'Bad Request'],
    [
      'a header without a colon',
      'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nbad header\r\n\r\n',
      400,
      'Bad Request',
    ],
    [
      'a length that is no number',
      'POST /bytes HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: x\r\n\r\n',
      400,
      'Bad Request',
    ],
    [
      'a header of 100,000 bytes',
      `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nx: ${'a'.repeat(100_000)}\r\n\r\n`,
      431,
      'Request Header Fields Too Large',
    ],
  ])('%s is answered and the connection closed', async (_what, bytes, code, message) => {
    const { port } = await start();
    const socket = await raw(port, bytes);
    const answer = await text(socket);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${code} `));
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toEqual({ code, message });
  });

  test('an answer that has begun is cut off when bytes follow that are no request, which add nothing to it', async () => {
    const { port, turn } = await start();
    const { reference, chunks } = largeFile();
    for (const chunk of chunks) turn.network.set(toHex(chunk.address), chunk);
    const socket = await raw(port, `GET /bytes/${reference} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    await once(socket, 'readable');
    socket.write('GARBAGE\r\n\r\n');
    const parts: Buffer[] = [];
    socket.on('data', (part: Buffer) => parts.push(part));
    await Promise.race([once(socket, 'end'), once(socket, 'close')]);
    socket.destroy();
    expect(
      Buffer.concat(parts)
        .toString('latin1')
        .match(/HTTP\/1\.1 \d+/g),
    ).toEqual(['HTTP/1.1 200']);
  });

  test('both listeners serve their own routes', async () => {
    const { api } = await start();
    const statusOf = async (address: string | undefined, path: string) => {
      const { statusCode, body } = await request(`http://${address}${path}`);
      await body.dump();
      return statusCode;
    };
    expect(api.addresses.main).not.toBe(api.addresses.debug);
    expect(await statusOf(api.addresses.main, '/tags')).toBe(200);
    expect(await statusOf(api.addresses.debug, '/tags')).toBe(404);
    expect(await statusOf(api.addresses.debug, '/v1/health')).toBe(200);
  });

  test('an address in use is named in the error', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const bound = taken.address();
    const address = `127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}`;
    const { api } = await newApi({ address });
    const error = await api.start().catch((reason: unknown) => reason);
    taken.close();
    expect(error).toBeInstanceOf(ApiStartError);
    expect(error).toMatchObject({
      code: 'LISTEN_FAILED',
      address,
      message: `cannot listen on ${address}: address already in use`,
    });
  });

  test('stopping ends a waiting request', async () => {
    const { api, main, turn } = await start();
    turn.pushesHang = true;
    const headers = { 'svc-postage-batch-id': BATCH, 'svc-deferred-upload': 'false' };
    const waiting = request(`${main}/bytes`, { method: 'POST', headers, body: Buffer.alloc(100) }).then(
      ({ statusCode }) => statusCode,
      () => 'broken off',
    );
    await vi.waitFor(async () => {
      const { body } = await request(`${main}/metrics`);
      expect(Number(/^svc_api_request_count (\d+)$/m.exec(await body.text())?.[1])).toBeGreaterThan(1);
    });
    await api.stop();
    expect([500, 'broken off']).toContain(await waiting);
    await expect(request(`${main}/health`)).rejects.toThrow();
  });
});

describe('file names on the wire', () => {
  const NAME = 'é pr€is.txt';

  test.each([
    ['GET', ''],
    ['HEAD', ''],
    ['GET', 'Range: bytes=0-1\r\n'],
    ['GET', 'Range: bytes=5-2\r\n'],
    ['GET', 'If-None-Match: *\r\n'],
    ['GET', 'If-Match: "x"\r\n'],
  ])('%s %j sends a name in UTF-8 as it is', async (method, header) => {
    const { main, port } = await start();
    const { body } = await request(`${main}/svc?name=${encodeURIComponent(NAME)}`, {
      method: 'POST',
      headers: { 'svc-postage-batch-id': BATCH, 'content-type': 'text/plain' },
      body: 'hello',
    });
    const { reference } = (await body.json()) as { reference: string };
    const ask = `${method} /svc/${reference}/ HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${header}\r\n`;
    const answer = Buffer.concat(await Array.fromAsync(await raw(port, ask))).toString('utf8');
    expect(answer).toContain(`\r\ncontent-disposition: inline; filename="${NAME}"\r\n`);
  });
});
