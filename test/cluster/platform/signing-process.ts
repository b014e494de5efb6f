/** The process ends as its argument names while its worker threads sign, or load their code. */
import { setTimeout as pause } from 'node:timers/promises';
import { silentLogger } from '../../../node/env/logger.ts';
import { createWorkerThreads } from '../../../node/platform/workers/worker-threads.ts';
import { ManualClock } from '../../unit/protocols/manual-clock.ts';

/** Half a second of work for two threads. */
const SIGNATURES = 20_000;

const [, , how = ''] = process.argv;
const clock = new ManualClock();
const workers = createWorkerThreads(
  { threads: 2, privateKey: new Uint8Array(32).fill(5) },
  { clock, log: silentLogger() },
);
workers.offer(100_000);
// After this time threads pay, and start.
await clock.advance(600);
workers.offer(100_000);
// Nothing tells when they are in native code: the process must end well at any time.
if (how.endsWith('loading')) await pause(20 + Math.random() * 40);
else {
  while (!workers.offer(1000)) await pause(5);
  for (let i = 0; i < SIGNATURES; i++) {
    void workers.sign(new Uint8Array(32).fill(i));
    if (i % 500 === 0) await pause(0);
  }
}
if (how.startsWith('stop')) await workers.stop();
else if (how === 'throw') throw new Error('the test ends the process');
else process.exit(3);
