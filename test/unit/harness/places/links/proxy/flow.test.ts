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

/** An open flow, and what has passed through it at which time. */
function flowing(at: Direction) {
  const passed: string[] = [];
  const source = Object.assign(new EventEmitter(), {
    destroyed: false,
    isPaused: () => false,
    pause: () => undefined,
  });
  const note = (what: string) => passed.push(`${performance.now()} ${what}`);
  const sink = Object.assign(new EventEmitter(), {
    writable: true,
    write: (bytes: Buffer) => note(`${bytes.length} bytes`) > 0,
    end: () => void note('end'),
  });
  const events = { onEnded: () => undefined, onBroken: () => undefined, onPassing: (bytes: number) => bytes };
  const deps = { line: new Line('1'), direction: at, budget: { queued: 0 }, events };
  const flow = new Flow(source as unknown as Socket, sink as unknown as Socket, deps);
  flow.open();
  return { flow, source, passed };
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
