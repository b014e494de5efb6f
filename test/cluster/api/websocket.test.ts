import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import type { Clock } from '../../../formats/clock.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { listen } from '../../../node/api/listen.ts';
import { topicOf } from '../../../node/pss/trojan.ts';
import { BATCH } from '../../unit/api/fake-postage.ts';
import { hurried, type Running, startApi } from './kit.ts';

const ADDRESS = '12'.repeat(32);
const OPENED = 'HTTP/1.1 101 Switching Protocols\r\n';

async function start(clock?: Clock): Promise<Running & { url: string }> {
  const started = await startApi({ corsAllowedOrigins: ['http://app.test'] }, clock);
  return { ...started, url: `ws://${started.address}` };
}

async function open(url: string, headers: Record<string, string> = {}): Promise<WebSocket> {
  const socket = new WebSocket(url, { headers });
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  return socket;
}

function closed(socket: WebSocket): Promise<number> {
  return new Promise((resolve) => {
    socket.once('close', (code) => resolve(code));
  });
}

const GOOD = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

async function handshake(
  port: number,
  changes: Record<string, string | undefined>,
  line = `GET /gsoc/subscribe/${ADDRESS} HTTP/1.1`,
  body = '',
): Promise<string> {
  const headers: Record<string, string | undefined> = { Host: '127.0.0.1', ...GOOD, ...changes };
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}`],
  );
  const socket = await raw(port, `${line}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
  return await text(socket);
}

function bodyOf(answer: string): string {
  return answer.slice(answer.indexOf('\r\n\r\n') + 4);
}

async function raw(port: number, bytes: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' });
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.on('error', () => undefined);
  socket.write(bytes);
  return socket;
}

describe('the handshake', () => {
  test.each([
    ['no upgrade', { Connection: 'close', Upgrade: undefined }, 400],
    ['an upgrade to another protocol', { Connection: 'close, Upgrade', Upgrade: 'h2c' }, 400],
    ['another version', { 'Sec-WebSocket-Version': '12' }, 400],
    ['no version', { 'Sec-WebSocket-Version': undefined }, 400],
    ['no key', { 'Sec-WebSocket-Key': undefined }, 400],
    ['a key that is too short', { 'Sec-WebSocket-Key': 'dGhl' }, 400],
  ])('%s is refused', async (_what, changes, status) => {
    const { port, turn } = await start();
    const answer = await handshake(port, changes);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer.toLowerCase()).toContain('sec-websocket-version: 13\r\n');
    expect(answer).toContain(`{"code":${status},"message":"upgrade failed"}`);
    expect(turn.subscriptions.size).toBe(0);
  });

  test.each([
    ['a page of another origin', { Origin: 'http://evil.test' }],
    ['such a page, and no key', { Origin: 'http://evil.test', 'Sec-WebSocket-Key': undefined }],
    ['a sandboxed page', { Origin: 'null' }],
    ['a page whose host name leads here', { Origin: 'http://evil.test', Host: 'evil.test' }],
  ])('%s is refused with 403 before it subscribes', async (_what, changes) => {
    const { port, turn } = await start();
    const answer = await handshake(port, changes);
    expect(answer).toMatch(/^HTTP\/1.1 403 /);
    expect(answer).toContain('not allowed');
    expect(turn.subscriptions.size).toBe(0);
  });

  test('parameters are checked first, then the method', async () => {
    const { port } = await start();
    const bad = await handshake(port, { 'Sec-WebSocket-Key': undefined }, 'GET /gsoc/subscribe/xx HTTP/1.1');
    expect(bad).toContain('invalid path params');
    const closing = { Connection: 'close, Upgrade' };
    const post = await handshake(port, closing, `POST /gsoc/subscribe/${ADDRESS} HTTP/1.1`);
    expect(post).toMatch(/^HTTP\/1.1 405 /);
  });

  test('a WebSocket request to an ordinary route is answered like any other', async () => {
    const { port } = await start();
    const answer = await handshake(port, {}, 'GET /health HTTP/1.1');
    expect(answer).toMatch(/^HTTP\/1.1 200 /);
    expect(answer.toLowerCase()).toContain('connection: close\r\n');
    expect(await handshake(port, {}, 'GET /nowhere HTTP/1.1')).toMatch(/^HTTP\/1.1 404 /);
  });

  test('an upload that asks for a WebSocket is stored whole', async () => {
    const { port } = await start();
    const upload = (headers: Record<string, string | undefined>) =>
      handshake(
        port,
        { 'svc-postage-batch-id': BATCH, 'Content-Length': '5', ...headers },
        'POST /bytes HTTP/1.1',
        'hello',
      );
    const asking = await upload({ Connection: 'close, Upgrade' });
    expect(asking).toMatch(/^HTTP\/1.1 201 /);
    expect(bodyOf(asking)).toBe(bodyOf(await upload({ Connection: 'close', Upgrade: undefined })));
  });

  test('a request for a WebSocket behind one that is not answered yet gets an ordinary answer, in its turn', async () => {
    const { port, turn } = await start();
    const line = `GET /node HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /gsoc/subscribe/${ADDRESS} HTTP/1.1`;
    const answers = await handshake(port, { Connection: 'close, Upgrade' }, line);
    expect(answers.match(/^HTTP\/1.1 \d+/gm)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
    expect(answers).toContain('{"code":400,"message":"upgrade failed"}');
    expect(turn.subscriptions.size).toBe(0);
  });

  test.each([
    ['has no host', 'GET /node HTTP/1.1\r\n\r\n', 400],
    [
      'expects what the server does not know',
      'GET /node HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: x\r\n\r\n',
      417,
    ],
  ])(
    'one behind a request that %s ends the connection after the answer to that',
    async (_what, first, code) => {
      const { port } = await start();
      const answers = await handshake(port, {}, `${first}GET /gsoc/subscribe/${ADDRESS} HTTP/1.1`);
      expect(answers.match(/^HTTP\/1.1 \d+/gm)).toEqual([`HTTP/1.1 ${code}`]);
      expect(await fetch(`http://127.0.0.1:${port}/health`)).toMatchObject({ status: 200 });
    },
  );

  test('pages of an allowed origin or of the node itself, and clients without an origin, are let in', async () => {
    const { url, port, turn } = await start();
    const origins = [{ origin: 'http://APP.test' }, { origin: `http://127.0.0.1:${port}` }, {}];
    for (const headers of origins) await open(`${url}/v1/gsoc/subscribe/${ADDRESS}`, headers);
    await vi.waitFor(() => expect(turn.subscriptions.size).toBe(3));
  });

  test('neither a subprotocol nor compression is agreed on', async () => {
    const { port } = await start();
    const offers = 'Sec-WebSocket-Protocol: chat\r\nSec-WebSocket-Extensions: permessage-deflate';
    const head = Object.entries(GOOD).map(([name, value]) => `${name}: ${value}`);
    const lines = [`GET /pss/subscribe/t HTTP/1.1`, 'Host: 127.0.0.1', ...head, offers];
    const socket = await raw(port, `${lines.join('\r\n')}\r\n\r\n`);
    const answer = String(await new Promise((resolve) => socket.once('data', resolve)));
    socket.destroy();
    expect(answer).toContain(OPENED);
    expect(answer).not.toMatch(/sec-websocket-(protocol|extensions)/i);
  });
});

describe('a subscription', () => {
  test.each([
    ['/pss/subscribe/a%20topic', toHex(topicOf('a topic'))],
    [`/gsoc/subscribe/${ADDRESS}`, ADDRESS],
  ])('of %s gets one binary message per delivery', async (path, key) => {
    const { url, turn } = await start();
    const socket = await open(url + path);
    const seen: [string, boolean][] = [];
    socket.on('message', (data: Buffer, binary) => seen.push([data.toString(), binary]));
    await vi.waitFor(() => expect([...turn.subscriptions].map((one) => one.key)).toEqual([key]));
    for (const { deliver } of turn.subscriptions) {
      deliver(Buffer.from('one'));
      deliver(Buffer.alloc(0));
      deliver(Buffer.from('two'));
    }
    await vi.waitFor(() =>
      expect(seen).toEqual([
        ['one', true],
        ['', true],
        ['two', true],
      ]),
    );
  });

  test.each([
    ['closes', (socket: WebSocket) => socket.close()],
    ['is gone', (socket: WebSocket) => socket.terminate()],
  ])('ends when its client %s', async (_how, leave) => {
    const { url, turn } = await start();
    const socket = await open(`${url}/pss/subscribe/topic`);
    await vi.waitFor(() => expect(turn.subscriptions.size).toBe(1));
    leave(socket);
    await vi.waitFor(() => expect(turn.subscriptions.size).toBe(0));
  });

  test('echoes the close of its client, answers pings and ignores messages', async () => {
    const { url, turn } = await start();
    const socket = await open(`${url}/pss/subscribe/topic`);
    socket.send('whatever');
    const pong = new Promise((resolve) => socket.once('pong', (data) => resolve(String(data))));
    socket.ping('are you there');
    expect(await pong).toBe('are you there');
    expect(turn.subscriptions.size).toBe(1);
    const code = closed(socket);
    socket.close(1000);
    expect(await code).toBe(1000);
  });

  test('is pinged every minute', async () => {
    const { url } = await start(hurried(100));
    const socket = await open(`${url}/pss/subscribe/topic`);
    let pings = 0;
    socket.on('ping', () => pings++);
    await vi.waitFor(() => expect(pings).toBeGreaterThanOrEqual(2), { timeout: 120_000 });
  });

  test('of a client that does not read ends four seconds after its connection has filled up', async () => {
    const { url, turn } = await start(hurried(100));
    const slow = await open(`${url}/pss/subscribe/topic`);
    const quick = await open(`${url}/pss/subscribe/topic`);
    await vi.waitFor(() => expect(turn.subscriptions.size).toBe(2));
    slow.pause();
    let heard = 0;
    quick.on('message', () => heard++);
    const message = new Uint8Array(4000);
    let sent = 0;
    await vi.waitFor(
      () => {
        // The buffers of the system hold some megabytes first.
        for (let n = 0; n < 50; n++, sent++) for (const { deliver } of turn.subscriptions) deliver(message);
        expect(turn.subscriptions.size).toBe(1);
      },
      { timeout: 120_000, interval: 5 },
    );
    await vi.waitFor(() => expect(heard).toBe(sent), { timeout: 120_000 });
    const code = closed(slow);
    slow.resume();
    expect(await code).toBe(1006);
  });

  test('of a client that keeps pinging and reads no answer ends too', async () => {
    const { url, turn } = await start();
    const socket = await open(`${url}/pss/subscribe/topic`);
    await vi.waitFor(() => expect(turn.subscriptions.size).toBe(1));
    socket.pause();
    const question = Buffer.alloc(125);
    await vi.waitFor(
      () => {
        for (let n = 0; n < 2000 && socket.bufferedAmount < 2 ** 20; n++) socket.ping(question);
        expect(turn.subscriptions.size).toBe(0);
      },
      { timeout: 120_000, interval: 5 },
    );
  });

  test.each([
    ['fragments without content', FIRST_FRAGMENT, EMPTY_FRAGMENT],
    ['pings, and reads the answers', PING, PING],
    ['messages', MESSAGE, MESSAGE],
  ])('ends when its client keeps sending %s', async (_what, first, frame) => {
    const { port, turn } = await start();
    const socket = await subscriber(port, '/pss/subscribe/topic');
    await vi.waitFor(() => expect(turn.subscriptions.size).toBe(1));
    socket.write(first);
    await flooded(socket, frame);
    await vi.waitFor(() => expect(turn.subscriptions.size).toBe(0));
  });

  test('is closed with the advice to try again later when the node has no room for it', async () => {
    const { url, turn } = await start();
    turn.failing.add('subscribe');
    const socket = await open(`${url}/pss/subscribe/topic`);
    expect(await closed(socket)).toBe(1013);
  });
});

/** Masked as a client masks it, with a mask of zeros: an empty fragment, not the last; a ping; a whole message. */
const EMPTY_FRAGMENT = Buffer.from('008000000000', 'hex');
const PING = Buffer.from('8980000000008a8000000000', 'hex');
const MESSAGE = Buffer.concat([Buffer.from('82fe040000000000', 'hex'), Buffer.alloc(1024)]);
const FIRST_FRAGMENT = Buffer.from('028000000000', 'hex');
const FLOOD = 16 * 1024 * 1024;

async function subscriber(port: number, path: string, more = ''): Promise<Socket> {
  const lines = Object.entries(GOOD).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = await raw(port, `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join('')}${more}\r\n`);
  expect(String(await new Promise((resolve) => socket.once('data', resolve)))).toContain(OPENED);
  socket.resume();
  return socket;
}

/** Fails if all of the flood was taken. */
async function flooded(socket: Socket, frame: Buffer): Promise<void> {
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const part = Buffer.concat(Array.from({ length: Math.ceil(60_000 / frame.length) }, () => frame));
  for (let sent = 0; !socket.closed; sent += part.length) {
    if (sent > FLOOD) throw new Error(`the node has taken ${sent} bytes that it has no use for`);
    await Promise.race([ended, new Promise((resolve) => socket.write(part, resolve))]);
  }
}

describe('a chunk stream', () => {
  test('ends when a message comes in fragments without content and without end', async () => {
    const { port } = await start();
    const socket = await subscriber(port, '/chunks/stream', `svc-postage-batch-id: ${BATCH}\r\n`);
    socket.write(FIRST_FRAGMENT);
    await flooded(socket, EMPTY_FRAGMENT);
  });

  test('takes a chunk in fragments of one byte, each behind an empty one', async () => {
    const { url } = await start();
    const socket = await open(`${url}/chunks/stream`, { 'svc-postage-batch-id': BATCH });
    const answer = new Promise((resolve) => socket.once('message', resolve));
    const data = Buffer.concat([Buffer.from('0010000000000000', 'hex'), Buffer.alloc(4096, 7)]);
    for (const [at, byte] of data.entries()) {
      socket.send(Buffer.alloc(0), { fin: false });
      socket.send(Buffer.of(byte), { fin: at === data.length - 1 });
    }
    expect(await answer).toEqual(Buffer.of(0));
  });
});

describe('a stopping node', () => {
  test('sends every client a close frame without a code', async () => {
    const { api, url, turn } = await start();
    const sockets = [
      await open(`${url}/pss/subscribe/topic`),
      await open(`${url}/gsoc/subscribe/${ADDRESS}`),
    ];
    const codes = Promise.all(sockets.map(closed));
    await api.stop();
    expect(await codes).toEqual([1005, 1005]);
    expect(turn.subscriptions.size).toBe(0);
  });

  test('does not wait for a client that does not answer', async () => {
    const { api, port, turn } = await start();
    const lines = Object.entries(GOOD).map(([name, value]) => `${name}: ${value}`);
    const head = ['GET /pss/subscribe/topic HTTP/1.1', 'Host: 127.0.0.1', ...lines].join('\r\n');
    const socket = await raw(port, `${head}\r\n\r\n`);
    await vi.waitFor(() => expect(turn.subscriptions.size).toBe(1));
    const ended = new Promise((resolve) => socket.once('close', resolve));
    socket.resume();
    await api.stop();
    await ended;
  });

  test('cuts connections that are released and neither answered nor taken over', async () => {
    const { promise: asked, resolve: upgrade } = Promise.withResolvers<void>();
    const listening = await listen({ handle: () => undefined, upgrade: () => upgrade() }, '127.0.0.1:0', {
      clock: hurried(100),
    });
    const port = Number(listening.address.split(':')[1]);
    const socket = await raw(port, 'GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    const ended = new Promise((resolve) => socket.once('close', resolve));
    socket.resume();
    await asked;
    await listening.close();
    await ended;
  });
});

test('an open WebSocket is counted as answered with 101', async () => {
  const { url, port } = await start();
  await open(`${url}/pss/subscribe/topic`);
  const metrics = await handshake(port, { Connection: 'close', Upgrade: undefined }, 'GET /metrics HTTP/1.1');
  expect(metrics).toMatch(/response_code_count\w*\{code="101",method="GET"\} 1/);
});
