import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { LinkConditions } from '../../../../../../harness/places/links/conditions.ts';
import { Line } from '../../../../../../harness/places/links/line.ts';
import { Flow } from '../../../../../../harness/places/links/proxy/flow.ts';
import { ActiveRule, Direction } from '../../../../../../harness/places/links/rules.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'], now: 0 }));
afterEach(() => void vi.useRealTimers());

function direction(...conditions: LinkConditions[]): Direction {
  const between = [[['node-0'], ['node-1']]] as const;
  return new Direction(
    conditions.map((one) => new ActiveRule({ between, oneWay: true, share: 1, seed: '1', conditions: one })),
  );
}

/** Notes what has passed, and when. */
function flowing(at: Direction, translate?: (bytes: Buffer) => Buffer, held?: () => number) {
  const passed: string[] = [];
  const state = { isPaused: false, isSlow: false, isBroken: false };
  const source = Object.assign(new EventEmitter(), {
    destroyed: false,
    isPaused: () => state.isPaused,
    pause: () => void (state.isPaused = true),
    resume: () => void (state.isPaused = false),
  });
  const note = (what: string) => passed.push(`${performance.now()} ${what}`);
  const sink = Object.assign(new EventEmitter(), {
    writable: true,
    write: (bytes: Buffer) => note(`${bytes.length} bytes`) > 0 && !state.isSlow,
    end: () => void note('end'),
  });
  const events = {
    onEnded: () => undefined,
    onBroken: () => void (state.isBroken = true),
    onPassing: (bytes: number) => bytes,
  };
  const deps = {
    line: new Line('1'),
    direction: at,
    budget: { queued: 0 },
    events,
    ...(translate === undefined ? {} : { translate }),
    ...(held === undefined ? {} : { held }),
  };
  const flow = new Flow(source as unknown as Socket, sink as unknown as Socket, deps);
  flow.open();
  return { flow, source, sink, passed, state };
}

test('an ended fault delays nothing any more, even while another one meets the link', () => {
  const latency: LinkConditions = { latencyMs: 10 };
  const { flow, source, passed } = flowing(direction(latency, { bytesPerSecond: 1000, slowCloseMs: 10_000 }));
  for (let n = 0; n < 64; n++) source.emit('data', Buffer.alloc(1000));
  vi.advanceTimersByTime(1500);
  expect(passed).toEqual(['1010 1000 bytes']);
  flow.become(direction(latency));
  source.emit('data', Buffer.alloc(7));
  source.emit('end');
  vi.advanceTimersByTime(10);
  expect(passed).toHaveLength(1 + 63 + 2);
  expect(passed.slice(-2)).toEqual(['1510 7 bytes', '1510 end']);
});

test('what has left a slow line does not take it up again when its conditions change', () => {
  const slow: LinkConditions = { latencyMs: 1000, bytesPerSecond: 1000 };
  const { flow, source, passed } = flowing(direction(slow));
  source.emit('data', Buffer.alloc(1000));
  vi.advanceTimersByTime(1000);
  flow.become(direction(slow, { slowCloseMs: 10 }));
  source.emit('data', Buffer.alloc(100));
  source.emit('end');
  vi.advanceTimersByTime(1110);
  expect(passed).toEqual(['2000 1000 bytes', '2100 100 bytes', '2110 end']);
});

test('a slow reader of what is translated on its way holds the writer', () => {
  const { flow, source, sink, passed, state } = flowing(direction(), (bytes) =>
    Buffer.concat([bytes, bytes]),
  );
  flow.read();
  state.isSlow = true;
  source.emit('data', Buffer.alloc(1000));
  expect(state.isPaused).toBe(true);
  expect(passed).toEqual(['0 2000 bytes']);
  state.isSlow = false;
  sink.emit('drain');
  expect(state.isPaused).toBe(false);
});

test('a writer waits while much of what it has written is kept, though some of it goes on', () => {
  let held = 0;
  const keeping = (bytes: Buffer) => {
    held += bytes.length - 12;
    return bytes.subarray(0, 12);
  };
  const { flow, source, passed, state } = flowing(direction(), keeping, () => held);
  flow.read();
  source.emit('data', Buffer.alloc(4 * 2 ** 20));
  expect(state.isPaused).toBe(false);
  source.emit('data', Buffer.alloc(1000));
  expect(state.isPaused).toBe(true);
  held = 0;
  flow.inject(Buffer.alloc(0));
  expect(state.isPaused).toBe(false);
  expect(passed).toEqual(['0 12 bytes', '0 12 bytes']);
});

test('what cannot be translated breaks the connection, and what has no translation yet is not sent', () => {
  const { source, passed, state } = flowing(direction(), (bytes) => {
    if (bytes.length > 1) throw new Error('it is broken');
    return Buffer.alloc(0);
  });
  source.emit('data', Buffer.alloc(1));
  expect([passed, state.isBroken]).toEqual([[], false]);
  source.emit('data', Buffer.alloc(2));
  expect([passed, state.isBroken]).toEqual([[], true]);
});
