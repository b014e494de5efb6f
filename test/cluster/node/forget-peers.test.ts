import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../formats/clock.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { ADDRESS_BOOK } from '../../../node/p2p/address/address-book.ts';
import { openLmdbStore } from '../../../node/store/lmdb-store.ts';
import type { LocalStore } from '../../../node/store/ports.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const MAIN = join(import.meta.dirname, '../../../node/main.ts');
const deps = { clock: systemClock(), log: silentLogger(), overlay: new Uint8Array(32) };

let folder = '';
beforeEach(() => void (folder = temporaryFolder('svc-forget')));

async function withStore<T>(node: string, work: (store: LocalStore) => Promise<T>): Promise<T> {
  const path = join(folder, node, 'store');
  const store = await openLmdbStore({ path, cacheCapacity: 1, reserveCapacity: 1, radius: 0 }, deps);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

async function forgetPeers(...args: readonly string[]): Promise<{ code: unknown; output: string }> {
  const child = spawn(process.execPath, [MAIN, 'forget-peers', ...args]);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (output += String(part)));
  const [code] = (await once(child, 'close')) as [number];
  return { code, output };
}

const peersOf = (node: string) =>
  withStore(node, (store) => Promise.resolve([...store.state(ADDRESS_BOOK).entries('')].length));

test('removes only the addresses of peers, and refuses a node that is in use or was killed', async () => {
  const nodes = ['node-0', 'node-1', 'node-2'];
  for (const node of nodes) {
    await withStore(node, async (store) => {
      await store.state(ADDRESS_BOOK).put('peer-a', Uint8Array.of(1));
      await store.state('batches').put('a', Uint8Array.of(2));
    });
  }
  const lock = join(folder, 'node-1', 'store', 'lock');
  writeFileSync(lock, '1 of another container');
  const dataDirs = [...nodes, 'never-started'].map((node) => join(folder, node));
  const { code, output } = await forgetPeers(...dataDirs);
  expect(code).toBe(0);
  expect(output).toBe(`${join(folder, 'node-1')} skipped: its node is running, or was killed\n`);
  rmSync(lock);
  expect(await Promise.all(nodes.map(peersOf))).toEqual([0, 1, 0]);
  expect(await withStore('node-0', (store) => Promise.resolve(store.state('batches').get('a')))).toEqual(
    Uint8Array.of(2),
  );
});

test('needs at least one folder', async () => {
  expect(await forgetPeers()).toEqual({
    code: 2,
    output: 'svc: forget-peers: expected the data directories of stopped nodes\n',
  });
});
