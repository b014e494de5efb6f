/**
 * Removes the containers of a cluster when the process that owns it is gone: `node guard.ts TOKEN`. Its
 * standard input closes when that process ends, however it ends. Nothing is loaded before then.
 */
import { once } from 'node:events';

/** Containers that the owner was creating when it died appear a moment later. */
const LOOKS = 3;
const LOOK_PAUSE_MS = 1000;

await once(process.stdin.resume(), 'close');
const { setTimeout: sleep } = await import('node:timers/promises');
const { Engine } = await import('./engine/engine.ts');
const { removeAll } = await import('./removal.ts');
const [token = '', looks = String(LOOKS)] = process.argv.slice(2);
const engine = new Engine();
for (let look = 1; look <= Number(looks); look++) {
  if (look > 1) await sleep(LOOK_PAUSE_MS);
  await removeAll(engine, token, 0);
}
