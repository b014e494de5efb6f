import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { claimPort, isClaimed } from '../../../../../harness/base/machine/port-claims.ts';
import { pickFreePorts } from '../../../../../harness/base/machine/ports.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

const PORT = 20_123;
let home: string;
let claims: string;
let keeper: string;
let other: string;
beforeEach(() => {
  home = temporaryFolder('svcnet-claims');
  vi.stubEnv('TMPDIR', home);
  vi.stubEnv('XDG_RUNTIME_DIR', '');
  claims = join(home, `svcnet-ports-${process.getuid?.() ?? 'own'}`);
  keeper = join(home, 'keeper');
  other = join(home, 'other');
  for (const path of [keeper, other]) writeFileSync(path, '');
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const isTaken = () => claimPort(PORT, keeper) && isClaimed(PORT) && !claimPort(PORT, other);

test('claims are in the folder that the system gives the user, where there is one', () => {
  vi.stubEnv('XDG_RUNTIME_DIR', join(home, 'runtime'));
  mkdirSync(join(home, 'runtime'));
  expect(isTaken()).toBe(true);
  expect([readdirSync(join(home, 'runtime', 'svcnet-ports')), existsSync(claims)]).toEqual([
    [String(PORT)],
    false,
  ]);
});

test('otherwise in a folder of the temporary one that only the user can read', () => {
  expect(isTaken()).toBe(true);
  expect(statSync(claims).mode & 0o777).toBe(0o700);
});

test.each<[string, () => void]>([
  [
    'belongs to another user',
    () => vi.spyOn(process, 'getuid').mockReturnValue((process.getuid?.() ?? 0) + 1),
  ],
  ['others may write to', () => chmodSync(claims, 0o777)],
  [
    'is a link',
    () => {
      rmSync(claims, { recursive: true });
      symlinkSync(home, claims);
    },
  ],
  [
    'is a file',
    () => {
      rmSync(claims, { recursive: true });
      writeFileSync(claims, '');
    },
  ],
])('a folder that %s is not used, and ports are picked without claims', async (_what, change) => {
  mkdirSync(claims, { mode: 0o700 });
  const own = process.getuid?.() ?? 'own';
  change();
  // The name has the user's number.
  if (process.getuid?.() !== own) mkdirSync(join(home, `svcnet-ports-${process.getuid?.()}`));
  expect([claimPort(PORT, keeper), claimPort(PORT, other), isClaimed(PORT)]).toEqual([true, true, false]);
  expect(await pickFreePorts(2, { keeper })).toHaveLength(2);
});

test('where no folder can be made, ports are picked without claims', async () => {
  vi.stubEnv('TMPDIR', join(home, 'gone'));
  expect([claimPort(PORT, keeper), isClaimed(PORT)]).toEqual([true, false]);
  expect(await pickFreePorts(2, { keeper })).toHaveLength(2);
});

test('what is no regular file is no claim, and a pipe is not waited for', () => {
  mkdirSync(claims, { mode: 0o700 });
  const claim = join(claims, String(PORT));
  for (const lay of [
    () => spawnSync('sh', ['-c', 'mkfifo "$0"', claim]),
    () => symlinkSync(other, claim),
    () => mkdirSync(claim),
    () => writeFileSync(claim, 'x'.repeat(5000)),
  ]) {
    lay();
    expect(isClaimed(PORT)).toBe(false);
    expect(isTaken()).toBe(true);
    rmSync(claim);
  }
});

test('claims of clusters that are gone are removed by the first claim of a process', () => {
  mkdirSync(claims, { mode: 0o700 });
  writeFileSync(join(claims, '1'), join(home, 'gone'));
  writeFileSync(join(claims, '2'), other);
  expect(claimPort(PORT, keeper)).toBe(true);
  expect(readdirSync(claims).toSorted()).toEqual(['2', String(PORT)]);
});
