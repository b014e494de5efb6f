/** Uploads of chunks over a WebSocket: `http-api-completion.md` 6.1. */
import { describe, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { makeCac } from '../../../formats/chunk/cac.ts';
import type { Clock } from '../../../formats/clock.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import type { DialectName } from '../../../node/api/dialect.ts';
import { BATCH, stampOf } from '../../unit/api/fake-postage.ts';
import { hurried, type Running, startApi } from './kit.ts';

async function start(dialect: DialectName = 'svc', clock?: Clock): Promise<Running & { url: string }> {
  const started = await startApi({ dialect }, clock);
  return { ...started, url: `ws://${started.address}/chunks/stream` };
}

interface Stream {
  readonly socket: WebSocket;
  readonly answers: string[];
  readonly ended: Promise<readonly [code: number, reason: string]>;
}

async function open(url: string, tag?: number): Promise<Stream> {
  return openWith(url, {
    'svc-postage-batch-id': BATCH,
    ...(tag === undefined ? {} : { 'svc-tag': String(tag) }),
  });
}

async function openWith(url: string, headers: Record<string, string>): Promise<Stream> {
  const socket = new WebSocket(url, { headers });
  const answers: string[] = [];
  socket.on('message', (data: Buffer, isBinary) => answers.push(isBinary ? toHex(data) : 'text'));
  const ended = new Promise<readonly [number, string]>((resolve) => {
    socket.once('close', (code, reason) => resolve([code, String(reason)]));
  });
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  return { socket, answers, ended };
}

const chunkNo = (number: number) => makeCac(4n, Buffer.from(Uint32Array.of(number).buffer));

async function tagOf({ services }: Running): Promise<number> {
  return (await services.store.tags.create()).uid;
}

describe('without a tag', () => {
  test.each([
    ['svc', '00'],
    ['swarm', ''],
  ] as const)(
    '%s: 1000 chunks sent ahead get 1000 acknowledgements %j and 1000 pushes',
    async (name, answer) => {
      const { url, turn, services } = await start(name);
      const { socket, answers } = await open(url);
      for (let i = 0; i < 1000; i++) socket.send(chunkNo(i).data);
      await vi.waitFor(() => expect(answers).toHaveLength(1000), 20_000);
      expect(new Set(answers)).toEqual(new Set([answer]));
      expect(turn.pushed.map(({ chunk }) => toHex(chunk.address))).toEqual(
        Array.from({ length: 1000 }, (_, i) => toHex(chunkNo(i).address)),
      );
      expect(services.store.uploads.totals().uploaded).toBe(0);
      expect(services.store.tags.list(0, 10)).toEqual([]);
    },
  );

  test('accepted chunks are pushed even when the client has gone', async () => {
    const { url, turn } = await start();
    const { socket, ended } = await open(url);
    for (let i = 0; i < 300; i++) socket.send(chunkNo(i).data);
    socket.close(1000);
    expect((await ended)[0]).toBe(1000);
    await vi.waitFor(() => expect(turn.pushed).toHaveLength(300));
  });

  test('a chunk is acknowledged only while fewer than 128 are unfinished', async () => {
    const node = await start('svc', hurried(100));
    node.turn.pushesHang = true;
    const { socket, answers, ended } = await open(node.url);
    for (let i = 0; i < 200; i++) socket.send(chunkNo(i).data);
    await vi.waitFor(() => expect(answers).toHaveLength(128), 10_000);
    await node.api.stop();
    expect(await ended).toEqual([1001, 'node shutting down']);
    expect(answers).toHaveLength(128);
  });

  test('a push that fails ends the stream', async () => {
    const { url, turn } = await start();
    turn.pushError = new Error('refused');
    const { socket, ended } = await open(url);
    for (let i = 0; i < 300; i++) socket.send(chunkNo(i).data);
    expect(await ended).toEqual([1011, 'chunk write error']);
  });
});

describe('with a tag', () => {
  test('chunks are counted and may be pushed when the stream ends', async () => {
    const node = await start();
    const { store } = node.services;
    const tag = await tagOf(node);
    const { socket, answers } = await open(node.url, tag);
    for (const number of [1, 2, 2]) socket.send(chunkNo(number).data);
    await vi.waitFor(() => expect(answers).toEqual(['00', '00', '00']));
    expect(store.tags.get(tag)).toMatchObject({ split: 0, seen: 0 });
    expect(store.uploads.pending(0, 10)).toEqual([]);
    socket.close();
    await vi.waitFor(() => expect(store.tags.get(tag)).toMatchObject({ split: 3, seen: 1 }));
    expect(store.uploads.pending(0, 10).map(({ chunk }) => toHex(chunk.address))).toEqual(
      [1, 2].map((number) => toHex(chunkNo(number).address)),
    );
    expect(node.turn.pushed).toEqual([]);
  });

  test.each([
    ['says goodbye', (socket: WebSocket) => socket.close()],
    ['is cut', (socket: WebSocket) => socket.terminate()],
  ])('acknowledged chunks stay when the client %s', async (_what, leave) => {
    const node = await start();
    const tag = await tagOf(node);
    const { socket, answers } = await open(node.url, tag);
    for (let i = 0; i < 50; i++) socket.send(chunkNo(i).data);
    await vi.waitFor(() => expect(answers).toHaveLength(50));
    leave(socket);
    await vi.waitFor(() => expect(node.services.store.tags.get(tag)).toMatchObject({ split: 50 }));
  });

  test('chunks sent before the close frame are stored, acknowledged or not', async () => {
    const node = await start();
    const tag = await tagOf(node);
    const { socket } = await open(node.url, tag);
    for (let i = 0; i < 500; i++) socket.send(chunkNo(i).data);
    socket.close();
    await vi.waitFor(() => expect(node.services.store.tags.get(tag)).toMatchObject({ split: 500 }));
  });

  test('stopping the node ends the stream, and keeps the accepted chunks', async () => {
    const node = await start();
    const tag = await tagOf(node);
    const { socket, answers, ended } = await open(node.url, tag);
    socket.send(chunkNo(1).data);
    await vi.waitFor(() => expect(answers).toHaveLength(1));
    await node.api.stop();
    expect(await ended).toEqual([1001, 'node shutting down']);
    expect(node.services.store.tags.get(tag)).toMatchObject({ split: 1 });
  });
});

async function openStamped(url: string, query = ''): Promise<Stream> {
  return openWith(`${url}${query}`, {});
}

const stamped = (number: number, stamp = stampOf(1)) =>
  Buffer.concat([Buffer.from(stamp, 'hex'), chunkNo(number).data]);

describe('chunks with their own stamps', () => {
  test('are pushed, and each is acknowledged once it is delivered', async () => {
    const { url, turn } = await start('swarm');
    const { socket, answers, ended } = await openStamped(url);
    for (let i = 0; i < 20; i++) socket.send(stamped(i));
    await vi.waitFor(() => expect(answers).toEqual(Array.from({ length: 20 }, () => '')));
    expect(turn.pushed.map(({ chunk, batchId }) => [toHex(chunk.address), batchId])).toEqual(
      Array.from({ length: 20 }, (_, i) => [toHex(chunkNo(i).address), BATCH]),
    );
    socket.close(1000);
    expect((await ended)[0]).toBe(1000);
  });

  test('under the tag of the query are stored, and may be pushed at once', async () => {
    const node = await start('swarm');
    const { store } = node.services;
    const tag = await tagOf(node);
    const { socket, answers } = await openStamped(node.url, `?swarm-tag=${tag}`);
    for (const number of [1, 2]) socket.send(stamped(number));
    await vi.waitFor(() => expect(answers).toEqual(['', '']));
    expect(store.tags.get(tag)).toMatchObject({ split: 2 });
    expect(store.uploads.pending(0, 10).map(({ chunk }) => toHex(chunk.address))).toEqual(
      [1, 2].map((number) => toHex(chunkNo(number).address)),
    );
    expect(node.turn.pushed).toEqual([]);
  });

  test.each([
    ['of another owner', 'chunk write error', stamped(1, stampOf(2))],
    ['of no batch', 'batch not found', stamped(1, stampOf(1, new Uint8Array(32)))],
    ['before too little', 'message too small for stamp + chunk', stamped(1).subarray(0, 120)],
    [
      'before too much',
      'invalid chunk data',
      Buffer.concat([Buffer.from(stampOf(1), 'hex'), Buffer.alloc(4105)]),
    ],
  ])('a stamp %s: 1011 %s', async (_what, reason, message) => {
    const { url, turn } = await start('swarm');
    const { socket, answers, ended } = await openStamped(url);
    socket.send(message);
    expect(await ended).toEqual([1011, reason]);
    expect([answers, turn.pushed]).toEqual([[], []]);
  });

  test('end the stream when they cannot be delivered', async () => {
    const { url, turn } = await start('swarm');
    turn.pushError = new Error('refused');
    const { socket, ended } = await openStamped(url);
    socket.send(stamped(1));
    expect(await ended).toEqual([1011, 'chunk write error']);
  });

  test.each([0, 7])('%i bytes: the connection ends without a close frame', async (length) => {
    const { socket, ended } = await openStamped((await start('swarm')).url);
    socket.send(new Uint8Array(length));
    expect(await ended).toEqual([1006, '']);
  });
});

describe('the tag in the query', () => {
  const asked = async (dialect: DialectName, query: string, headers: Record<string, string> = {}) => {
    const { api } = await start(dialect);
    const answer = await fetch(`http://${api.addresses.main}/chunks/stream${query}`, { headers });
    const { code, message } = (await answer.json()) as { code: number; message: string };
    return [code, message];
  };

  test.each(['x', '-1', '+1', '1.5', '18446744073709551616'])('swarm: %s is not a tag', async (text) => {
    const query = `?swarm-tag=${encodeURIComponent(text)}`;
    expect(await asked('swarm', query)).toEqual([400, 'invalid swarm-tag query parameter']);
  });

  test('swarm: applies to the stream unless a header names another', async () => {
    expect(await asked('swarm', '?swarm-tag=7')).toEqual([404, 'tag not found']);
    expect(await asked('swarm', '?swarm-tag=')).toEqual([400, 'upgrade failed']);
    expect(await asked('swarm', '?swarm-tag=x', { 'swarm-tag': '7' })).toEqual([404, 'tag not found']);
    expect(await asked('swarm', '?swarm-tag=x', { 'swarm-tag': '0' })).toEqual([
      400,
      'invalid swarm-tag query parameter',
    ]);
  });

  test('svc: is ignored', async () => {
    const paid = { 'svc-postage-batch-id': BATCH };
    expect(await asked('svc', '?svc-tag=x', paid)).toEqual([400, 'upgrade failed']);
  });
});

describe('messages that are not chunks or cannot be stored', () => {
  test('swarm: 4105 bytes: 1011 invalid chunk data', async () => {
    const { socket, ended } = await open((await start('swarm')).url);
    socket.send(new Uint8Array(4105));
    expect(await ended).toEqual([1011, 'invalid chunk data']);
  });

  test('text is answered with 1003', async () => {
    const { socket, ended } = await open((await start()).url);
    socket.send('chunk');
    expect(await ended).toEqual([1003, 'invalid message']);
  });

  test.each([0, 7, 4105])('%i bytes: the connection ends without a close frame', async (length) => {
    const { socket, ended, answers } = await open((await start()).url);
    socket.send(new Uint8Array(length));
    expect(await ended).toEqual([1006, '']);
    expect(answers).toEqual([]);
  });

  test.each([8, 4104])('%i bytes are a chunk', async (length) => {
    const { socket, answers } = await open((await start()).url);
    socket.send(new Uint8Array(length));
    await vi.waitFor(() => expect(answers).toEqual(['00']));
  });

  test.each([
    [{ stampsLeft: 2 }, 'batch is overissued'],
    [{ putError: new Error('disk full') }, 'chunk write error'],
  ] as const)('%o: 1011 %s', async (spoilt, reason) => {
    const node = await start();
    const tag = await tagOf(node);
    const { socket, answers, ended } = await open(node.url, tag);
    Object.assign(node.turn, spoilt);
    for (let i = 0; i < 5; i++) socket.send(chunkNo(i).data);
    expect(await ended).toEqual([1011, reason]);
    const taken = reason === 'batch is overissued' ? 2 : 0;
    expect(answers).toHaveLength(taken);
    await vi.waitFor(() => expect(node.services.store.tags.get(tag)).toMatchObject({ split: taken }));
  });
});

describe('a client', () => {
  test('that sends nothing is disconnected', async () => {
    const { ended } = await open((await start('svc', hurried(10_000))).url);
    expect(await ended).toEqual([1006, '']);
  });

  test('gets an answer to its pings', async () => {
    const { socket } = await open((await start()).url);
    const pong = new Promise((resolve) => socket.once('pong', (data) => resolve(String(data))));
    socket.ping('there?');
    // Even while nothing is requested.
    expect(await pong).toBe('there?');
  });

  test('is refused like any other request before the handshake is examined', async () => {
    const node = await start();
    const { api, services } = node;
    const asked = async (headers: Record<string, string>) => {
      const answer = await fetch(`http://${api.addresses.main}/chunks/stream`, { headers });
      return [answer.status, await answer.json()];
    };
    expect(await asked({})).toEqual([
      400,
      {
        code: 400,
        message: 'invalid header params',
        reasons: ['svc-postage-batch-id: want required:'],
      },
    ]);
    const paid = { 'svc-postage-batch-id': BATCH };
    expect(await asked({ ...paid, 'svc-tag': '7' })).toEqual([404, { code: 404, message: 'tag not found' }]);
    const strange = { 'svc-postage-batch-id': 'ab'.repeat(32) };
    expect(await asked(strange)).toEqual([404, { code: 404, message: 'batch with id not found' }]);
    expect(await asked(paid)).toEqual([400, { code: 400, message: 'upgrade failed' }]);
    expect(services.store.tags.list(0, 10)).toEqual([]);
  });
});
