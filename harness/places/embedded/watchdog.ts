/** A thread reports when a holder computes without pause. It cannot tell which node is to blame, or stop it. */
import inspector from 'node:inspector';
import { setInterval } from 'node:timers';
import { Worker } from 'node:worker_threads';

const BEAT_MS = 250;
/** Processor time, so that a busy machine counts for nothing: longer than any pause of garbage collection. */
const SILENCE_MS = 5000;

/** Runs in the thread: writes to standard error once for each silence. */
const PROGRAM = `
  const { workerData } = require('node:worker_threads');
  const { writeSync } = require('node:fs');
  const beats = new Int32Array(workerData.beats);
  const computed = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
  let last = -1, silentMs = 0, warned = false, before = { at: performance.now(), ms: computed() };
  setInterval(() => {
    const now = Atomics.load(beats, 0);
    const seen = { at: performance.now(), ms: computed() };
    // Other threads compute too.
    const more = Math.min(seen.ms - before.ms, seen.at - before.at);
    before = seen;
    if (now !== last) { last = now; silentMs = 0; warned = false; return; }
    silentMs += more;
    if (silentMs < workerData.silenceMs || warned || Atomics.load(beats, 1) === 1) return;
    warned = true;
    writeSync(2, workerData.text + '\\n');
  }, workerData.checkMs);
`;

export function watchLoop(cluster: string, silenceMs: number = SILENCE_MS): Disposable {
  const beats = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  const text =
    `svcnet: process ${process.pid}, which holds the nodes of cluster '${cluster}', has computed for ` +
    `${silenceMs / 1000} s without a pause: a node or the code beside it is in a loop, and no node answers until it ends`;
  const checkMs = Math.min(BEAT_MS * 2, silenceMs);
  const worker = new Worker(PROGRAM, {
    eval: true,
    // The thread must not preload the caller's modules.
    execArgv: [],
    workerData: { beats: beats.buffer, checkMs, silenceMs, text },
    stdout: false,
    stderr: false,
  });
  worker.unref();
  // The nodes run without the thread too.
  worker.on('error', () => undefined);
  const beat = setInterval(() => {
    Atomics.add(beats, 0, 1);
    // A pause in the debugger is not a loop.
    Atomics.store(beats, 1, inspector.url() === undefined ? 0 : 1);
  }, BEAT_MS).unref();
  return {
    [Symbol.dispose]() {
      clearInterval(beat);
      void worker.terminate();
    },
  };
}
