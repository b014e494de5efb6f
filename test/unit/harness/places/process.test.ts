import { expect, test } from 'vitest';
import type { Flavour, NodePlan } from '../../../../harness/flavours/flavour.ts';
import { isTampered, writeFault, writeTampered } from '../../../../harness/flavours/tampered/settings.ts';
import type { DriverOptions } from '../../../../harness/places/driver.ts';
import { ProcessDriver } from '../../../../harness/places/process.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';

test('a program that is not tampered with takes over nothing of one that was', async () => {
  const dataDir = temporaryFolder('svcnet-process');
  const driver = new ProcessDriver({ linkFaults: false, tap: false } as DriverOptions);
  const flavour = { files: () => Promise.resolve([]) } as unknown as Flavour;
  const tampered = { behaviours: [] };
  writeTampered(dataDir, tampered);
  writeFault(dataDir, 'key', { layer: 'disk', what: 'full' });
  await driver.create({ dataDir, tampered } as unknown as NodePlan, flavour);
  expect(isTampered(dataDir)).toBe(true);
  await driver.create({ dataDir } as NodePlan, flavour);
  expect(isTampered(dataDir)).toBe(false);
});
