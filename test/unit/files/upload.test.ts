import { describe, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import type { Stamp } from '../../../formats/chunk/stamp.ts';
import { equalBytes } from '../../../formats/crypto/hex.ts';
import { createUploader, type UploaderDeps } from '../../../node/files/upload.ts';
import { type Batch, PostageError } from '../../../node/postage/ports.ts';
import type { Tag, UploadSession } from '../../../node/store/ports.ts';
import { settle } from './settle.ts';

const BATCH = new Uint8Array(32).fill(1);
const STRANGE_BATCH = new Uint8Array(32).fill(2);

function chunkOf(i: number): Chunk {
  return makeCac(2n, Uint8Array.of(i & 255, i >> 8));
}

function stampOf(batchId: Uint8Array, number: number): Stamp {
  const index = new Uint8Array(8);
  new DataView(index.buffer).setUint32(4, number);
  return { batchId, index, timestamp: new Uint8Array(8), signature: new Uint8Array(65) };
}

class World {
  readonly events: string[] = [];
  readonly pushes: {
    chunk: Chunk;
    stamp: Stamp;
    signal: AbortSignal;
    resolve: () => void;
    reject: (e: Error) => void;
  }[] = [];
  readonly tags = new Set([7]);
  issued = 0;
  room = Number.POSITIVE_INFINITY;
  putFails = false;
  saved: Promise<void> = Promise.resolve();
  batchIs: 'live' | 'gone' | 'awaited' = 'live';

  readonly uploader = createUploader({
    postage: {
      batches: {
        get: (id) => (id === BATCH && this.batchIs === 'live' ? ({ id } as Batch) : undefined),
      } as UploaderDeps['postage']['batches'],
      awaited: () => this.batchIs === 'awaited',
      stamper: (batchId) => {
        this.events.push('batch');
        if (batchId !== BATCH) throw new PostageError('BATCH_NOT_FOUND', 'no such batch');
        const stamp = () => {
          if (this.issued === this.room) throw new PostageError('BATCH_OVERISSUED', 'full');
          this.issued += 1;
          this.events.push(`stamp ${this.issued}`);
          return stampOf(batchId, this.issued);
        };
        return { batchId, stamp, stampAsync: async () => stamp() };
      },
      saved: () => this.saved,
      validate: (chunk) => {
        if (!equalBytes(chunk.address, chunkOf(1).address))
          throw new PostageError('STAMP_INVALID', 'not the chunk of this stamp');
      },
    },
    store: {
      disk: { isFull: () => false, expect: () => undefined },
      tags: {
        get: (uid: number) => {
          this.events.push('tag');
          return this.tags.has(uid) ? ({ uid } as Tag) : undefined;
        },
        create: async () => {
          this.events.push('new tag');
          return { uid: 8 } as Tag;
        },
      } as UploaderDeps['store']['tags'],
      uploads: {
        openSession: (tagUid: number): UploadSession => ({
          tagUid,
          put: async (_chunk, stamp) => {
            if (this.putFails) throw new Error('disk full');
            this.events.push(`put ${stamp.index[7]}`);
          },
          done: async (reference) => {
            this.events.push(`done ${reference?.length}`);
          },
          cleanup: async () => {
            this.events.push('cleanup');
          },
        }),
      } as UploaderDeps['store']['uploads'],
      pins: {
        openSession: () => ({
          put: async () => void this.events.push('pin'),
          done: async (reference: Uint8Array) => void this.events.push(`pinned ${reference.length}`),
          cleanup: async () => void this.events.push('unpin'),
        }),
      } as unknown as UploaderDeps['store']['pins'],
    },
    pusher: {
      direct: (chunk, stamp, signal) =>
        new Promise((resolve, reject) => {
          this.pushes.push({ chunk, stamp, signal, resolve, reject });
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    },
  });

  begin(options: {
    batchId?: Uint8Array;
    tagUid?: number;
    deferred: boolean;
    pin?: boolean;
    stamp?: Stamp;
    signal?: AbortSignal;
  }) {
    return this.uploader.begin({ batchId: BATCH, signal: new AbortController().signal, ...options });
  }
}

describe('beginning an upload', () => {
  test('an unknown tag is reported before an unknown batch', async () => {
    const world = new World();
    const begin = world.begin({ batchId: STRANGE_BATCH, tagUid: 9, deferred: true });
    await expect(begin).rejects.toMatchObject({ code: 'TAG_NOT_FOUND', tagUid: 9 });
    expect(world.events).toEqual(['tag']);
  });

  test('an unknown batch is reported, and leaves no tag behind', async () => {
    const world = new World();
    await expect(world.begin({ batchId: STRANGE_BATCH, deferred: true })).rejects.toMatchObject({
      code: 'BATCH_NOT_FOUND',
    });
    expect(world.events).toEqual(['batch']);
  });

  test.each([
    { tagUid: 7, given: 7 },
    { tagUid: 0, given: 8 },
    { tagUid: undefined, given: 8 },
  ])('deferred with tag $tagUid has tag $given', async ({ tagUid, given }) => {
    const upload = await new World().begin({ deferred: true, ...(tagUid === undefined ? {} : { tagUid }) });
    expect(upload.tagUid).toBe(given);
  });

  test('direct has no tag and does not look at one', async () => {
    const world = new World();
    expect((await world.begin({ tagUid: 9, deferred: false })).tagUid).toBeUndefined();
    expect(world.events).toEqual(['batch']);
  });
});

describe('an upload whose stamps are not on disk', () => {
  test.each([{ deferred: true }, { deferred: false }, { deferred: true, pin: true }])(
    'is not acknowledged: $deferred',
    async (how) => {
      const world = new World();
      const upload = await world.begin(how);
      await upload.put(chunkOf(1));
      await settle();
      for (const { resolve } of world.pushes) resolve();
      world.saved = Promise.reject(new Error('disk full'));
      await expect(upload.done(new Uint8Array(32))).rejects.toThrow('disk full');
      expect(world.events.filter((event) => /^(done|pinned)/.test(event))).toEqual([]);
      await upload.cleanup();
    },
  );
});

describe('a deferred upload', () => {
  test('stamps in the order of the puts, then stores, and closes with the reference', async () => {
    const world = new World();
    const upload = await world.begin({ tagUid: 7, deferred: true });
    await Promise.all([upload.put(chunkOf(1)), upload.put(chunkOf(2))]);
    await upload.done(new Uint8Array(32));
    expect(world.events).toEqual(['tag', 'batch', 'stamp 1', 'stamp 2', 'put 1', 'put 2', 'done 32']);
  });

  test('a batch that expires meanwhile leaves the upload unacknowledged; one that may return does not', async () => {
    for (const [batchIs, expected] of [
      ['gone', 'BATCH_EXPIRED'],
      ['awaited', undefined],
    ] as const) {
      const world = new World();
      const upload = await world.begin({ tagUid: 7, deferred: true });
      await upload.put(chunkOf(1));
      world.batchIs = batchIs;
      const [done] = await Promise.allSettled([upload.done()]);
      expect(done.status === 'rejected' ? (done.reason as { code: string }).code : undefined).toBe(expected);
      expect(world.events.filter((event) => event.startsWith('done'))).toHaveLength(
        batchIs === 'gone' ? 0 : 1,
      );
    }
  });

  test('a full batch fails the put, and cleanup removes the rest', async () => {
    const world = new World();
    world.room = 1;
    const upload = await world.begin({ deferred: true });
    await upload.put(chunkOf(1));
    await expect(upload.put(chunkOf(2))).rejects.toMatchObject({ code: 'BATCH_OVERISSUED' });
    await upload.cleanup();
    expect(world.events.at(-1)).toBe('cleanup');
  });

  test('a failing store fails the put', async () => {
    const world = new World();
    world.putFails = true;
    const upload = await world.begin({ deferred: true });
    await expect(upload.put(chunkOf(1))).rejects.toThrow('disk full');
  });

  test('with a ready stamp uses it for the chunk that it fits', async () => {
    const world = new World();
    const upload = await world.begin({ deferred: true, stamp: stampOf(BATCH, 42) });
    await upload.put(chunkOf(1));
    expect(world.events).toContain('put 42');
    expect(world.issued).toBe(0);
    await expect(upload.put(chunkOf(2))).rejects.toMatchObject({ code: 'STAMP_INVALID' });
  });

  test('with a ready stamp of a batch that does not exist does not begin', async () => {
    const begin = new World().begin({ deferred: true, stamp: stampOf(STRANGE_BATCH, 1) });
    await expect(begin).rejects.toMatchObject({ code: 'BATCH_NOT_FOUND' });
  });
});

describe('a pinned upload', () => {
  test.each([true, false])(
    'is stored before it is pushed and pinned last (deferred: %s)',
    async (deferred) => {
      const world = new World();
      const upload = await world.begin({ deferred, pin: true });
      expect(upload.tagUid).toBe(8);
      await upload.put(chunkOf(1));
      await upload.done(new Uint8Array(64));
      expect(world.events).toEqual(['batch', 'new tag', 'stamp 1', 'put 1', 'pin', 'done 64', 'pinned 64']);
      expect(world.pushes).toEqual([]);
    },
  );

  test('needs an existing tag, and is rolled back as a whole', async () => {
    const world = new World();
    await expect(world.begin({ deferred: false, pin: true, tagUid: 9 })).rejects.toMatchObject({
      code: 'TAG_NOT_FOUND',
    });
    const upload = await world.begin({ deferred: false, pin: true, tagUid: 7 });
    await upload.put(chunkOf(1));
    await upload.cleanup();
    expect(world.events.slice(-2)).toEqual(['cleanup', 'unpin']);
  });
});

describe('a direct upload', () => {
  test('takes chunks before they are pushed, and is done when the last has its receipt', async () => {
    const world = new World();
    const upload = await world.begin({ deferred: false });
    await upload.put(chunkOf(1));
    await upload.put(chunkOf(2));
    expect(world.pushes.map(({ stamp }) => stamp.index[7])).toEqual([1, 2]);
    const closing = upload.done();
    world.pushes[1]!.resolve();
    await settle();
    const open = Symbol('open');
    expect(await Promise.race([closing, Promise.resolve(open)])).toBe(open);
    world.pushes[0]!.resolve();
    await closing;
  });

  test('has at most 128 chunks in the pusher', async () => {
    const world = new World();
    const upload = await world.begin({ deferred: false });
    const puts = Array.from({ length: 140 }, (_, i) => upload.put(chunkOf(i)));
    await settle();
    expect(world.pushes).toHaveLength(128);
    world.pushes[5]!.resolve();
    await settle();
    expect(world.pushes).toHaveLength(129);
    expect(world.pushes[128]!.chunk.data).toEqual(chunkOf(128).data);
    for (let i = 0; i < 140; i++) {
      world.pushes[i]!.resolve();
      await settle();
    }
    await Promise.all(puts);
    await upload.done();
  });

  test('the first push that fails ends the others, later puts and the upload', async () => {
    const world = new World();
    const upload = await world.begin({ deferred: false });
    const puts = Array.from({ length: 130 }, (_, i) => upload.put(chunkOf(i)));
    await settle();
    world.pushes[3]!.reject(new Error('storer refused'));
    // The first waiting one may get the failed one's slot, and ends at once.
    expect((await Promise.allSettled(puts)).at(-1)).toMatchObject({ status: 'rejected' });
    expect(world.pushes.every(({ signal }) => signal.aborted)).toBe(true);
    await expect(upload.put(chunkOf(200))).rejects.toThrow('storer refused');
    await expect(upload.done()).rejects.toThrow('storer refused');
    await upload.cleanup();
  });

  test('ends with the request', async () => {
    const world = new World();
    const request = new AbortController();
    const upload = await world.begin({ deferred: false, signal: request.signal });
    await upload.put(chunkOf(1));
    request.abort(new Error('client is gone'));
    await expect(upload.done()).rejects.toThrow('client is gone');
  });

  test('cleanup ends the pushes under way', async () => {
    const world = new World();
    const upload = await world.begin({ deferred: false });
    await upload.put(chunkOf(1));
    await upload.cleanup();
    expect(world.pushes[0]!.signal.aborted).toBe(true);
    await expect(upload.put(chunkOf(2))).rejects.toThrow('given up');
  });
});
