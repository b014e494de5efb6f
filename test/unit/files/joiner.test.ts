import { describe, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { type Chunk, type ChunkGetter, ChunkNotFoundError } from '../../../formats/chunk/chunk.ts';
import { encodeSpan } from '../../../formats/chunk/span.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { openFile } from '../../../node/files/joiner.ts';
import { parityCount } from '../../../node/files/redundancy/redundancy.ts';
import { split } from '../../../node/files/splitter.ts';
import { ChunkMap, collect, generate, inParts } from './chunk-map.ts';
import { settle } from './settle.ts';

const LEAF = 4096;
const RUN = 128 * LEAF;

class SlowGetter implements ChunkGetter {
  readonly open = new Map<string, { deliver: () => void; fail: (reason: Error) => void }>();
  readonly aborted: string[] = [];
  readonly #store: ChunkMap;
  asked = 0;

  constructor(store: ChunkMap) {
    this.#store = store;
  }

  get(address: Uint8Array, signal?: AbortSignal): Promise<Chunk> {
    const key = toHex(address);
    this.asked += 1;
    return new Promise((resolve, reject) => {
      this.open.set(key, {
        deliver: () => {
          this.open.delete(key);
          resolve(this.#store.chunks.get(key) as Chunk);
        },
        fail: reject,
      });
      signal?.addEventListener('abort', () => {
        if (this.open.has(key)) this.aborted.push(key);
        reject(signal.reason as Error);
      });
    });
  }

  /** Newest first, so that order never helps the reader. */
  async deliverAll(): Promise<void> {
    for (const { deliver } of [...this.open.values()].reverse()) deliver();
    await settle();
  }
}

/** Every leaf has an address of its own. */
async function stored(
  length: number,
): Promise<{ store: ChunkMap; content: Uint8Array; reference: Uint8Array }> {
  const content = generate('i mod 251', length);
  for (let leaf = 0; leaf * LEAF < length; leaf++) new DataView(content.buffer).setUint16(leaf * LEAF, leaf);
  const store = new ChunkMap();
  const { reference } = await split(inParts(content, 65_536), store);
  return { store, content, reference };
}

async function opened(store: ChunkMap, reference: Uint8Array) {
  const getter = new SlowGetter(store);
  const opening = openFile(reference, getter);
  await getter.deliverAll();
  return { getter, file: await opening };
}

describe('a missing chunk', () => {
  test('at the root is reported as a chunk that is not found', async () => {
    await expect(openFile(new Uint8Array(32), new ChunkMap())).rejects.toBeInstanceOf(ChunkNotFoundError);
  });

  test('at the root, because there is no peer to ask, is not found either', async () => {
    const noPeer = Object.assign(new Error('no peer found'), { code: 'NO_PEER' });
    const opening = openFile(new Uint8Array(32), { get: () => Promise.reject(noPeer) });
    await expect(opening).rejects.toMatchObject({ code: 'CHUNK_NOT_FOUND', cause: noPeer });
  });

  test('below the root ends the read after all bytes before it', async () => {
    const { store, content, reference } = await stored(10 * LEAF);
    const missing = store.chunks.get(toHex(reference))!.data.subarray(8 + 3 * 32, 8 + 4 * 32);
    store.chunks.delete(toHex(missing));
    const file = await openFile(reference, store);
    const pieces: Uint8Array[] = [];
    const read = async () => {
      for await (const piece of file.read(0n, file.length)) pieces.push(piece);
    };
    await expect(read()).rejects.toMatchObject({
      code: 'CHUNK_UNAVAILABLE',
      cause: { code: 'CHUNK_NOT_FOUND' },
    });
    expect(Buffer.compare(Buffer.concat(pieces), content.subarray(0, 3 * LEAF))).toBe(0);
  });

  test('outside the range does not matter', async () => {
    const { store, content, reference } = await stored(10 * LEAF);
    const missing = store.chunks.get(toHex(reference))!.data.subarray(8 + 3 * 32, 8 + 4 * 32);
    store.chunks.delete(toHex(missing));
    const file = await openFile(reference, store);
    const part = await collect(file.read(BigInt(4 * LEAF), BigInt(6 * LEAF)));
    expect(Buffer.compare(part, content.subarray(4 * LEAF, 6 * LEAF))).toBe(0);
  });
});

test('a reference of a length other than 32 or 64 is refused', async () => {
  for (const length of [0, 31, 33, 63, 65, 96])
    await expect(openFile(new Uint8Array(length), new ChunkMap())).rejects.toMatchObject({
      code: 'REFERENCE_INVALID',
    });
});

describe('a read', () => {
  test('requests only the chunks that the range touches', async () => {
    const { store, reference } = await stored(3 * RUN + 100);
    const file = await openFile(reference, store);
    store.asked.length = 0;
    await collect(file.read(BigInt(RUN + 10), BigInt(RUN + 20)));
    expect(store.asked).toHaveLength(2);
    store.asked.length = 0;
    await collect(file.read(BigInt(RUN - 1), BigInt(RUN + 1)));
    expect(store.asked).toHaveLength(4);
  });

  test('of nothing requests nothing', async () => {
    const { store, reference } = await stored(2 * LEAF);
    const file = await openFile(reference, store);
    store.asked.length = 0;
    expect(await collect(file.read(5n, 5n))).toHaveLength(0);
    expect(store.asked).toHaveLength(0);
  });

  test('outside the content is an error of the caller', async () => {
    const { store, reference } = await stored(LEAF);
    const file = await openFile(reference, store);
    for (const [offset, end] of [
      [-1n, 1n],
      [2n, 1n],
      [0n, 4097n],
    ] as const)
      await expect(collect(file.read(offset, end))).rejects.toThrow('range');
  });

  test.each([
    { name: 'short content', length: 100 * LEAF, readAhead: undefined, ahead: 64 },
    { name: 'long content', length: 10_000_001, readAhead: undefined, ahead: 128 },
    { name: 'a chosen window', length: 100 * LEAF, readAhead: 3 * LEAF, ahead: 3 },
    { name: 'no window', length: 100 * LEAF, readAhead: 0, ahead: 1 },
    { name: 'a negative window', length: 100 * LEAF, readAhead: -5, ahead: 1 },
  ])(
    'of $name has at most $ahead leaves open ahead of its consumer',
    async ({ length, readAhead, ahead }) => {
      const { store, reference } = await stored(length);
      const { getter, file } = await opened(store, reference);
      const read = file.read(0n, file.length, readAhead === undefined ? {} : { readAhead });
      const first = read.next();
      await settle();
      // Three levels show their leaves only with the intermediate chunk.
      if (length > RUN) await getter.deliverAll();
      await settle();
      // The last leaf in the window may reach beyond it.
      expect(getter.open.size).toBe(ahead);
      await getter.deliverAll();
      expect((await first).value).toBeDefined();
      await settle();
      expect(getter.open.size).toBe(0);
      await read.return();
    },
  );

  test('never holds more than four megabytes, whatever window is requested', async () => {
    const { store, reference } = await stored(5 * 1024 * 1024);
    const { getter, file } = await opened(store, reference);
    const read = file.read(0n, file.length, { readAhead: 1e12 });
    const first = read.next();
    await settle();
    await getter.deliverAll();
    expect(getter.open.size).toBe(1024);
    await getter.deliverAll();
    await first;
    await read.return();
  });

  test('requests nothing more while its consumer takes nothing', async () => {
    const { store, reference } = await stored(100 * LEAF);
    const { getter, file } = await opened(store, reference);
    const read = file.read(0n, file.length, { readAhead: 4 * LEAF });
    const first = read.next();
    await settle();
    await getter.deliverAll();
    await first;
    const asked = getter.asked;
    await settle();
    expect(getter.asked).toBe(asked);
    const second = read.next();
    await settle();
    expect(getter.asked).toBe(asked + 4);
    await getter.deliverAll();
    expect((await second).value).toHaveLength(4 * LEAF);
    await read.return();
  });

  test('yields pieces with memory of their own, or reuses one buffer when allowed', async () => {
    const { store, content, reference } = await stored(3 * RUN);
    const file = await openFile(reference, store);
    const all = (options: { readonly reuse?: true }) =>
      Array.fromAsync(file.read(0n, file.length, options), (piece) => ({ piece, copy: piece.slice() }));
    const own = await all({});
    expect(new Set(own.map(({ piece }) => piece.buffer)).size).toBe(own.length);
    const reused = await all({ reuse: true });
    expect(new Set(reused.map(({ piece }) => piece.buffer)).size).toBe(1);
    for (const pieces of [own, reused]) {
      expect(Buffer.concat(pieces.map(({ copy }) => copy)).equals(content)).toBe(true);
    }
  });

  test('delivers in order what arrives out of order', async () => {
    const { store, content, reference } = await stored(2 * RUN + 5);
    const { getter, file } = await opened(store, reference);
    const whole = collect(file.read(0n, file.length));
    // Three levels: an intermediate chunk more or less never needs more rounds than there are windows.
    for (let round = 0; round < 2 + (3 * RUN) / 262_144; round++) await getter.deliverAll();
    expect(Buffer.compare(await whole, content)).toBe(0);
  });

  test('that is left early ends its open fetches', async () => {
    const { store, reference } = await stored(100 * LEAF);
    const { getter, file } = await opened(store, reference);
    const read = file.read(0n, file.length, { readAhead: 3 * LEAF });
    const first = read.next();
    await settle();
    [...getter.open.values()][0]!.deliver();
    await first;
    await read.return();
    expect(getter.aborted).toHaveLength(2);
  });

  test('ends with the reason of its signal', async () => {
    const { store, reference } = await stored(100 * LEAF);
    const { file } = await opened(store, reference);
    const controller = new AbortController();
    const read = file.read(0n, file.length, { signal: controller.signal });
    const first = read.next();
    await settle();
    controller.abort(new Error('client is gone'));
    await expect(first).rejects.toThrow('client is gone');
  });
});

describe('a tree', () => {
  async function put(store: ChunkMap, span: bigint, payload: Uint8Array): Promise<Uint8Array> {
    const chunk = makeCac(span, payload);
    await store.put(chunk);
    return chunk.address;
  }

  async function readAll(store: ChunkMap, reference: Uint8Array): Promise<Uint8Array> {
    const file = await openFile(reference, store);
    return collect(file.read(0n, file.length));
  }

  test('may hold a zero-padded leaf and a zero-padded intermediate chunk', async () => {
    const store = new ChunkMap();
    const leaf = new Uint8Array(LEAF).fill(7);
    const short = new Uint8Array(LEAF);
    short.set([1, 2, 3]);
    const references = [await put(store, 4096n, leaf), await put(store, 3n, short)];
    const padded = Buffer.concat([...references, Buffer.alloc(LEAF - 64)]);
    const content = await readAll(store, await put(store, 4099n, padded));
    expect(Buffer.compare(content, Buffer.concat([leaf, Buffer.from([1, 2, 3])]))).toBe(0);
  });

  test('of more than eight levels is malformed', async () => {
    const store = new ChunkMap();
    let reference = await put(store, 4096n, new Uint8Array(LEAF).fill(1));
    for (let level = 0; level < 8; level++) reference = await put(store, 4096n, reference);
    expect(await readAll(store, reference)).toHaveLength(LEAF);
    reference = await put(store, 4096n, reference);
    await expect(readAll(store, reference)).rejects.toMatchObject({ code: 'MALFORMED_TREE' });
  });

  test('that leads back into itself is malformed', async () => {
    const address = new Uint8Array(32).fill(3);
    const wrapped = Buffer.concat([encodeSpan(5000n), address]);
    const data = new Uint8Array(Buffer.concat([new Uint8Array(97), wrapped]));
    const loop: Chunk = { address, data, kind: 'soc', identity: address };
    const file = await openFile(address, { get: async () => loop });
    await expect(collect(file.read(0n, file.length))).rejects.toMatchObject({ code: 'MALFORMED_TREE' });
  });

  test('under a single-owner chunk is that of the wrapped chunk', async () => {
    const { store, content, reference } = await stored(3 * LEAF);
    const address = new Uint8Array(32).fill(3);
    const root = store.chunks.get(toHex(reference)) as Chunk;
    const data = new Uint8Array(Buffer.concat([new Uint8Array(97), root.data]));
    await store.put({ address, data, kind: 'soc', identity: address });
    expect(Buffer.compare(await readAll(store, address), content)).toBe(0);
  });

  test('whose child covers fewer bytes than its parent leaves for it is malformed', async () => {
    const store = new ChunkMap();
    const whole = await put(store, 4096n, new Uint8Array(LEAF).fill(1));
    const short = await put(store, 100n, new Uint8Array(100).fill(2));
    const root = await put(store, 4197n, Buffer.concat([whole, short]));
    await expect(readAll(store, root)).rejects.toMatchObject({ code: 'MALFORMED_TREE' });
  });

  test.each([
    { level: 1, data: 119 },
    { level: 2, data: 107 },
    { level: 3, data: 97 },
    { level: 4, data: 39 },
  ] as const)('with parities of level $level is read past $data full leaves', async ({ level, data }) => {
    const store = new ChunkMap();
    const marked = (span: bigint) => span | (BigInt(0x80 + level) << 56n);
    const leaf = (i: number) => new Uint8Array(LEAF).fill(i + 1);
    const leaves = Array.from({ length: data + 1 }, (_, i) => leaf(i));
    const references = [];
    for (const payload of leaves) references.push(await put(store, 4096n, payload));
    const parity = new Uint8Array(32).fill(0xee);
    const run = Buffer.concat([
      ...references.slice(0, data),
      ...Array.from({ length: 128 - data }, () => parity),
    ]);
    const runReference = await put(store, marked(BigInt(data * LEAF)), run);
    const parities = Array.from({ length: parityCount(2, { level, encrypted: false }) }, () => parity);
    const top = Buffer.concat([runReference, references[data] as Uint8Array, ...parities]);
    const root = await put(store, marked(BigInt((data + 1) * LEAF)), top);
    const content = await readAll(store, root);
    expect(Buffer.compare(content, Buffer.concat(leaves))).toBe(0);
    expect(store.asked).not.toContain(toHex(parity));
  });

  test.each([5, 127])('that names redundancy level %s is malformed', async (level) => {
    const store = new ChunkMap();
    const root = await put(store, 8192n | (BigInt(0x80 + level) << 56n), new Uint8Array(64).fill(1));
    await expect(readAll(store, root)).rejects.toMatchObject({ code: 'MALFORMED_TREE' });
  });

  test('with fewer references than its level needs is malformed', async () => {
    const store = new ChunkMap();
    const root = await put(store, 20_000n | (0x81n << 56n), new Uint8Array(64).fill(1));
    await expect(readAll(store, root)).rejects.toMatchObject({ code: 'MALFORMED_TREE' });
  });
});
