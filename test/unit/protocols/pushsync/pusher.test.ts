import { describe, expect, test } from 'vitest';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import { NoRoomError, PushsyncError } from '../../../../node/protocols/pushsync/rules.ts';
import { createMemoryStore } from '../../../../node/store/memory-store.ts';
import { testKey } from '../../p2p/memory-nodes.ts';
import { never } from '../exchange-nodes.ts';
import { ManualClock } from '../manual-clock.ts';
import { outcome } from '../pullsync/pull-nodes.ts';
import { chunks, failed, type Push, pusherWith, shallow, stamped, synced, upload } from './pusher-kit.ts';

const noPeer = () => new PushsyncError('NO_PEER', 'no peer found');

function addresses(from: number, to: number): string[] {
  return chunks.slice(from, to).map(({ address }) => toHex(address));
}

describe('waiting chunks', () => {
  test('are pushed in upload order and counted as synced, including those of later uploads', async () => {
    const { clock, store, pusher, pushed } = await pusherWith(async (_chunk, _stamp, { onSent }) => {
      onSent?.();
      return synced;
    });
    const first = await upload(store, 0, 150);
    pusher.start();
    await clock.settle();
    const second = await upload(store, 150, 200);
    await clock.advance(100);
    expect(pushed).toEqual(addresses(0, 200));
    expect(store.uploads.totals().pending).toBe(0);
    expect(store.tags.get(first)).toMatchObject({ split: 150, sent: 150, synced: 150, stored: 0 });
    expect(store.tags.get(second)).toMatchObject({ split: 50, sent: 50, synced: 50 });
  });

  test('are pushed 128 at a time', async () => {
    const { clock, store, pusher, pushed } = await pusherWith(async () => {
      await clock.sleep(1_000);
      return synced;
    });
    await upload(store, 0, 300);
    pusher.start();
    await clock.advance(999);
    expect(pushed).toHaveLength(128);
    await clock.advance(1);
    expect(pushed).toHaveLength(256);
    await clock.advance(3_000);
    expect(pushed).toEqual(addresses(0, 300));
  });

  test('are pushed as many at a time as the platform allows', async () => {
    const push = async () => {
      await clock.sleep(1_000);
      return synced;
    };
    const { clock, store, pusher, pushed } = await pusherWith(push, { pushes: 2 });
    await upload(store, 0, 5);
    pusher.start();
    for (const count of [2, 4, 5]) {
      await clock.advance(999);
      expect(pushed).toEqual(addresses(0, count));
      await clock.advance(1);
    }
  });

  test('are not pushed before their upload is done', async () => {
    const { clock, store, pusher, pushed } = await pusherWith(async () => synced);
    pusher.start();
    const { uid } = await store.tags.create();
    const session = store.uploads.openSession(uid);
    await session.put(chunks[0]!, stamped(0));
    await clock.advance(60_000);
    expect(pushed).toEqual([]);
    await session.done();
    await clock.settle();
    expect(pushed).toEqual(addresses(0, 1));
  });

  test('that were in flight at a stop are pushed again after the restart', async () => {
    const first = await pusherWith((_chunk, _stamp, { signal }) => {
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => reject(signal.reason));
      return promise;
    });
    const uid = await upload(first.store, 0, 10);
    first.pusher.start();
    await first.clock.settle();
    await first.pusher.stop();
    expect(first.pushed).toHaveLength(10);
    expect(first.store.uploads.totals().pending).toBe(10);
    const second = await pusherWith(async () => synced, { store: first.store });
    second.pusher.start();
    await second.clock.settle();
    expect(second.pushed).toEqual(addresses(0, 10));
    expect(first.store.tags.get(uid)?.synced).toBe(10);
    await second.pusher.stop();
  });

  test('of a batch that no longer exists are dropped without being counted', async () => {
    const { clock, store, pusher, pushed } = await pusherWith(async () => synced, {
      batchExists: () => false,
    });
    const uid = await upload(store, 0, 3);
    pusher.start();
    await clock.settle();
    expect(pushed).toEqual([]);
    expect(store.uploads.totals().pending).toBe(0);
    expect(store.tags.get(uid)).toMatchObject({ split: 3, synced: 0, stored: 0 });
  });

  test('of a batch that no longer exists are named in the log, with one line for many', async () => {
    const lines: unknown[] = [];
    const log = Object.assign(silentLogger(), { warn: (...line: unknown[]) => void lines.push(line) });
    const { clock, store, pusher } = await pusherWith(async () => synced, { batchExists: () => false, log });
    const batch = '01'.repeat(32);
    const said = (chunks: number) => [
      expect.objectContaining({ batch, chunks }),
      'uploaded chunks are given up: their batch has ended',
    ];
    await upload(store, 0, 200);
    pusher.start();
    await clock.advance(1_000);
    expect(lines).toEqual([said(200)]);
    await upload(store, 200, 205);
    await clock.advance(8_000);
    expect(lines).toHaveLength(1);
    await clock.advance(2_000);
    expect(lines).toEqual([said(200), said(5)]);
    await upload(store, 205, 206);
    await clock.settle();
    await pusher.stop();
    expect(lines.at(-1)).toEqual(said(1));
  });

  test('of a batch that a reorganisation removed wait until it is back, or are given up', async () => {
    const batch = { exists: false, awaited: true };
    const { clock, store, pusher, pushed } = await pusherWith(async () => synced, {
      batchExists: () => batch.exists,
      batchAwaited: () => batch.awaited,
    });
    const first = await upload(store, 0, 3);
    pusher.start();
    await clock.advance(60_000);
    expect([pushed, store.uploads.totals().pending]).toEqual([[], 3]);
    batch.exists = true;
    await clock.advance(600_000);
    expect(store.tags.get(first)).toMatchObject({ split: 3, synced: 3 });
    batch.exists = false;
    const second = await upload(store, 3, 6);
    await clock.advance(60_000);
    expect(store.uploads.totals().pending).toBe(3);
    batch.awaited = false;
    await clock.advance(600_000);
    expect(store.uploads.totals().pending).toBe(0);
    expect(store.tags.get(second)).toMatchObject({ split: 3, synced: 0 });
  });

  test('that no other node takes go into the own reserve and count as stored', async () => {
    const { clock, store, pusher } = await pusherWith(async () => ({ outcome: 'want-self' }));
    const uid = await upload(store, 0, 3);
    pusher.start();
    await clock.settle();
    expect(store.reserve.size()).toBe(3);
    expect(store.tags.get(uid)).toMatchObject({ stored: 3, synced: 3 });
  });

  test('that this node is also responsible for are kept in the own reserve and reported as delivered', async () => {
    const own = new Set(addresses(0, 2));
    const { clock, store, pusher, delivered } = await pusherWith(async () => synced, {
      isResponsible: (address) => own.has(toHex(address)),
    });
    const uid = await upload(store, 0, 3);
    pusher.start();
    await clock.settle();
    expect(store.reserve.size()).toBe(2);
    expect(delivered).toEqual(addresses(0, 2));
    expect(store.tags.get(uid)).toMatchObject({ stored: 0, synced: 3 });
    expect(store.uploads.totals().pending).toBe(0);
  });

  test('are announced to pushsync as kept here when they will be', async () => {
    const own = new Set(addresses(0, 1));
    const said: (boolean | undefined)[] = [];
    const { pusher } = await pusherWith(
      async (_chunk, _stamp, { keptHere }) => {
        said.push(keptHere);
        return synced;
      },
      { isResponsible: (address) => own.has(toHex(address)) },
    );
    await pusher.direct(chunks[0]!, stamped(0), never);
    await pusher.direct(chunks[1]!, stamped(1), never);
    expect(said).toEqual([true, false]);
  });

  test('that this node is no longer responsible for by then are pushed to more nodes', async () => {
    let responsible = true;
    const said: (boolean | undefined)[] = [];
    const { pusher, store } = await pusherWith(
      async (_chunk, _stamp, { keptHere }) => {
        said.push(keptHere);
        responsible = false;
        return synced;
      },
      { isResponsible: () => responsible },
    );
    await pusher.direct(chunks[0]!, stamped(0), never);
    expect(said).toEqual([true, undefined]);
    expect(store.reserve.size()).toBe(0);
  });

  test('are not kept when there is no room for them or their batch is gone', async () => {
    const clock = new ManualClock();
    const full = await createMemoryStore(
      { cacheCapacity: 10, reserveCapacity: 1, radius: 0 },
      { clock, log: silentLogger(), overlay: testKey(1) },
    );
    const given = { store: full, clock, isResponsible: () => true };
    const { pusher, delivered } = await pusherWith(async () => synced, given);
    await pusher.direct(chunks[0]!, stamped(0), never);
    await pusher.direct(chunks[1]!, stamped(1), never);
    expect(delivered).toEqual(addresses(0, 1));
    expect(full.reserve.size()).toBe(1);

    let exists = true;
    const gone = await pusherWith(
      async () => {
        exists = false;
        return synced;
      },
      { isResponsible: () => true, batchExists: () => exists },
    );
    await gone.pusher.direct(chunks[0]!, stamped(0), never);
    expect(gone.store.reserve.size()).toBe(0);
  });

  test('whose index a newer stamp has taken meanwhile still count as synced', async () => {
    const { store, pusher, delivered } = await pusherWith(async () => synced, { isResponsible: () => true });
    const newer = { ...stamped(0), timestamp: new Uint8Array(8).fill(255) };
    await store.reserve.put(chunks[1]!, newer);
    await pusher.direct(chunks[0]!, stamped(0), never);
    expect(store.reserve.size()).toBe(1);
    expect(delivered).toEqual([]);
  });

  test('whose push fails are tried again after a pause, without holding up the others', async () => {
    const hopeless = toHex(chunks[0]!.address);
    let broken = true;
    const { clock, store, pusher, pushed } = await pusherWith(async (chunk) => {
      if (broken && toHex(chunk.address) === hopeless) throw failed();
      return synced;
    });
    await upload(store, 0, 200);
    pusher.start();
    await clock.advance(900);
    expect(store.uploads.totals().pending).toBe(1);
    broken = false;
    await clock.advance(100);
    expect(store.uploads.totals().pending).toBe(0);
    expect(pushed.filter((address) => address === hopeless)).toHaveLength(2);
  });

  test('are not synced by six shallow receipts, and are tried again', async () => {
    let error: (() => Error) | undefined = shallow;
    const { clock, store, pusher, pushed } = await pusherWith(async () => {
      if (error !== undefined) throw error();
      return synced;
    });
    const uid = await upload(store, 0, 1);
    pusher.start();
    await clock.advance(999);
    expect([pushed.length, store.uploads.totals().pending]).toEqual([6, 1]);
    expect(store.tags.get(uid)?.synced).toBe(0);
    error = undefined;
    await clock.advance(1);
    expect([pushed.length, store.uploads.totals().pending]).toEqual([7, 0]);
    expect(store.tags.get(uid)?.synced).toBe(1);
  });

  test('are synced by a good receipt after five shallow ones', async () => {
    const { clock, store, pusher, pushed } = await pusherWith(async () => {
      if (pushed.length < 6) throw shallow();
      return synced;
    });
    const uid = await upload(store, 0, 1);
    pusher.start();
    await clock.settle();
    expect([pushed.length, store.tags.get(uid)?.synced]).toEqual([6, 1]);
  });

  test('that the owner of a mutable batch has replaced meanwhile count as synced', async () => {
    const replaced = async () => {
      throw new PushsyncError('SUPERSEDED', 'overwriting chunk with newer timestamp');
    };
    const { clock, store, pusher, pushed } = await pusherWith(replaced, { immutable: false });
    const uid = await upload(store, 0, 3);
    pusher.start();
    await clock.settle();
    expect([pushed.length, store.uploads.totals().pending]).toEqual([3, 0]);
    expect(store.tags.get(uid)).toMatchObject({ synced: 3, stored: 0 });
  });

  test('that were stamped again for another upload are pushed under the new stamp, and only its receipt counts', async () => {
    const renewed = new Set<string>();
    const superseded: Push = async ({ address }, { timestamp }) => {
      if (timestamp[0] !== 0xff)
        throw new PushsyncError('SUPERSEDED', 'overwriting chunk with newer timestamp');
      renewed.add(toHex(address));
      return synced;
    };
    const { clock, store, pusher } = await pusherWith(superseded, { restamped: addresses(0, 2) });
    const uid = await upload(store, 0, 3);
    pusher.start();
    await clock.settle();
    expect(renewed.size).toBe(2);
    expect([store.tags.get(uid)?.synced, store.uploads.totals().pending]).toEqual([2, 1]);
  });

  test('stay as long as every new stamp is reported as too old', async () => {
    const superseded = async () => {
      throw new PushsyncError('SUPERSEDED', 'overwriting chunk with newer timestamp');
    };
    const { clock, store, pusher, pushed } = await pusherWith(superseded, { restamped: addresses(0, 1) });
    const uid = await upload(store, 0, 1);
    pusher.start();
    await clock.settle();
    expect([pushed.length, store.tags.get(uid)?.synced, store.uploads.totals().pending]).toEqual([4, 0, 1]);
  });

  test('of an immutable batch stay, even when a storer reports that they were replaced', async () => {
    const { clock, store, pusher } = await pusherWith(async () => {
      throw new PushsyncError('SUPERSEDED', 'overwriting chunk with newer timestamp');
    });
    const uid = await upload(store, 0, 3);
    pusher.start();
    await clock.advance(10_000);
    expect(store.uploads.totals().pending).toBe(3);
    expect(store.tags.get(uid)).toMatchObject({ synced: 0 });
  });

  test('that are also being pushed directly set no retry timer when the pusher stops meanwhile', async () => {
    const { clock, store, pusher } = await pusherWith(async (_chunk, _stamp, { signal }) => {
      await clock.sleep(60_000, signal);
      return synced;
    });
    const leaving = new AbortController();
    const direct = outcome(pusher.direct(chunks[0]!, stamped(0), leaving.signal));
    await clock.settle();
    await upload(store, 0, 1);
    const { uploads } = store;
    const pending = uploads.pending.bind(uploads);
    let stopped: Promise<void> | undefined;
    uploads.pending = (...given) => {
      stopped ??= pusher.stop();
      return pending(...given);
    };
    pusher.start();
    await clock.settle();
    await stopped;
    leaving.abort(new Error('enough'));
    await clock.settle();
    expect([direct.error, clock.running]).toEqual([new Error('enough'), 0]);
  });

  test('wait five seconds when there is no peer', async () => {
    let lonely = true;
    const { clock, store, pusher, pushed } = await pusherWith(async () => {
      if (lonely) throw noPeer();
      return synced;
    });
    await upload(store, 0, 2);
    pusher.start();
    await clock.advance(4_999);
    const tried = pushed.length;
    lonely = false;
    await clock.advance(1);
    expect(pushed.length).toBe(tried + 2);
    expect(store.uploads.totals().pending).toBe(0);
  });
});

describe('a direct push', () => {
  test('resolves with the receipt and leaves nothing in the store', async () => {
    const { store, pusher, pushed } = await pusherWith(async () => synced);
    await pusher.direct(chunks[0]!, stamped(0), never);
    expect(pushed).toEqual(addresses(0, 1));
    expect(store.uploads.totals()).toEqual({ uploaded: 0, synced: 0, pending: 0 });
  });

  test('shares the 128 slots with waiting chunks and waits for one', async () => {
    const { clock, store, pusher, pushed } = await pusherWith(async () => {
      await clock.sleep(1_000);
      return synced;
    });
    await upload(store, 0, 128);
    pusher.start();
    await clock.settle();
    const direct = pusher.direct(chunks[200]!, stamped(200), never);
    await clock.advance(999);
    expect(pushed).toHaveLength(128);
    await clock.advance(1_001);
    await direct;
    expect(pushed.at(-1)).toBe(toHex(chunks[200]!.address));
  });

  test('that no other node takes goes into the own reserve', async () => {
    const { store, pusher } = await pusherWith(async () => ({ outcome: 'want-self' }));
    await pusher.direct(chunks[0]!, stamped(0), never);
    expect(store.reserve.size()).toBe(1);
  });

  test('fails with the error of pushsync', async () => {
    const { pusher } = await pusherWith(async () => {
      throw failed();
    });
    await expect(pusher.direct(chunks[0]!, stamped(0), never)).rejects.toMatchObject({ code: 'PUSH_FAILED' });
  });

  test('of a batch that does not exist fails', async () => {
    const { pusher, pushed } = await pusherWith(async () => synced, { batchExists: () => false });
    await expect(pusher.direct(chunks[0]!, stamped(0), never)).rejects.toMatchObject({
      code: 'BATCH_NOT_FOUND',
    });
    expect(pushed).toEqual([]);
  });

  test('keeps trying without peers until its signal aborts', async () => {
    const { clock, pusher, pushed } = await pusherWith(async () => {
      throw noPeer();
    });
    const leaving = new AbortController();
    const direct = pusher.direct(chunks[0]!, stamped(0), leaving.signal);
    await clock.advance(20_000);
    expect(pushed).toHaveLength(5);
    leaving.abort(new Error('enough'));
    await expect(direct).rejects.toThrow('enough');
  });

  test('fails with the sixth shallow receipt', async () => {
    const { pusher, pushed } = await pusherWith(async () => {
      throw shallow();
    });
    await expect(pusher.direct(chunks[0]!, stamped(0), never)).rejects.toMatchObject({
      code: 'PUSH_FAILED',
      cause: { code: 'SHALLOW_RECEIPT' },
    });
    expect(pushed).toHaveLength(6);
  });

  test('waits half a minute for room, and then fails with the reason for the lack of room', async () => {
    const { clock, pusher, pushed } = await pusherWith(async () => {
      throw new NoRoomError('01');
    });
    const direct = outcome(pusher.direct(chunks[0]!, stamped(0), never));
    await clock.advance(29_999);
    expect([pushed.length, direct]).toEqual([30, {}]);
    await clock.advance(1);
    expect(direct.error).toMatchObject({ code: 'NO_ROOM', neighbourhood: '01' });
    expect(clock.running).toBe(0);
  });

  test('arrives as soon as there is room', async () => {
    const { clock, pusher, pushed } = await pusherWith(async () => {
      if (pushed.length < 3) throw new NoRoomError('01');
      return synced;
    });
    const direct = outcome(pusher.direct(chunks[0]!, stamped(0), never));
    await clock.advance(1_999);
    expect(direct).toEqual({});
    await clock.advance(1);
    expect([direct, pushed.length]).toEqual([{ value: undefined }, 3]);
  });

  test('of a chunk that is being pushed under the same batch waits for that push', async () => {
    const { clock, store, pusher, pushed } = await pusherWith(async () => {
      await clock.sleep(1_000);
      return synced;
    });
    await upload(store, 0, 1);
    pusher.start();
    await clock.settle();
    const direct = pusher.direct(chunks[0]!, stamped(0), never);
    await clock.advance(1_000);
    await direct;
    expect(pushed).toHaveLength(1);
  });
});
