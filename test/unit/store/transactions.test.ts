import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../formats/clock.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import type { Backend, Table } from '../../../node/store/backend.ts';
import { openLmdbStore, openOffline } from '../../../node/store/lmdb-store.ts';
import { END, START } from '../../../node/store/records.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { OVERLAY } from './stores.ts';

const folder = temporaryFolder('svcnet-transactions');
let backend: Backend;
beforeAll(async () => {
  const deps = { clock: systemClock(), log: silentLogger(), overlay: OVERLAY };
  await (
    await openLmdbStore({ path: folder, cacheCapacity: 1, reserveCapacity: 1, radius: 0 }, deps)
  ).close();
  backend = await openOffline(folder);
});
afterAll(() => backend.close());

const key = (name: string) => Buffer.from(name);
const value = (...bytes: number[]) => Uint8Array.from(bytes);
const namesOf = (entries: readonly (readonly [Uint8Array, Uint8Array])[]) =>
  entries.map(([name]) => Buffer.from(name).toString());

/** These records are written when their transaction ends. */
test.each(['meta', 'tags', 'pins'] as const)(
  'a transaction sees what it has written to %s',
  async (table) => {
    const name = key('~a');
    const seen = await backend.change((tx) => {
      const after = <T>(read: () => T): T => {
        tx.put(table, name, value(1));
        tx.put(table, name, value(2));
        const result = read();
        tx.remove(table, name);
        return result;
      };
      return [
        after(() => namesOf(tx.scan(table, key('~'), END, 10))),
        after(() => tx.last(table, key('~'), END)),
        after(() => tx.has(table, name)),
        after(() => tx.get(table, name)),
        tx.get(table, name),
      ];
    });
    expect(seen).toEqual([['~a'], value(...name), true, value(2), undefined]);
    expect(backend.scan(table, key('~'), END, 10)).toEqual([]);
  },
);

test.each(['meta', 'pins'] as const)(
  'changes of %s that share a transaction see each other',
  async (table) => {
    const counted = Array.from({ length: 100 }, () =>
      backend.change((tx) => {
        const next = (tx.get(table, key('count'))?.[0] ?? 0) + 1;
        tx.put(table, key('count'), value(next));
        return next;
      }),
    );
    expect(await Promise.all(counted)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
    expect(backend.get(table, key('count'))).toEqual(value(100));
  },
);

const TOO_LONG = new Uint8Array(5000);

test.each<[string, (table: Table) => Promise<unknown>]>([
  ['throws after it has written', (table) => failing(table, () => expect.unreachable())],
  ['puts what cannot be written', (table) => backend.change((tx) => tx.put(table, TOO_LONG, value(1)))],
])('a change that %s leaves nothing, and the others stay', async (_what, fail) => {
  for (const table of ['meta', 'pins'] as const) {
    const put = (name: string) => backend.change((tx) => tx.put(table, key(name), value(1)));
    const outcomes = await Promise.allSettled([put('before'), fail(table), put('behind')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect([backend.has(table, key('before')), backend.has(table, key('behind'))]).toEqual([true, true]);
    expect(backend.has(table, key('half'))).toBe(false);
  }
});

function failing(table: Table, fail: () => never): Promise<unknown> {
  return backend.change((tx) => {
    tx.put(table, key('half'), value(1));
    fail();
  });
}

test('the caller may change what it has put, and what it has got', async () => {
  const given = { key: key('mine'), value: value(1, 2) };
  await backend.change((tx) => {
    tx.put('meta', given.key, given.value);
    given.key.fill(0);
    given.value.fill(0);
  });
  const got = backend.get('meta', key('mine'));
  expect(got).toEqual(value(1, 2));
  got?.fill(9);
  expect(backend.get('meta', key('mine'))).toEqual(value(1, 2));
});

test('values of any size are read as they were written, together and alone', async () => {
  const sizes = [0, 1, 64, 65, 4096, 32_768, 32_769, 65_535, 65_537, 2 ** 20, 3];
  const rows = sizes.map(
    (size, i) => [key(`size ${i}`), Uint8Array.from({ length: size }, (_, at) => at + i)] as const,
  );
  const inside = await backend.change((tx) => {
    for (const [name, bytes] of rows) tx.put('state', name, bytes);
    return rows.map(([name]) => tx.get('state', name));
  });
  for (const [i, [name, bytes]] of rows.entries()) {
    expect(Buffer.compare(inside[i] as Uint8Array, bytes), `${bytes.length} bytes`).toBe(0);
    expect(Buffer.compare(backend.get('state', name) as Uint8Array, bytes), `${bytes.length} bytes`).toBe(0);
  }
  const scanned = new Map(
    backend.scan('state', START, END, 100).map(([name, bytes]) => [String(Buffer.from(name)), bytes]),
  );
  for (const [name, bytes] of rows)
    expect(Buffer.compare(scanned.get(String(name)) as Uint8Array, bytes)).toBe(0);
});
