/** A process that ends in the way that its argument names while its worker threads sign. */
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../../../node/env/clock.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createWorkerThreads } from '../../../node/platform/workers/worker-threads.ts';

/** Half a second of work for two threads. */
const SIGNATURES = 20_000;

const workers = createWorkerThreads(
  { threads: 2, privateKey: new Uint8Array(32).fill(5) },
  { clock: systemClock(), log: silentLogger() },
);
while (!workers.takes(1)) await pause(5);
for (let i = 0; i < SIGNATURES; i++) {
  void workers.sign(new Uint8Array(32).fill(i));
  if (i % 500 === 0) await Promise.resolve();
}
await pause(30);
if (process.argv[2] === 'stop') await workers.stop();
else if (process.argv[2] === 'throw') throw new Error('the test ends the process');
// A worker thread does not keep a process alive.
else process.exit(3);
