import { expect, test } from 'vitest';
import { createMetrics } from '../../../node/env/metrics.ts';
import { createWarmUp } from '../../../node/neighbourhood/warmup.ts';
import { ManualClock } from '../protocols/manual-clock.ts';

function warmUp(timeMs = 300_000) {
  const clock = new ManualClock();
  const metrics = createMetrics({ prefix: 'svc' });
  const warming = createWarmUp({ timeMs }, { clock, metrics });
  let ends = 0;
  warming.onOver(() => ends++);
  /** Of two seconds, each with so many new peers. */
  const periods = async (...arrivals: number[]) => {
    for (const count of arrivals) {
      for (let i = 0; i < count; i++) warming.connected();
      await clock.advance(2000);
    }
  };
  return { clock, metrics, warming, periods, ends: () => ends };
}

test('a node that never has a peer warms up for ever', async () => {
  const { clock, warming, ends } = warmUp(1000);
  await clock.advance(86_400_000);
  expect(warming.isOver()).toBe(false);
  expect(ends()).toBe(0);
});

test('the warm-up is over when its time has passed since the first peer', async () => {
  const { clock, warming, metrics, ends } = warmUp(300_000);
  await clock.advance(50_000);
  warming.connected();
  await clock.advance(299_999);
  expect(warming.isOver()).toBe(false);
  await clock.advance(1);
  expect(warming.isOver()).toBe(true);
  expect(ends()).toBe(1);
  expect(await metrics.expose()).toContain('svc_init_warmup_duration_seconds_sum 350');
});

test('a warm-up of zero length is over with the first peer', () => {
  const { warming, ends } = warmUp(0);
  expect(warming.isOver()).toBe(false);
  warming.connected();
  expect(warming.isOver()).toBe(true);
  expect(ends()).toBe(1);
});

test('it is over after seven periods when the last five brought about equally many peers', async () => {
  const { warming, periods } = warmUp();
  await periods(30, 20, 1, 2, 0, 1, 1);
  expect(warming.isOver()).toBe(false);
  warming.connected();
  expect(warming.isOver()).toBe(true);
});

test('the rate is checked only when a peer arrives', async () => {
  const { clock, warming, periods } = warmUp();
  await periods(3);
  await clock.advance(100_000);
  expect(warming.isOver()).toBe(false);
  warming.connected();
  expect(warming.isOver()).toBe(true);
});

test('six periods are not enough', async () => {
  const { warming, periods } = warmUp();
  await periods(1, 1, 1, 1, 1, 1);
  warming.connected();
  expect(warming.isOver()).toBe(false);
});

test.each([
  // Sample standard deviation of 0, 0, 0, 0, 6: 2.68.
  [[1, 1, 0, 0, 0, 0, 6], true],
  // Of 0, 0, 0, 0, 7: 3.13.
  [[1, 1, 0, 0, 0, 0, 7], false],
] as const)('the arrivals %j per period end it: %s', async (arrivals, over) => {
  const { warming, periods } = warmUp();
  await periods(...arrivals);
  warming.connected();
  expect(warming.isOver()).toBe(over);
});

test('a caller that asks after the end is answered at once', () => {
  const { warming } = warmUp(0);
  warming.connected();
  let told = false;
  warming.onOver(() => {
    told = true;
  });
  expect(told).toBe(true);
});

test('a stopped warm-up never ends', async () => {
  const { clock, warming, ends } = warmUp(1000);
  warming.connected();
  warming.stop();
  await clock.advance(2000);
  warming.connected();
  expect(warming.isOver()).toBe(false);
  expect(ends()).toBe(0);
});
