import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../../formats/clock.ts';
import type { Answer } from '../../../../node/api/exchange/answer.ts';
import { send } from '../../../../node/api/exchange/exchange.ts';
import { settle } from '../../files/settle.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';

class SlowConnection extends Duplex {
  readonly taken: Buffer[] = [];
  #take: (() => void) | undefined;

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#take = () => {
      this.taken.push(Buffer.from(chunk));
      done();
    };
  }

  get isWaiting(): boolean {
    return this.#take !== undefined;
  }

  takeOne(): void {
    const take = this.#take;
    this.#take = undefined;
    take?.();
  }
}

function answering(count: number, clock: Pick<Clock, 'timer'> = systemClock()) {
  const lost: string[] = [];
  const patience = { idleMs: 120_000, clock, over: (what: string) => void lost.push(what) };
  const connection = new SlowConnection();
  const request = new IncomingMessage(connection as never);
  const response = new ServerResponse(request);
  response.assignSocket(connection as never);
  const state = { asked: 0, left: false };
  const memory = new Uint8Array(1000);
  const pieces = async function* () {
    try {
      for (let i = 0; i < count; i++) {
        state.asked++;
        yield memory.fill(i);
      }
    } finally {
      state.left = true;
    }
  };
  const headers = { 'content-length': String(count * memory.length) };
  send(
    { request, response, method: 'GET', id: 'id', patience, route: '' },
    { status: 200, headers, stream: pieces() },
    (error) => {
      throw error;
    },
  );
  return { connection, response, state, lost };
}

test('a piece is requested once the system has taken the previous one', async () => {
  const { connection, response, state } = answering(20);
  const finished = once(response, 'finish');
  await settle();
  expect(state.asked).toBe(1);
  while (!response.writableFinished) {
    const { asked } = state;
    connection.takeOne();
    await settle();
    expect(state.asked - asked).toBeLessThanOrEqual(1);
  }
  await finished;
  const body = Buffer.concat(connection.taken).subarray(-20_000);
  expect(body).toEqual(Buffer.concat(Array.from({ length: 20 }, (_, i) => Buffer.alloc(1000, i))));
});

test('a client that leaves while it reads nothing ends the stream', async () => {
  const { connection, response, state } = answering(20);
  await settle();
  expect(connection.isWaiting).toBe(true);
  response.destroy();
  await settle();
  expect(state).toEqual({ asked: 1, left: true });
});

test('a client that takes nothing of an answer for too long is cut off', async () => {
  const clock = new ManualClock();
  const { connection, response, state, lost } = answering(20, clock);
  await clock.settle();
  connection.takeOne();
  await clock.advance(119_999);
  connection.takeOne();
  await clock.advance(119_999);
  expect(lost).toEqual([]);
  await clock.advance(1);
  expect(lost).toEqual(['answer']);
  expect(response.destroyed).toBe(true);
  await clock.settle();
  expect(state.left).toBe(true);
  expect(clock.running).toBe(0);
});

function unwritable(answer: Answer, failed: (error: unknown) => Answer) {
  const request = new IncomingMessage(new SlowConnection() as never);
  const response = new ServerResponse(request);
  const patience = { idleMs: 120_000, clock: systemClock(), over: () => {} };
  const errors: unknown[] = [];
  send({ request, response, method: 'GET', id: 'id', patience, route: '' }, answer, (error) => {
    errors.push(error);
    return failed(error);
  });
  return { response, errors };
}

test.each([
  ['JSON that has no text', { status: 200, headers: { etag: '"1"' }, json: { toJSON: () => never() } }],
  ['a header that no line may hold', { status: 200, headers: { etag: '"1"', location: 'a\nb' }, text: 'x' }],
])('%s becomes an error answer', (_what, answer) => {
  const { response, errors } = unwritable(answer, () => ({ status: 500, json: { code: 500 } }));
  expect(errors).toEqual([expect.any(Error)]);
  expect(response.statusCode).toBe(500);
  expect(response.getHeader('etag')).toBeUndefined();
  expect(response.writableEnded).toBe(true);
});

test.each([
  ['throws', never],
  ['cannot be written either', () => ({ status: 500, json: { toJSON: () => never() } })],
])('an error answer that %s ends the connection', (_what, failed) => {
  const { response, errors } = unwritable({ status: 200, json: { toJSON: () => never() } }, failed);
  expect(errors).toHaveLength(1);
  expect(response.destroyed).toBe(true);
});

function never(): never {
  throw new Error('no such text');
}
