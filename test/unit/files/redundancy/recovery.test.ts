import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { cacFromData, makeCac } from '../../../../formats/chunk/cac.ts';
import { type Chunk, ChunkNotFoundError } from '../../../../formats/chunk/chunk.ts';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { systemRandom } from '../../../../formats/random.ts';
import { type Encryption, randomEncryption } from '../../../../node/files/encryption.ts';
import { openFile } from '../../../../node/files/joiner.ts';
import {
  LEVEL_MAX,
  parityCount,
  type RedundancyLevel,
  shardsMax,
} from '../../../../node/files/redundancy/redundancy.ts';
import {
  type ContentGetter,
  DATA,
  NONE,
  PROX,
  RACE,
  type Recovery,
} from '../../../../node/files/redundancy/siblings.ts';
import { split } from '../../../../node/files/splitter.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';
import { ChunkMap, collect, inParts } from '../chunk-map.ts';
import { damage, groupsOf } from '../damage.ts';
import { contentKeys } from '../fixed-encryption.ts';

const LEAF = 4096;

/** Every leaf has an address of its own. */
function contentOf(length: number): Uint8Array {
  const content = Uint8Array.from({ length }, (_, i) => i % 251);
  for (let at = 0; at + 4 <= length; at += LEAF) new DataView(content.buffer).setUint32(at, at);
  return content;
}

class Network extends ChunkMap {
  readonly clock = new ManualClock();
  readonly kept: Chunk[] = [];
  readonly silent = new Set<string>();
  aborted = 0;

  getter(wishes: Partial<Recovery> = {}): ContentGetter {
    return {
      get: (address, signal) => this.fetch(address, signal),
      recovery: {
        strategy: DATA,
        fallback: true,
        level: LEVEL_MAX,
        timeoutMs: 30_000,
        clock: this.clock,
        keep: (chunk) => this.kept.push(chunk),
        ...wishes,
      },
    };
  }

  async fetch(address: Uint8Array, signal?: AbortSignal): Promise<Chunk> {
    if (!this.silent.has(toHex(address))) return this.get(address);
    this.asked.push(toHex(address));
    return new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => {
        this.aborted += 1;
        reject(signal.reason as Error);
      });
    });
  }
}

async function stored(length: number, level: RedundancyLevel, encryption?: Encryption) {
  const content = contentOf(length);
  const network = new Network();
  const { reference } = await split(inParts(content, 65_536), network, { level, encryption });
  return { content, network, reference };
}

async function readAll(reference: Uint8Array, getter: ContentGetter): Promise<Uint8Array> {
  const file = await openFile(reference, getter);
  return collect(file.read(0n, file.length));
}

const levels = fc.constantFrom<RedundancyLevel>(1, 2, 3, 4);
const cases = fc.tuple(levels, fc.boolean()).chain(([level, encrypted]) => {
  const full = shardsMax({ level, encrypted });
  const leaves = fc.oneof(
    fc.integer({ min: 2, max: 12 }),
    fc.constantFrom(full - 1, full, full + 1, 2 * full, 2 * full + 1),
  );
  return fc.record({
    level: fc.constant(level),
    encrypted: fc.constant(encrypted),
    length: fc
      .tuple(leaves, fc.constantFrom(1, 100, LEAF - 1, LEAF))
      .map(([count, last]) => (count - 1) * LEAF + last),
    seed: fc.nat(),
  });
});

describe('as many losses in every group as it has parities', () => {
  property.prop([cases], { numRuns: 25 })(
    'lose nothing, whichever they are: plain and encrypted, whole and in part',
    async ({ level, encrypted, length, seed }) => {
      const encryption = encrypted ? randomEncryption(systemRandom()) : undefined;
      const { content, network, reference } = await stored(length, level, encryption);
      for (const [i, group] of groupsOf(reference, network).entries())
        damage(group, network, group.parities.length, seed + i);
      expect(Buffer.compare(await readAll(reference, network.getter()), content)).toBe(0);
      const file = await openFile(reference, network.getter({ strategy: RACE }));
      const from = seed % length;
      const to = from + Math.min(5000, length - from);
      const part = await collect(file.read(BigInt(from), BigInt(to)));
      expect(Buffer.compare(part, content.subarray(from, to))).toBe(0);
    },
  );

  test('and the loss of the root chunk as well lose nothing, as long as one replica is left', async () => {
    for (const level of [1, 2, 3, 4] as const) {
      const { content, network, reference } = await stored(5 * LEAF, level);
      network.chunks.delete(toHex(reference));
      const replicas = [...network.chunks.values()].filter(({ kind }) => kind === 'soc');
      expect(replicas).toHaveLength(1 << level);
      for (const { address } of replicas.slice(1)) network.chunks.delete(toHex(address));
      expect(Buffer.compare(await readAll(reference, network.getter()), content)).toBe(0);
    }
  });

  test('are recovered once: what is kept is found the next time', async () => {
    const { content, network, reference } = await stored(20 * LEAF + 5, 2);
    const [group] = groupsOf(reference, network);
    for (const address of group!.data.slice(-3)) network.chunks.delete(address);
    await readAll(reference, network.getter());
    expect(network.kept.map(({ address }) => toHex(address))).toEqual(group!.data.slice(-3));
    for (const chunk of network.kept) {
      expect(chunk.data).toHaveLength(4104);
      expect(toHex(cacFromData(chunk.data).address)).toBe(toHex(chunk.address));
      await network.put(chunk);
    }
    network.kept.length = 0;
    expect(Buffer.compare(await readAll(reference, network.getter()), content)).toBe(0);
    expect(network.kept).toEqual([]);
  });
});

describe('one loss more', () => {
  test('is reported before the first byte, at every level, plain and encrypted', async () => {
    for (const level of [1, 2, 3, 4] as const)
      for (const encryption of [undefined, contentKeys()]) {
        const { network, reference } = await stored(15 * LEAF, level, encryption);
        const [group] = groupsOf(reference, network) as [{ data: string[]; parities: string[] }];
        for (const address of [...group.parities, ...group.data.slice(-1)]) network.chunks.delete(address);
        const file = await openFile(reference, network.getter());
        const first = file.read(0n, file.length).next();
        await expect(first).rejects.toMatchObject({
          code: 'CHUNK_UNAVAILABLE',
          cause: { code: 'CHUNK_NOT_FOUND' },
        });
        expect(network.kept).toEqual([]);
      }
  });

  test('costs a reader of another part nothing', async () => {
    const { content, network, reference } = await stored(30 * LEAF, 1);
    const [group] = groupsOf(reference, network);
    for (const address of [...group!.parities, ...group!.data.slice(-1)]) network.chunks.delete(address);
    const file = await openFile(reference, network.getter());
    const part = await collect(file.read(0n, BigInt(10 * LEAF)));
    expect(Buffer.compare(part, content.subarray(0, 10 * LEAF))).toBe(0);
  });

  test('of an intermediate chunk ends the read where it stands', async () => {
    const full = shardsMax({ level: 4, encrypted: false });
    const { content, network, reference } = await stored((2 * full + 1) * LEAF, 4);
    const [top] = groupsOf(reference, network);
    for (const address of [...top!.parities, top!.data[1] as string]) network.chunks.delete(address);
    const pieces: Uint8Array[] = [];
    const reading = (async () => {
      const file = await openFile(reference, network.getter());
      for await (const piece of file.read(0n, file.length)) pieces.push(piece);
    })();
    await expect(reading).rejects.toMatchObject({ code: 'CHUNK_UNAVAILABLE' });
    const read = Buffer.concat(pieces);
    expect(read.length).toBe(full * LEAF);
    expect(Buffer.compare(read, content.subarray(0, read.length))).toBe(0);
  });
});

describe('a strategy', () => {
  async function group() {
    const file = await stored(10 * LEAF, 2);
    const [only] = groupsOf(file.reference, file.network);
    return { ...file, ...(only as { data: string[]; parities: string[] }) };
  }

  async function firstLeaf(reference: Uint8Array, getter: ContentGetter): Promise<Uint8Array> {
    const file = await openFile(reference, getter);
    return collect(file.read(0n, BigInt(LEAF), { readAhead: 0 }));
  }

  test.each([
    { name: 'none, strict', strategy: NONE, fallback: false, asked: 1 },
    { name: 'none, with fallback', strategy: NONE, fallback: true, asked: 10 },
    { name: 'data, strict', strategy: DATA, fallback: false, asked: 10 },
    { name: 'data, with fallback', strategy: DATA, fallback: true, asked: 10 },
    { name: 'nearest, strict', strategy: PROX, fallback: false, asked: 1 },
    { name: 'nearest, with fallback', strategy: PROX, fallback: true, asked: 17 },
    { name: 'race', strategy: RACE, fallback: true, asked: 17 },
  ] as const)('$name asks for $asked chunks of an undamaged group', async ({ strategy, fallback, asked }) => {
    const { network, reference } = await group();
    network.asked.length = 0;
    await firstLeaf(reference, network.getter({ strategy, fallback }));
    expect(network.asked.length - 1).toBe(asked);
  });

  test.each([
    { name: 'none, strict', strategy: NONE, fallback: false, recovers: false },
    { name: 'none, with fallback', strategy: NONE, fallback: true, recovers: true },
    { name: 'data, strict', strategy: DATA, fallback: false, recovers: false },
    { name: 'data, with fallback', strategy: DATA, fallback: true, recovers: true },
    { name: 'nearest, strict', strategy: PROX, fallback: false, recovers: false },
    { name: 'nearest, with fallback', strategy: PROX, fallback: true, recovers: true },
    { name: 'race, strict', strategy: RACE, fallback: false, recovers: true },
  ] as const)('$name recovers a lost chunk: $recovers', async ({ strategy, fallback, recovers }) => {
    const { content, network, reference, data } = await group();
    network.chunks.delete(data[4] as string);
    const reading = readAll(reference, network.getter({ strategy, fallback }));
    if (recovers) expect(Buffer.compare(await reading, content)).toBe(0);
    else await expect(reading).rejects.toMatchObject({ code: 'CHUNK_UNAVAILABLE' });
  });

  test('that has failed does not affect the chunks that did arrive', async () => {
    const { content, network, reference, data } = await group();
    network.chunks.delete(data[9] as string);
    const getter = network.getter({ strategy: DATA, fallback: false });
    expect(Buffer.compare(await firstLeaf(reference, getter), content.subarray(0, LEAF))).toBe(0);
  });

  test('of a race ends the fetches that are no longer needed', async () => {
    const { content, network, reference, data } = await group();
    for (const address of data.slice(0, 5)) network.silent.add(address);
    const reading = readAll(reference, network.getter({ strategy: RACE }));
    expect(Buffer.compare(await reading, content)).toBe(0);
    expect(network.aborted).toBe(5);
  });

  test('counts a chunk that takes too long as lost, and continues', async () => {
    const { content, network, reference, data } = await group();
    network.silent.add(data[0] as string);
    let read: Uint8Array | undefined;
    const reading = (async () => {
      read = await readAll(reference, network.getter({ timeoutMs: 700 }));
    })();
    await network.clock.advance(699);
    expect(read).toBeUndefined();
    await network.clock.advance(1);
    await reading;
    expect(Buffer.compare(read as unknown as Uint8Array, content)).toBe(0);
  });

  test('gives up within one time limit each when no peer answers', async () => {
    const { network, reference, data, parities } = await group();
    for (const address of [...data, ...parities]) network.silent.add(address);
    const reading = readAll(reference, network.getter({ timeoutMs: 1000 }));
    const ended = expect(reading).rejects.toMatchObject({ code: 'CHUNK_UNAVAILABLE' });
    await network.clock.advance(2000);
    await ended;
  });

  test('ends with its reader, which ends all of its fetches', async () => {
    const { network, reference, data } = await group();
    for (const address of data) network.silent.add(address);
    const controller = new AbortController();
    const file = await openFile(reference, network.getter());
    const reading = file.read(0n, file.length, { signal: controller.signal }).next();
    await network.clock.settle();
    controller.abort(new Error('client is gone'));
    await expect(reading).rejects.toThrow('client is gone');
    expect(network.aborted).toBe(10);
  });
});

describe('a tree that lies', () => {
  test('about its parities is malformed, and gives no wrong bytes', async () => {
    const leaves = Array.from({ length: 3 }, (_, i) =>
      makeCac(BigInt(LEAF), new Uint8Array(LEAF).fill(i + 1)),
    );
    const shape = { level: 1, encrypted: false } as const;
    const parities = Array.from({ length: parityCount(3, shape) }, (_, i) =>
      cacFromData(new Uint8Array(4104).fill(0x55 + i)),
    );
    const network = new Network();
    const references = [...leaves, ...parities].map(({ address }) => address);
    const root = makeCac(BigInt(3 * LEAF) | (0x81n << 56n), Buffer.concat(references));
    for (const chunk of [...leaves.slice(1), ...parities, root]) await network.put(chunk);
    await expect(readAll(root.address, network.getter())).rejects.toMatchObject({ code: 'MALFORMED_TREE' });
    expect(network.kept).toEqual([]);
  });

  test('about the kind of a child is not used for recovery', async () => {
    const { network, reference } = await stored(5 * LEAF, 1);
    const [group] = groupsOf(reference, network);
    const [lost, foreign] = group!.data as [string, string];
    network.chunks.delete(lost);
    for (const address of group!.parities.slice(1)) network.chunks.delete(address);
    const child = network.chunks.get(foreign) as Chunk;
    const data = new Uint8Array(Buffer.concat([new Uint8Array(97), child.data]));
    network.chunks.set(foreign, { ...child, data, kind: 'soc' });
    await expect(readAll(reference, network.getter())).rejects.toMatchObject({ code: 'CHUNK_UNAVAILABLE' });
  });

  test('about the level of a child is malformed', async () => {
    const leaf = makeCac(BigInt(LEAF), new Uint8Array(LEAF).fill(1));
    const network = new Network();
    const inner = makeCac(BigInt(2 * LEAF) | (0x81n << 56n), Buffer.concat([leaf.address, leaf.address]));
    const run = Buffer.concat(Array.from({ length: 128 }, () => inner.address));
    const root = makeCac(BigInt(128 * 2 * LEAF), run);
    for (const chunk of [leaf, inner, root]) await network.put(chunk);
    await expect(readAll(root.address, network.getter())).rejects.toMatchObject({ code: 'MALFORMED_TREE' });
  });
});

test('a getter that does not report lost chunks recovers none', async () => {
  const { content, network, reference } = await stored(5 * LEAF, 4);
  const plain: ContentGetter = { get: (address) => network.get(address) };
  expect(Buffer.compare(await readAll(reference, plain), content)).toBe(0);
  network.chunks.delete(groupsOf(reference, network)[0]!.data[0] as string);
  await expect(readAll(reference, plain)).rejects.toMatchObject({ code: 'CHUNK_UNAVAILABLE' });
  network.chunks.delete(toHex(reference));
  await expect(readAll(reference, plain)).rejects.toBeInstanceOf(ChunkNotFoundError);
});
