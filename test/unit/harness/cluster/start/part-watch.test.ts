import { expect, onTestFinished, test } from 'vitest';
import { HarnessError } from '../../../../../harness/base/errors.ts';
import { until } from '../../../../../harness/base/wait.ts';
import { PartWatch } from '../../../../../harness/cluster/start/part-watch.ts';
import { ManualClock } from '../../../protocols/manual-clock.ts';

const DIED = new HarnessError('PROCESS_FAILED', 'node-1 has ended (SIGKILL)');

function watch(clock = new ManualClock()): PartWatch {
  const parts = new PartWatch(clock);
  onTestFinished(() => parts.end());
  return parts;
}

test('a part that ends ends what is waited for, with its own reason', async () => {
  const clock = new ManualClock();
  const parts = watch(clock);
  let died: HarnessError | undefined;
  parts.add(() => Promise.resolve(undefined));
  parts.add(() => Promise.reject(new HarnessError('ENGINE_FAILED', 'the engine is busy')));
  parts.add(() => Promise.resolve(died));
  const waiting = until(
    'the nodes are not meshed',
    async () => {
      died = DIED;
      return { missing: 'node-1: connect ECONNREFUSED' };
    },
    { clock, timeoutMs: 60_000, signal: parts.signal },
  );
  const refused = expect(waiting).rejects.toBe(DIED);
  await clock.advance(1000);
  await refused;
});

test('an error in the meantime may be a consequence: the reason is looked for', async () => {
  const parts = watch();
  expect(await parts.reason()).toBeUndefined();
  parts.add(() => Promise.resolve(DIED));
  expect(await parts.reason()).toBe(DIED);
});

test('a part that is forgotten may end, even while it is looked at', async () => {
  const parts = watch();
  const seen = Promise.withResolvers<HarnessError>();
  const part = parts.add(() => seen.promise);
  const looking = parts.reason();
  part[Symbol.dispose]();
  seen.resolve(DIED);
  expect(await looking).toBeUndefined();
  expect(await parts.reason()).toBeUndefined();
});
