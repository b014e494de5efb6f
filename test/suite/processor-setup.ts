/** Loaded before each test file; its time includes the start of the process. */

import { afterAll, expect } from 'vitest';
import { type Meter, noteProcessor, PROCESSOR_TIMES, processorMeter } from './processor.ts';

const into = process.env[PROCESSOR_TIMES];
/** Of a process that runs one file after the other. */
const METER = Symbol.for('svcnet.processorMeter');
const shared = globalThis as { [METER]?: { readonly meter: Meter; noted: number } };

// The first hook registered, so it runs last: clusters have stopped.
if (into !== undefined) {
  const measured = (shared[METER] ??= { meter: begun(into), noted: 0 });
  afterAll(() => {
    const { read, group } = measured.meter;
    const until = read();
    noteProcessor(into, expect.getState().testPath ?? '', { ms: until - measured.noted, group });
    measured.noted = until;
  });
}

function begun(into: string): Meter {
  const meter = processorMeter();
  // Whatever becomes of this process, its group is removed.
  if (meter.group !== undefined) noteProcessor(into, meter.group, { group: meter.group });
  return meter;
}
