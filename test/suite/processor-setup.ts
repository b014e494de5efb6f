/** Loaded before each test file: notes its processor time when it has ended, the start of its process included. */

import { afterAll, expect } from 'vitest';
import { type Meter, noteProcessor, PROCESSOR_TIMES, processorMeter } from './processor.ts';

const into = process.env[PROCESSOR_TIMES];
/** Of a process that runs one file after the other: its meter, and what the files before took. */
const METER = Symbol.for('svcnet.processorMeter');
const shared = globalThis as { [METER]?: { readonly meter: Meter; noted: number } };

// First of all hooks to be registered, so the last to run: clusters of the file have stopped.
if (into !== undefined) {
  const measured = (shared[METER] ??= { meter: processorMeter(), noted: 0 });
  afterAll(() => {
    const { read, group } = measured.meter;
    const until = read();
    noteProcessor(into, expect.getState().testPath ?? '', { ms: until - measured.noted, group });
    measured.noted = until;
  });
}
