/**
 * Removes the containers of a cluster when the process that owns it is gone: `node guard.ts [SWEEPS]`, with its
 * token in SVC_GUARD_TOKEN. Its standard input closes when that process ends, however it ends. Nothing is loaded before then.
 */
import { once } from 'node:events';

/** Containers that the owner was creating when it died appear a moment later. */
const SWEEPS = 3;
const SWEEP_PAUSE_MS = 1000;

await once(process.stdin.resume(), 'close');
const { setTimeout: sleep } = await import('node:timers/promises');
const { Engine } = await import('./engine/engine.ts');
const { removeAll } = await import('./removal.ts');
const token = process.env['SVC_GUARD_TOKEN'] ?? '';
const [sweeps = String(SWEEPS)] = process.argv.slice(2);
const engine = new Engine();
for (let sweep = 1; sweep <= Number(sweeps); sweep++) {
  if (sweep > 1) await sleep(SWEEP_PAUSE_MS);
  await removeAll(engine, token, 0);
}
