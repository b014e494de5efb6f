import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { systemClock } from '../../../formats/clock.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { openLmdbStore, ownerOf } from '../../../node/store/lmdb-store.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const MAIN = join(import.meta.dirname, '../../../node/main.ts');
const deps = { clock: systemClock(), log: silentLogger(), overlay: new Uint8Array(32).fill(5) };
const chunk = makeCac(4n, Buffer.from('test'));

let folder = '';
beforeEach(() => void (folder = temporaryFolder('svc-db')));

const open = (node: string) =>
  openLmdbStore({ path: join(folder, node, 'store'), cacheCapacity: 9, reserveCapacity: 9, radius: 0 }, deps);

async function db(...args: readonly string[]): Promise<{ code: unknown; output: string }> {
  const child = spawn(process.execPath, [MAIN, 'db', ...args]);
  child.stdin.end();
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (output += String(part)));
  const [code] = (await once(child, 'close')) as [number];
  return { code, output };
}

test('check, compact, export and import need no password, and import with one makes the store of an empty folder', async () => {
  const store = await open('a');
  store.cache.put(chunk);
  await store.close();
  const [a, b, archive] = [join(folder, 'a'), join(folder, 'b'), join(folder, 'chunks.tar')];
  expect(await db('check', '--data-dir', a)).toMatchObject({
    code: 0,
    output: expect.stringMatching(/^slots: 1 checked, 0 wrong\n[^]*the store is whole\n$/m),
  });
  expect(await db('compact', '--data-dir', a)).toMatchObject({
    code: 0,
    output: expect.stringMatching(/^0 chunks moved\nslots: \d+ → \d+ bytes\nindex: \d+ → \d+ bytes\n$/),
  });
  expect(await db('export', archive, '--data-dir', a)).toEqual({
    code: 0,
    output: '1 chunks, 0 stamps and 0 pins exported\n',
  });
  expect((await db('import', archive, '--data-dir', a)).output).toMatch(
    /^1 chunks read: 0 stored, 1 were there/,
  );
  expect(await db('import', archive, '--data-dir', b)).toMatchObject({
    code: 2,
    output: expect.stringContaining('--password or --password-file is required'),
  });
  expect(await db('import', archive, '--data-dir', b, '--password', 'x')).toMatchObject({ code: 0 });
  expect(existsSync(join(b, 'keys', 'swarm.key'))).toBe(true);
  expect(await db('check', '--data-dir', b)).toMatchObject({ code: 0 });
  const overlay = ownerOf(join(b, 'store'))!;
  const again = await openLmdbStore(
    { path: join(b, 'store'), cacheCapacity: 9, reserveCapacity: 9, radius: 0 },
    { ...deps, overlay },
  );
  expect(again.chunks.get(chunk.address)).toEqual(chunk);
  await again.close();
});

test('a damaged store gives exit code 1 and names the chunk', async () => {
  const store = await open('a');
  store.cache.put(chunk);
  await store.close();
  const file = join(folder, 'a', 'store', 'chunks.slots');
  const bytes = readFileSync(file);
  bytes[bytes.length - 1]! ^= 1;
  writeFileSync(file, bytes);
  const { code, output } = await db('check', '--data-dir', join(folder, 'a'));
  expect(code).toBe(1);
  expect(output).toContain(
    `slots: 1 checked, 1 wrong: ${Buffer.from(chunk.address).toString('hex')}: slot 0`,
  );
  expect(output).toContain('the store is damaged: 1 faults\n');
});

test('a store in use is refused with the process; an unknown command and a missing folder say what was expected', async () => {
  const store = await open('a');
  const inUse = `is used by process ${process.pid}: `;
  const [dataDir, archive] = [join(folder, 'a'), join(folder, 'chunks.tar')];
  for (const command of [['check'], ['compact'], ['export', archive], ['import', '-']])
    expect(await db(...command, '--data-dir', dataDir)).toMatchObject({
      code: 1,
      output: expect.stringContaining(inUse),
    });
  expect(existsSync(archive)).toBe(false);
  await store.close();
  expect(await db('repair')).toMatchObject({ code: 2, output: expect.stringContaining("got 'repair'") });
  expect(await db('export', '--data-dir', dataDir)).toMatchObject({ code: 2 });
  expect(await db('check', '--swap-endpoint', 'http://127.0.0.1:1')).toMatchObject({
    code: 2,
    output: expect.stringContaining('--swap-endpoint is not an option of this command'),
  });
  expect(await db('import', archive, '--data-dir', join(folder, 'none'), '--password', 'x')).toMatchObject({
    code: 1,
    output: expect.stringContaining(`'${archive}'`),
  });
  expect(existsSync(join(folder, 'none'))).toBe(false);
  expect(await db('check', '--data-dir', join(folder, 'none'))).toMatchObject({
    code: 1,
    output: expect.stringContaining('no store in'),
  });
});
