import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { drain, requestBody } from '../../../../node/api/exchange/request-body.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';

const IDLE_MS = 120_000;

/** The test sends its body. */
function requestOf(length = 1000) {
  const clock = new ManualClock();
  const raw = new IncomingMessage(new Socket());
  raw.headers['content-length'] = String(length);
  const lost: string[] = [];
  const patience = { idleMs: IDLE_MS, clock, over: (what: string) => void lost.push(what) };
  return { clock, raw, lost, patience };
}

test('a client that sends a byte now and then is waited for', async () => {
  const { clock, raw, lost, patience } = requestOf();
  const read = requestBody(raw, 1000, patience).read();
  for (let i = 0; i < 20; i++) {
    await clock.advance(IDLE_MS - 1);
    raw.push(Buffer.of(i));
  }
  raw.push(null);
  expect(Array.from(await read)).toEqual(Array.from({ length: 20 }, (_, i) => i));
  expect(lost).toEqual([]);
  expect(clock.running).toBe(0);
});

test('a client that stops sending ends the reading', async () => {
  const { clock, raw, lost, patience } = requestOf();
  const read = requestBody(raw, 1000, patience).read();
  const failure = expect(read).rejects.toMatchObject({ code: 'BODY_IDLE' });
  raw.push(Buffer.of(1));
  await clock.advance(IDLE_MS);
  await failure;
  expect(lost).toEqual(['body']);
});

test('the time that the node itself takes does not count', async () => {
  const { clock, raw, lost, patience } = requestOf();
  const parts = requestBody(raw, undefined, patience).stream()[Symbol.asyncIterator]();
  raw.push(Buffer.of(1));
  expect((await parts.next()).value).toEqual(Buffer.of(1));
  await clock.advance(10 * IDLE_MS);
  raw.push(Buffer.of(2));
  expect((await parts.next()).value).toEqual(Buffer.of(2));
  expect(lost).toEqual([]);
});

test('a discarded body is waited for just as long, and no longer', async () => {
  const { clock, raw, lost, patience } = requestOf();
  raw.on('error', () => undefined);
  drain(raw, patience);
  for (let i = 0; i < 3; i++) {
    await clock.advance(IDLE_MS - 1);
    raw.push(Buffer.of(i));
    await clock.settle();
  }
  expect(raw.destroyed).toBe(false);
  await clock.advance(IDLE_MS);
  expect([raw.destroyed, lost]).toEqual([true, ['body']]);
  await clock.settle();
  expect(clock.running).toBe(0);
});

test('a body that is discarded to its end leaves no timer', async () => {
  const { clock, raw, patience } = requestOf();
  drain(raw, patience);
  raw.push(Buffer.of(1));
  raw.push(null);
  await clock.settle();
  expect(clock.running).toBe(0);
});
