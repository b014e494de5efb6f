import { describe, expect, test } from 'vitest';
import { BACKENDS } from '../stores.ts';

describe.each(BACKENDS)('tags %s', (_name, open) => {
  test('count from 1, start empty, and a number is never used again', async () => {
    await using bench = await open();
    const { tags } = bench.store;
    const first = await tags.create();
    expect(first).toEqual({
      uid: 1,
      split: 0,
      seen: 0,
      stored: 0,
      sent: 0,
      synced: 0,
      address: new Uint8Array(),
      startedAt: 1_700_000_000_123,
    });
    expect(tags.get(1)).toMatchObject({ uid: 1, startedAt: first.startedAt });
    await tags.remove(1);
    expect(tags.get(1)).toBeUndefined();
    expect((await tags.create()).uid).toBe(2);
  });

  test('are listed in ascending order, from an offset, up to a limit', async () => {
    await using bench = await open();
    const { tags } = bench.store;
    for (let i = 0; i < 300; i++) await tags.create();
    await tags.remove(2);
    expect(tags.list(0, 3).map(({ uid }) => uid)).toEqual([1, 3, 4]);
    expect(tags.list(254, 3).map(({ uid }) => uid)).toEqual([256, 257, 258]);
    expect(tags.list(400, 3)).toEqual([]);
  });
});
