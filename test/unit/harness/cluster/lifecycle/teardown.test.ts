import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { tearDown } from '../../../../../harness/cluster/lifecycle/teardown.ts';
import { clusterFolder } from '../../../../../harness/cluster/state/state.ts';
import type { Driver } from '../../../../../harness/places/driver.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';
import { claimed } from '../state/claimed.ts';

test('a cluster ends although nothing can be written into its folder', async () => {
  const stateDir = temporaryFolder('svcnet-teardown');
  const record = await claimed(stateDir, 'one');
  const { path } = clusterFolder(stateDir, 'one');
  // The system refuses to replace it with a file.
  mkdirSync(join(path, `ending-${process.pid}.json`));
  const dispose = vi.fn<Driver['dispose']>().mockResolvedValue({ stopped: [], forced: [] });
  await tearDown(stateDir, record, { dispose } as unknown as Driver);
  expect(dispose).toHaveBeenCalledOnce();
  expect(existsSync(path)).toBe(false);
});
