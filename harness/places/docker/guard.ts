/**
 * Removes a cluster's containers when their owner is gone: `node guard.ts [SWEEPS]`, token in SVC_GUARD_TOKEN. Standard
 * input closes when the owner ends.
 */
import { once } from 'node:events';

/** Containers being created when the owner died appear later. */
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
