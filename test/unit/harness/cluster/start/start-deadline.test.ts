import { expect, test } from 'vitest';
import type { Clock } from '../../../../../formats/clock.ts';
import type { HarnessError } from '../../../../../harness/base/errors.ts';
import type { StartContext } from '../../../../../harness/cluster/start/start-context.ts';
import { startDeadline } from '../../../../../harness/cluster/start/start-deadline.ts';
import { ManualClock } from '../../../protocols/manual-clock.ts';

const clock = new ManualClock();

const deadlineOf = (timeoutMs: number | undefined, on: Pick<Clock, 'timer' | 'monotonic'> = clock) =>
  startDeadline({ clock: on, timeoutMs, onProgress: () => undefined } as unknown as StartContext);

test('a start that takes too long says which steps were under way, and what was missing', async () => {
  const { signal, onProgress } = deadlineOf(90_000);
  onProgress({ step: 'chain', done: true, detail: 'anvil' });
  onProgress({ step: 'nodes', done: false, detail: '2 of 3 ready', missing: 'waiting for node-1' });
  onProgress({ step: 'postage', done: false, detail: '0 of 3 batches usable' });
  await clock.advance(89_999);
  expect(signal.aborted).toBe(false);
  await clock.advance(1);
  const reason = signal.reason as HarnessError;
  expect(reason.code).toBe('START_TIMEOUT');
  expect(reason.message).toBe(
    'the cluster has not started within 1 min 30 s: nodes: 2 of 3 ready, waiting for node-1; postage: 0 of 3 batches usable',
  );
  expect(reason.hint).toContain('--timeout');
});

test('time in which the command is stopped does not count', async () => {
  let stoppedMs = 0;
  const stoppable = {
    timer: (ms: number, wake: () => void) => clock.timer(ms, wake),
    monotonic: () => clock.monotonic() + stoppedMs,
  };
  const { signal } = deadlineOf(60_000, stoppable);
  await clock.advance(4999);
  stoppedMs = 3_600_000;
  await clock.advance(60_000);
  expect(signal.aborted).toBe(false);
  await clock.advance(1);
  expect(signal.aborted).toBe(true);
});

test('nothing expires without a limit, or once the start is over', async () => {
  const unlimited = deadlineOf(undefined);
  const over = deadlineOf(1000);
  over.end();
  await clock.advance(10_000_000);
  expect([unlimited, over].map(({ signal }) => signal.aborted)).toEqual([false, false]);
});
