import { describe, expect, test } from 'vitest';
import { makeCac } from '../../../../formats/chunk/cac.ts';
import { type Chunk, ChunkNotFoundError } from '../../../../formats/chunk/chunk.ts';
import { toHex } from '../../../../formats/crypto/hex.ts';
import type { RedundancyLevel } from '../../../../node/files/redundancy/redundancy.ts';
import { getReplicated, makeReplicas, replicasOf } from '../../../../node/files/redundancy/replicas.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';

const ROOT = makeCac(5n, Buffer.from('hello'));

class Network {
  readonly clock = new ManualClock();
  readonly kept: Chunk[] = [];
  readonly open = new Map<string, { resolve: (chunk: Chunk) => void; reject: (reason: unknown) => void }>();
  readonly asked: string[] = [];
  aborted = 0;

  search(level: RedundancyLevel, signal?: AbortSignal): Promise<Chunk> {
    const deps = {
      getter: { get: (address: Uint8Array, ending?: AbortSignal) => this.#ask(address, ending) },
      clock: this.clock,
      keep: (chunk: Chunk) => void this.kept.push(chunk),
    };
    return getReplicated(ROOT.address, level, deps, signal);
  }

  async fail(address: string): Promise<void> {
    this.open.get(address)?.reject(new ChunkNotFoundError(address));
    this.open.delete(address);
    await this.clock.settle();
  }

  give(address: string, chunk: Chunk): void {
    this.open.get(address)?.resolve(chunk);
    this.open.delete(address);
  }

  async failAll(): Promise<void> {
    for (const address of Array.from(this.open.keys())) await this.fail(address);
  }

  #ask(address: Uint8Array, signal?: AbortSignal): Promise<Chunk> {
    const key = toHex(address);
    this.asked.push(key);
    return new Promise((resolve, reject) => {
      this.open.set(key, { resolve, reject });
      signal?.addEventListener('abort', () => {
        if (this.open.delete(key)) this.aborted += 1;
        reject(signal.reason as Error);
      });
    });
  }
}

const addresses = replicasOf(ROOT.address, 4).map(({ address }) => toHex(address));
const replicas = [...makeReplicas(ROOT, 4)];

describe('the search for a root chunk', () => {
  test('requests the chunk itself first, and nothing else when it arrives', async () => {
    const network = new Network();
    const searching = network.search(4);
    network.give(toHex(ROOT.address), ROOT);
    expect(await searching).toBe(ROOT);
    expect(network.asked).toEqual([toHex(ROOT.address)]);
    await network.clock.advance(10_000);
    expect(network.asked).toHaveLength(1);
    expect(network.kept).toEqual([]);
  });

  test('asks for more replicas every 300 ms, in their order, up to those of its level', async () => {
    for (const level of [1, 2, 3, 4] as const) {
      const network = new Network();
      const controller = new AbortController();
      const searching = network.search(level, controller.signal);
      const counts: number[] = [];
      for (let i = 0; i < 6; i++) {
        await network.clock.advance(299);
        counts.push(network.asked.length - 1);
        await network.clock.advance(1);
      }
      expect(counts).toEqual([0, 2, 4, 8, 16, 16].map((count) => Math.min(count, 2 ** level)));
      expect(network.asked.slice(1)).toEqual(addresses.slice(0, 2 ** level));
      controller.abort(new Error('client is gone'));
      await expect(searching).rejects.toThrow('client is gone');
    }
  });

  test('does not wait when all its requests have failed', async () => {
    const network = new Network();
    const searching = network.search(4);
    await network.fail(toHex(ROOT.address));
    expect(network.open.size).toBe(2);
    await network.failAll();
    expect(network.open.size).toBe(2);
    await network.failAll();
    expect(network.open.size).toBe(4);
    const at = 5;
    network.give(addresses[at] as string, replicas[at] as Chunk);
    const found = await searching;
    expect(toHex(found.address)).toBe(toHex(ROOT.address));
    expect(found.kind).toBe('cac');
    expect(Buffer.compare(found.data.subarray(0, ROOT.data.length), ROOT.data)).toBe(0);
    expect(network.kept).toEqual([found]);
    expect(network.aborted).toBe(3);
  });

  test('fails like the search for the chunk itself when there is no replica either', async () => {
    const network = new Network();
    const searching = network.search(3);
    const failed = expect(searching).rejects.toMatchObject({
      code: 'CHUNK_NOT_FOUND',
      address: toHex(ROOT.address),
    });
    for (let round = 0; round < 4; round++) await network.failAll();
    await failed;
    expect(network.asked).toHaveLength(9);
  });

  test('accepts no other chunk in its place', async () => {
    const network = new Network();
    const searching = network.search(1);
    const failed = expect(searching).rejects.toMatchObject({ code: 'CHUNK_NOT_FOUND' });
    await network.fail(toHex(ROOT.address));
    const [other] = [...makeReplicas(makeCac(5n, Buffer.from('world')), 1)] as [Chunk];
    network.give(addresses[0] as string, other);
    await network.clock.settle();
    await network.fail(addresses[1] as string);
    await failed;
    expect(network.kept).toEqual([]);
  });

  test('requests nothing more once its signal has aborted', async () => {
    const network = new Network();
    const controller = new AbortController();
    const searching = network.search(4, controller.signal);
    controller.abort(new Error('client is gone'));
    await expect(searching).rejects.toThrow('client is gone');
    await network.clock.advance(10_000);
    expect(network.asked).toHaveLength(1);
  });
});
