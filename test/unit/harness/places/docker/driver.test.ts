import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MACHINE_CLOCK } from '../../../../../harness/base/machine/clock.ts';
import { DockerDriver } from '../../../../../harness/places/docker/driver.ts';

test('gathering logs of a cluster that has been removed does not bring its folder back', async () => {
  const folder = join(tmpdir(), `svcnet-gone-${process.pid}`);
  const driver = new DockerDriver({
    clock: MACHINE_CLOCK,
    token: 'x',
    name: 'net',
    folder,
    listen: '127.0.0.1',
    stopWithParent: false,
    linkFaults: false,
  });
  await driver.gatherLogs();
  expect(existsSync(folder)).toBe(false);
});
