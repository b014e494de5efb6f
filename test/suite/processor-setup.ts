/** Loaded before each test file: notes its processor time when it has ended, the start of its process included. */

import { afterAll, expect } from 'vitest';
import { noteProcessor, PROCESSOR_TIMES, processorMs } from './processor.ts';

const into = process.env[PROCESSOR_TIMES];
/** Of a process that runs one file after the other: what the files before took. */
const NOTED = Symbol.for('svcnet.processorMs');
const noted = globalThis as { [NOTED]?: number };

// First of all hooks to be registered, so the last to run: clusters of the file have stopped.
if (into !== undefined)
  afterAll(() => {
    const until = processorMs();
    noteProcessor(into, expect.getState().testPath ?? '', until - (noted[NOTED] ?? 0));
    noted[NOTED] = until;
  });
