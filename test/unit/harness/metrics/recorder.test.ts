import { expect, test } from 'vitest';
import { createRecorder } from '../../../../harness/metrics/recorder.ts';
import { VirtualClock } from '../../onchain/virtual-clock.ts';

test('the latency of an operation that began late counts from its intended start', async () => {
  const clock = new VirtualClock();
  const recorder = createRecorder(clock, () => 'unknown');
  const key = { operation: 'upload', node: 'node-0' };
  const intendedMs = clock.monotonic();
  await clock.sleep(300);
  await recorder.measure(
    key,
    () => clock.sleep(200),
    () => 1,
    intendedMs,
  );
  expect(recorder.summaries()[0]).toMatchObject({ count: 1, maxMs: 500, wallMs: 500 });
});
