import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { MACHINE_CLOCK } from '../../../harness/base/machine/clock.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { startChain } from '../../../harness/cluster/start/chain-start.ts';
import { ProcessDriver } from '../../../harness/places/process.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { CLI } from '../svcnet.ts';

const folder = temporaryFolder('svcnet-disk');

test('a chain whose log is on a full disk reports that, not only that it ended', async () => {
  const chain = startChain({
    clock: MACHINE_CLOCK,
    driver: new ProcessDriver({
      clock: MACHINE_CLOCK,
      stopWithParent: true,
      linkFaults: false,
      tap: false,
      machineFaults: false,
      listen: '127.0.0.1',
      compileCache: () => join(folder, 'cache'),
      token: 'disk',
    }),
    options: {
      engine: 'anvil',
      host: '127.0.0.1',
      port: 0,
      controlHost: '127.0.0.1',
      allowedHosts: [],
      origins: [],
      chainId: 31_337,
      networkId: 1,
      storagePrice: 24_000,
      blockTimeMs: 1000,
      steady: false,
      gate: false,
      accounts: [],
      batches: [],
      chequebooks: [],
    },
    token: 'disk',
    optionsFile: join(folder, 'options.json'),
    // The device that is always full.
    log: '/dev/full',
    stopWithParent: true,
    onStarted: () => undefined,
  });
  await expect(chain).rejects.toMatchObject({
    code: 'CANNOT_WRITE',
    message: 'cannot write to /dev: disk full (ENOSPC); choose another with SVCNET_STATE',
  });
});

test('an impossible state folder is named', async () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const stateDir = join(file, 'state');
  await expect(Cluster.start({ nodes: 1, stateDir })).rejects.toMatchObject({
    code: 'CANNOT_WRITE',
    message: `cannot write to ${stateDir}: a file is where a folder should be (ENOTDIR); choose another with SVCNET_STATE`,
  });
  expect(existsSync(stateDir)).toBe(false);
});

test('a command whose output cannot be written says so and ends with 2', async () => {
  // On any system; to a full disk it is the same.
  const unwritable = openSync(import.meta.filename, 'r');
  try {
    const child = spawn(process.execPath, [CLI, 'schema'], { stdio: ['ignore', unwritable, 'pipe'] });
    const [said, [code]] = await Promise.all([
      text(child.stderr as Readable),
      once(child, 'close') as Promise<[number | null]>,
    ]);
    expect({ code, said }).toEqual({
      code: 2,
      said: expect.stringMatching(/^error: cannot write to standard output: EBADF/) as string,
    });
    const mute = spawn(process.execPath, [CLI, 'schema'], { stdio: ['ignore', unwritable, unwritable] });
    expect(await once(mute, 'close')).toEqual([2, null]);
  } finally {
    closeSync(unwritable);
  }
});
