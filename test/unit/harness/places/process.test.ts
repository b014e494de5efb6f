import { expect, test, vi } from 'vitest';
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

test('nodes of ours are not compiled for, or started with, an option of Node.js that breaks them', async () => {
  vi.stubEnv('NODE_OPTIONS', '--no-addons');
  const driver = new ProcessDriver({ linkFaults: false, tap: false, machineFaults: false } as DriverOptions);
  const compile = () => ({ file: 'node', args: [], env: {} });
  await expect(driver.prepare({ compile } as unknown as Flavour)).rejects.toMatchObject({
    code: 'PROCESS_FAILED',
    message: 'nodes cannot run with --no-addons, which NODE_OPTIONS sets',
  });
  await expect(driver.prepare({} as Flavour)).resolves.toBeUndefined();
});
