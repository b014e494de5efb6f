import { beforeEach, expect, test } from 'vitest';
import { Subscriptions } from '../../../node/pss/subscriptions.ts';

const message = Uint8Array.of(1);
let nowMs: number;
let all: Subscriptions;
beforeEach(() => {
  nowMs = 0;
  all = new Subscriptions({ monotonic: () => nowMs });
});

function listen(key: string): { heard: Uint8Array[]; end: () => void } {
  const heard: Uint8Array[] = [];
  return { heard, end: all.add(key, (bytes) => void heard.push(bytes)) };
}

test('every subscriber of a key receives its messages, and no other', () => {
  const [one, two, other] = [listen('a'), listen('a'), listen('b')];
  all.publish('a', 'id', message);
  expect([one.heard, two.heard, other.heard]).toEqual([[message], [message], []]);
});

test('a message is received only once, even by a later subscriber', () => {
  const first = listen('a');
  all.publish('a', 'id', message);
  expect(all.awaits('id')).toBe(false);
  const second = listen('a');
  expect(all.awaits('id')).toBe(true);
  all.publish('a', 'id', message);
  all.publish('a', 'id', message);
  expect([first.heard.length, second.heard.length]).toEqual([1, 1]);
});

test('after five minutes it counts as new again', () => {
  const { heard } = listen('a');
  all.publish('a', 'id', message);
  nowMs = 299_999;
  expect(all.awaits('id')).toBe(false);
  nowMs = 300_000;
  expect(all.awaits('id')).toBe(true);
  all.publish('a', 'id', message);
  expect(heard).toHaveLength(2);
});

test('4096 messages are remembered', () => {
  const { heard } = listen('a');
  for (let n = 0; n < 4097; n++) all.publish('a', `id ${n}`, message);
  all.publish('a', 'id 1', message);
  expect(heard).toHaveLength(4097);
  all.publish('a', 'id 0', message);
  expect(heard).toHaveLength(4098);
});

test('an ended subscription receives nothing, and the key is removed with the last one', () => {
  const [one, two] = [listen('a'), listen('a')];
  one.end();
  one.end();
  expect(all.has('a')).toBe(true);
  all.publish('a', 'id', message);
  expect([one.heard.length, two.heard.length]).toEqual([0, 1]);
  two.end();
  expect([...all.keys()]).toEqual([]);
  expect(all.awaits('new')).toBe(false);
});

test('there is room for 1024', () => {
  const { end } = listen('a');
  for (let n = 1; n < 1024; n++) listen(`key ${n}`);
  expect(() => listen('one more')).toThrow(expect.objectContaining({ code: 'TOO_MANY_SUBSCRIPTIONS' }));
  end();
  expect(listen('one more').heard).toEqual([]);
});

test('512 messages are held', () => {
  for (let n = 0; n < 513; n++) all.hold(`key ${n}`, `id ${n}`, message);
  expect([0, 1, 512].map((n) => listen(`key ${n}`).heard.length)).toEqual([0, 1, 1]);
});
