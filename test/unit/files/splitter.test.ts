import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test, vi } from 'vitest';
import { cacFromData } from '../../../formats/chunk/cac.ts';
import type { Chunk, ChunkPutter } from '../../../formats/chunk/chunk.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { systemRandom } from '../../../formats/random.ts';
import { randomEncryption } from '../../../node/files/encryption.ts';
import { openFile } from '../../../node/files/joiner.ts';
import { type SplitOptions, split } from '../../../node/files/splitter.ts';
import { ChunkMap, collect, generate, inParts } from './chunk-map.ts';
import { settle } from './settle.ts';

const LEAF = 4096;
const RUN = 128 * LEAF;

class SlowPutter implements ChunkPutter {
  readonly open: { chunk: Chunk; resolve: () => void; reject: (reason: Error) => void }[] = [];

  put(chunk: Chunk): Promise<void> {
    return new Promise((resolve, reject) => {
      this.open.push({ chunk, resolve, reject });
    });
  }
}

describe('splitting and joining', () => {
  const boundaries = [LEAF, 2 * LEAF, RUN, RUN + LEAF, 2 * RUN, 2 * RUN + LEAF];
  const lengths = fc.oneof(
    fc.nat(3 * LEAF),
    fc.tuple(fc.constantFrom(...boundaries), fc.integer({ min: -1, max: 1 })).map(([at, off]) => at + off),
    fc.nat(2 * RUN),
  );

  property.prop([lengths, fc.integer({ min: 1, max: 100_000 }), fc.nat(), fc.nat()], { numRuns: 60 })(
    'returns every stream, whole and in any part, however it was divided',
    async (length, partSize, a, b) => {
      const content = generate('i mod 251', length);
      const store = new ChunkMap();
      const result = await split(inParts(content, Math.max(partSize, Math.ceil(length / 500))), store);
      expect(result.length).toBe(BigInt(length));
      const file = await openFile(result.reference, store);
      expect(file.length).toBe(BigInt(length));
      expect(Buffer.compare(await collect(file.read(0n, file.length)), content)).toBe(0);
      const [from, to] = [a % (length + 1), b % (length + 1)].sort((x, y) => x - y) as [number, number];
      const part = await collect(file.read(BigInt(from), BigInt(to)));
      expect(Buffer.compare(part, content.subarray(from, to))).toBe(0);
    },
  );
});

/** Takes work, or not, as told for each leaf; hashes one batch at a time. */
class FakeWorkers {
  readonly batches: number[] = [];
  readonly #takes: (asked: number) => boolean;
  #asked = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(takes: (asked: number) => boolean) {
    this.#takes = takes;
  }

  offer(): boolean {
    return this.#takes(this.#asked++);
  }

  addresses(chunks: readonly Uint8Array[]): Promise<Uint8Array[]> {
    this.batches.push(chunks.length);
    const hashed = this.#last.then(async () => {
      await new Promise(setImmediate);
      return chunks.map((data) => cacFromData(data).address);
    });
    this.#last = hashed;
    return hashed;
  }
}

describe('with workers', () => {
  property.prop(
    [
      fc.integer({ min: 0, max: 300 * LEAF }),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }),
      fc.integer({ min: 1, max: 90 }),
      fc.constantFrom(0, 1, 4),
    ],
    { numRuns: 30 },
  )(
    'the chunks and their order are the same, whichever leaves are handed over',
    async (length, pattern, run, level) => {
      const content = generate('i mod 255', length);
      const outcome = async (options: SplitOptions) => {
        const order: string[] = [];
        const put = async ({ address, data }: Chunk) => void order.push(`${toHex(address)} ${data.length}`);
        const { reference, chunks } = await split(inParts(content, 50_000), { put }, options);
        return { reference: toHex(reference), chunks, order };
      };
      const workers = new FakeWorkers((asked) => pattern[Math.floor(asked / run) % pattern.length]!);
      expect(await outcome({ level, workers })).toEqual(await outcome({ level }));
    },
  );

  test('leaves are handed over 32 at a time, and the rest at the end of the stream', async () => {
    const workers = new FakeWorkers(() => true);
    await split(inParts(new Uint8Array(150 * LEAF + 7), 1_000_000), new ChunkMap(), { workers });
    expect(workers.batches).toEqual([32, 32, 32, 32, 22]);
  });

  test('no more chunks are pending than without', async () => {
    const putter = new SlowPutter();
    const workers = new FakeWorkers(() => true);
    const done = split(inParts(new Uint8Array(400 * LEAF), 10 * LEAF), putter, { workers });
    for (let i = 0; i < 10; i++) await settle();
    expect(putter.open).toHaveLength(129);
    expect(workers.batches).toEqual([32, 32, 32, 32, 32]);
    for (let i = 0; i < putter.open.length; i++) {
      putter.open[i]!.resolve();
      await settle();
    }
    expect((await done).chunks).toBe(405);
  });

  test('a putter that fails ends the split', async () => {
    const workers = new FakeWorkers(() => true);
    const put = async () => {
      throw new Error('refused');
    };
    const source = inParts(new Uint8Array(1000 * LEAF), 10 * LEAF);
    await expect(split(source, { put }, { workers })).rejects.toThrow('refused');
  });

  test('what goes wrong in between ends the split: the source, the workers, an abort', async () => {
    const put = vi.fn<ChunkPutter['put']>(async () => {});
    const taken = () => new FakeWorkers(() => true);
    async function* broken() {
      yield new Uint8Array(10 * LEAF);
      throw new Error('the source broke');
    }
    await expect(split(broken(), { put }, { workers: taken() })).rejects.toThrow('the source broke');
    const failing = { offer: () => true, addresses: () => Promise.reject(new Error('no hash')) };
    const source = inParts(new Uint8Array(1000 * LEAF), 10 * LEAF);
    await expect(split(source, { put }, { workers: failing })).rejects.toThrow('no hash');
    expect(put).not.toHaveBeenCalled();
    const aborting = new AbortController();
    async function* silent() {
      yield new Uint8Array(40 * LEAF);
      await new Promise(() => {});
    }
    const aborted = split(silent(), { put }, { workers: taken(), signal: aborting.signal });
    await settle();
    aborting.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
  });

  test('encrypted leaves are not handed over', async () => {
    const workers = new FakeWorkers(() => true);
    const encryption = randomEncryption(systemRandom());
    await split(inParts(new Uint8Array(100 * LEAF), 10 * LEAF), new ChunkMap(), { workers, encryption });
    expect(workers.batches).toEqual([]);
  });
});

describe('splitting', () => {
  test('an empty stream is one empty leaf', async () => {
    const store = new ChunkMap();
    const result = await split(inParts(new Uint8Array(0), 1), store);
    expect(toHex(result.reference)).toBe('b34ca8c22b9e982354f9c7f50b470d66db428d880c8a904d5fe4ec9713171526');
    expect(result).toMatchObject({ length: 0n, chunks: 1 });
    expect(store.chunks.get(toHex(result.reference))?.data).toEqual(new Uint8Array(8));
  });

  test('empty parts change nothing', async () => {
    async function* parts() {
      yield new Uint8Array(0);
      yield Buffer.from('abc');
      yield new Uint8Array(0);
    }
    const { reference } = await split(parts(), new ChunkMap());
    expect(toHex(reference)).toBe(
      toHex((await split(inParts(Buffer.from('abc'), 3), new ChunkMap())).reference),
    );
  });

  test('leaves come in the order of the stream, and every chunk has its own address', async () => {
    const chunks: Chunk[] = [];
    const content = generate('i mod 255', 3 * LEAF + 5);
    await split(inParts(content, 1000), {
      put: async (chunk) => {
        chunks.push(chunk);
      },
    });
    const leaves = chunks.slice(0, 4).map(({ data }) => data.subarray(8));
    expect(Buffer.compare(Buffer.concat(leaves), content)).toBe(0);
    for (const chunk of chunks) expect(toHex(cacFromData(chunk.data).address)).toBe(toHex(chunk.address));
  });

  test('a part may be reused by its source once the next one is requested', async () => {
    async function* reused() {
      const buffer = new Uint8Array(1000);
      for (let i = 0; i < 9; i++) yield buffer.fill(i);
    }
    const expected = Buffer.concat(Array.from({ length: 9 }, (_, i) => new Uint8Array(1000).fill(i)));
    const { reference } = await split(reused(), new ChunkMap());
    expect(toHex(reference)).toBe(toHex((await split(inParts(expected, 9000), new ChunkMap())).reference));
  });

  test('stops reading while 128 leaves and the chunk above them are pending, and resumes when some are taken', async () => {
    const putter = new SlowPutter();
    const done = split(inParts(new Uint8Array(200 * LEAF), 10 * LEAF), putter);
    await settle();
    expect(putter.open).toHaveLength(129);
    putter.open[0]!.resolve();
    putter.open[1]!.resolve();
    await settle();
    expect(putter.open).toHaveLength(130);
    for (let i = 2; i < putter.open.length; i++) {
      putter.open[i]!.resolve();
      await settle();
    }
    expect((await done).chunks).toBe(203);
  });

  test('rejects with the first error of the putter, after every open put has ended', async () => {
    const putter = new SlowPutter();
    let ended = false;
    const done = split(inParts(new Uint8Array(3 * LEAF), LEAF), putter).finally(() => {
      ended = true;
    });
    await settle();
    putter.open[1]!.reject(new Error('second'));
    putter.open[2]!.reject(new Error('third'));
    await settle();
    expect(ended).toBe(false);
    for (const { resolve } of putter.open) resolve();
    await expect(done).rejects.toThrow('second');
  });

  test('a putter that fails ends a split whose source is silent', async () => {
    async function* silent() {
      yield new Uint8Array(LEAF);
      await new Promise(() => {});
    }
    const put = async () => {
      throw new Error('refused');
    };
    await expect(split(silent(), { put })).rejects.toThrow('refused');
  });

  test('a failing put closes the source', async () => {
    let closed = false;
    async function* source() {
      try {
        for (;;) yield new Uint8Array(LEAF);
      } finally {
        closed = true;
      }
    }
    const put = async () => {
      throw new Error('refused');
    };
    await expect(split(source(), { put })).rejects.toThrow('refused');
    await settle();
    expect(closed).toBe(true);
  });

  test('rejects with the error of the source', async () => {
    async function* broken() {
      yield new Uint8Array(5);
      throw new Error('connection reset');
    }
    await expect(split(broken(), new ChunkMap())).rejects.toThrow('connection reset');
  });

  test('rejects with the reason of the signal, even while the source is silent', async () => {
    async function* silent() {
      yield new Uint8Array(LEAF);
      await new Promise(() => {});
    }
    const controller = new AbortController();
    const done = split(silent(), new ChunkMap(), { signal: controller.signal });
    await settle();
    controller.abort(new Error('client is gone'));
    await expect(done).rejects.toThrow('client is gone');
    await expect(split(silent(), new ChunkMap(), { signal: controller.signal })).rejects.toThrow(
      'client is gone',
    );
  });
});
