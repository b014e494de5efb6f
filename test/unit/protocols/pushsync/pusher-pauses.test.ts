import { describe, expect, test } from 'vitest';
import { addressPrefix } from '../../../../formats/chunk/address.ts';
import type { Chunk } from '../../../../formats/chunk/chunk.ts';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { NoRoomError } from '../../../../node/protocols/pushsync/rules.ts';
import { chunks, failed, pusherWith, shallow, synced, upload, uploadOf } from './pusher-kit.ts';

const isIn = (neighbourhood: string, { address }: Chunk) =>
  addressPrefix(address, neighbourhood.length) === neighbourhood;

describe('waiting chunks of a neighbourhood that takes nothing', () => {
  const [inside, outside] = [chunks.filter((one) => isIn('0', one)), chunks.filter((one) => isIn('1', one))];

  test('are tried again every second, and from the fourth failure onwards after pauses that grow to 30 seconds', async () => {
    const times: number[] = [];
    const { clock, store, pusher } = await pusherWith(async () => {
      times.push(clock.monotonic() / 1_000);
      throw failed();
    });
    await upload(store, 0, 1);
    pusher.start();
    await clock.advance(125_000);
    expect(times).toEqual([0, 1, 2, 3, 4, 6, 10, 18, 34, 64, 94, 124]);
  });

  test('do not take slots from other chunks', async () => {
    const { clock, store, pusher, pushed } = await pusherWith(
      async (chunk, _stamp, { signal }) => {
        await clock.sleep(10_000, signal);
        if (isIn('0', chunk)) throw new NoRoomError('0');
        return synced;
      },
      { radius: 1 },
    );
    await uploadOf(store, inside.slice(0, 140));
    await uploadOf(store, outside.slice(0, 128));
    pusher.start();
    await clock.advance(9_999);
    expect(pushed).toEqual(inside.slice(0, 128).map(({ address }) => toHex(address)));
    await clock.advance(2);
    // The first three failures may be accidents.
    const expected = [...inside.slice(128, 131), ...outside.slice(0, 125)];
    expect(pushed.slice(128)).toEqual(expected.map(({ address }) => toHex(address)));
  });

  test('do not delay the push of a later upload', async () => {
    const { clock, store, pusher, pushed } = await pusherWith(async (chunk) => {
      if (isIn('0', chunk)) throw new NoRoomError('0');
      return synced;
    });
    await uploadOf(store, inside.slice(0, 100));
    pusher.start();
    await clock.advance(35_000);
    const tried = pushed.length;
    const uid = await uploadOf(store, outside.slice(0, 50));
    await clock.advance(100);
    expect(pushed.slice(tried)).toEqual(outside.slice(0, 50).map(({ address }) => toHex(address)));
    expect(store.tags.get(uid)?.synced).toBe(50);
  });

  test('are pushed when the pause is over and there is room again', async () => {
    let full = true;
    const { clock, store, pusher, pushed } = await pusherWith(
      async () => {
        if (full) throw new NoRoomError('0');
        return synced;
      },
      { radius: 1 },
    );
    await uploadOf(store, inside.slice(0, 100));
    pusher.start();
    // Pauses of 1, 2 and 4 seconds.
    await clock.advance(6_900);
    const tried = pushed.length;
    expect(pusher.held()).toMatchObject([{ neighbourhood: '0' }]);
    full = false;
    await clock.advance(99);
    expect([pushed.length, store.uploads.totals().pending]).toEqual([tried, 100]);
    await clock.advance(1);
    await clock.settle();
    expect([store.uploads.totals().pending, pusher.held()]).toEqual([0, []]);
  });

  test('are counted by neighbourhood and reason when they have waited for long', async () => {
    const { clock, store, pusher } = await pusherWith(
      async (chunk) => {
        if (isIn('01', chunk)) throw new NoRoomError('01');
        if (isIn('10', chunk)) throw failed();
        return synced;
      },
      { radius: 2 },
    );
    const since = clock.now();
    await upload(store, 0, 200);
    pusher.start();
    await clock.advance(2_900);
    expect(pusher.held()).toEqual([]);
    await clock.advance(1_500);
    const count = (prefix: string) => chunks.slice(0, 200).filter((one) => isIn(prefix, one)).length;
    expect(pusher.held().sort((a, b) => Number(a.neighbourhood) - Number(b.neighbourhood))).toEqual([
      { neighbourhood: '01', reason: "no room in neighbourhood '01'", since, chunks: count('01') },
      { neighbourhood: '10', reason: 'could not push chunk: nobody there', since, chunks: count('10') },
    ]);
  });

  test('are paused only as far as the chunk’s own neighbourhood reaches, whatever a storer names', async () => {
    const { clock, store, pusher } = await pusherWith(
      async (chunk) => {
        if (isIn('000', chunk)) throw new NoRoomError('');
        if (isIn('001', chunk)) throw new NoRoomError('1111');
        return synced;
      },
      { radius: 2 },
    );
    await upload(store, 0, 200);
    pusher.start();
    await clock.advance(10_000);
    const left = chunks.slice(0, 200).filter((one) => isIn('00', one)).length;
    expect(store.uploads.totals().pending).toBe(left);
    expect(pusher.held().every(({ neighbourhood }) => neighbourhood.startsWith('00'))).toBe(true);
  });

  test('are paused when every receipt is shallow, too', async () => {
    const { clock, store, pusher } = await pusherWith(async () => {
      throw shallow();
    });
    await uploadOf(store, inside.slice(0, 100));
    pusher.start();
    await clock.advance(5_000);
    expect(pusher.held().map(({ reason }) => reason)).toEqual(
      Array.from({ length: 2 }, () => 'every receipt is shallow: no node stores for the neighbourhood'),
    );
    expect(pusher.held().reduce((sum, { chunks }) => sum + chunks, 0)).toBe(100);
  });

  test('are not read from the store while they wait', async () => {
    const { clock, store, pusher } = await pusherWith(async () => {
      throw new NoRoomError('0');
    });
    await uploadOf(store, inside.slice(0, 100));
    const read = new Set<number>();
    const { uploads } = store;
    const pending = uploads.pending.bind(uploads);
    uploads.pending = (after, limit) =>
      pending(after, limit).map((push) => ({
        sequence: push.sequence,
        tagUid: push.tagUid,
        address: push.address,
        stamp: push.stamp,
        isReadable: true,
        get chunk() {
          read.add(clock.monotonic());
          return push.chunk;
        },
      }));
    pusher.start();
    await clock.advance(15_000);
    expect([...read]).toEqual([0, 1_000, 3_000, 7_000, 15_000]);
  });

  test('leave no timer behind when the pusher stops', async () => {
    const { clock, store, pusher } = await pusherWith(async () => {
      throw new NoRoomError('0');
    });
    await uploadOf(store, inside.slice(0, 100));
    pusher.start();
    for (const ms of [0, 5, 500, 900, 4_000]) await clock.advance(ms);
    expect(clock.running).toBeGreaterThan(0);
    await pusher.stop();
    expect(clock.running).toBe(0);
    await clock.advance(60_000);
    expect(clock.running).toBe(0);
  });
});
