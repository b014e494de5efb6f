import { expect, test } from 'vitest';
import { endNodeFault } from '../../../harness/flavours/tampered/control.ts';
import { serveControl } from '../../../harness/flavours/tampered/serve.ts';
import { writeFault, writeTampered } from '../../../harness/flavours/tampered/settings.ts';
import { tamper } from '../../../harness/flavours/tampered/tamper.ts';
import type { NodeOptions } from '../../../node/options.ts';
import type { Platform } from '../../../node/platform/platform.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

test('a fault that is healed while its node starts is over', async () => {
  const dataDir = temporaryFolder('svcnet-tamper');
  const tampered = { behaviours: [] };
  writeTampered(dataDir, tampered);
  writeFault(dataDir, 'f1', { layer: 'clock', offsetMs: 60_000, driftPpm: 0, since: 0 });
  const base = { clock: { now: () => 5 } } as Platform;
  const starting = tamper(base, { dataDir, tampered, options: {} as NodeOptions, serve: serveControl });
  // The node has read its faults, and does not yet take requests.
  await endNodeFault(dataDir, 'f1');
  const { platform, [Symbol.asyncDispose]: stop } = await starting;
  expect(platform.clock.now()).toBe(5);
  await stop();
});
