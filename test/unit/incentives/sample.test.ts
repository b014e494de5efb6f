import { fc, test as property } from '@fast-check/vitest';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { describe, expect, test } from 'vitest';
import { proximityOrder } from '../../../formats/chunk/address.ts';
import { createKeyedHasher } from '../../../formats/crypto/bmt/tree.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import {
  commitmentHash,
  SAMPLE_SIZE,
  type SampleItem,
  type SampleTerms,
  Smallest,
  sampleReserve,
  transformedAddress,
} from '../../../node/incentives/sample.ts';
import vectors from '../../vectors/reserve-sample.json' with { type: 'json' };
import { chunkOf, contentOf, type Fixture, fixture, OVERLAY, type Stamped, stampFor } from './chunks.ts';
import { vectorItems } from './vector.ts';

const ANCHOR = new Uint8Array(32).fill(0x0f);
const TERMS: SampleTerms = { anchor: ANCHOR, depth: 0, stampedUntilNs: 100n, minimumValue: 0n };

async function fill({ store }: Fixture, entries: readonly Stamped[]): Promise<void> {
  for (const { chunk, stamp } of entries) await store.reserve.put(chunk, stamp);
}

function sampleOf(bench: Fixture, terms: Partial<SampleTerms> = {}): Promise<SampleItem[]> {
  const { store, postage, clock } = bench;
  const deps = { reserve: store.reserve, postage, clock };
  return sampleReserve({ ...TERMS, ...terms }, deps, new AbortController().signal);
}

const addresses = (items: readonly SampleItem[]) => items.map(({ chunk }) => toHex(chunk.address));

describe('the vectors', () => {
  const { input, expected } = vectors.cases[0]!;

  test('give the transformed addresses of chunks of both kinds', () => {
    const hasher = createKeyedHasher(fromHex(input.anchor1));
    const seen = vectorItems().map(({ chunk }) => ({
      chunkAddress: toHex(chunk.address),
      transformedAddress: toHex(transformedAddress(chunk, hasher)),
      type: chunk.kind.toUpperCase(),
    }));
    expect(seen.sort((a, b) => (a.transformedAddress < b.transformedAddress ? -1 : 1))).toEqual(
      expected.sorted,
    );
  });

  test('give the order and the hash of the sample, taken from a reserve', async () => {
    const bench = await fixture();
    for (const [n, { chunk }] of vectorItems().entries()) {
      await fill(bench, [{ chunk, stamp: stampFor(chunk, { position: n }) }]);
    }
    const sample = await sampleOf(bench, { anchor: fromHex(input.anchor1) });
    expect(addresses(sample)).toEqual(expected.sorted.map(({ chunkAddress }) => chunkAddress));
    expect(toHex(commitmentHash(sample))).toBe(expected.reserveCommitmentHash.replace('0x', ''));
  });
});

describe('a sample', () => {
  function byTheBook(entries: readonly Stamped[], bench: Fixture, terms: SampleTerms): string[] {
    const hash = (...parts: Uint8Array[]) => keccak_256(Buffer.concat(parts));
    const transformed = ({ chunk }: Stamped) => {
      const { span, payload } = contentOf(chunk);
      let level = new Uint8Array(4096);
      level.set(payload);
      while (level.length > 32) {
        const above = new Uint8Array(level.length / 2);
        for (let at = 0; at < level.length; at += 64)
          above.set(hash(terms.anchor, level.subarray(at, at + 64)), at / 2);
        level = above;
      }
      const inner = hash(terms.anchor, span, level);
      return toHex(chunk.kind === 'cac' ? inner : hash(chunk.address, inner));
    };
    const counting = entries.filter(
      ({ chunk, stamp }) =>
        proximityOrder(chunk.address, OVERLAY) >= bench.store.reserve.radius() &&
        proximityOrder(chunk.address, terms.anchor) >= terms.depth &&
        (bench.batches.get(stamp.batchId[0]!) ?? -1n) >= terms.minimumValue &&
        Buffer.from(stamp.timestamp).readBigUInt64BE() <= terms.stampedUntilNs,
    );
    return [...new Set(counting.map((entry) => `${transformed(entry)} ${toHex(entry.chunk.address)}`))]
      .sort()
      .slice(0, SAMPLE_SIZE)
      .map((line) => line.split(' ')[1]!);
  }

  const entry = fc.record({
    text: fc.nat(60),
    kind: fc.constantFrom('cac' as const, 'soc' as const),
    batch: fc.constantFrom(1, 2, 3),
    timestamp: fc.integer({ min: 1, max: 200 }),
  });

  property.prop(
    [
      fc.array(entry, { maxLength: 60 }),
      fc.record({
        depth: fc.nat(2),
        minimumValue: fc.constantFrom(0n, 500n, 501n, 1001n),
        radius: fc.nat(1),
      }),
      fc.uint8Array({ minLength: 32, maxLength: 32 }),
    ],
    { numRuns: 25 },
  )(
    'equals what the written rule takes from any reserve, whatever order it was filled in',
    async (drawn, { radius, ...rest }, anchor) => {
      const bench = await fixture({ radius });
      const entries = drawn.map(({ text, kind, batch, timestamp }, position): Stamped => {
        const chunk = chunkOf(`chunk ${text}`, kind);
        return { chunk, stamp: stampFor(chunk, { batch, position, timestampNs: BigInt(timestamp) }) };
      });
      await fill(bench, entries);
      const terms = { ...TERMS, ...rest, anchor };
      expect(addresses(await sampleOf(bench, terms))).toEqual(byTheBook(entries, bench, terms));
    },
  );

  test('of more chunks than one page of the reserve has the smallest of all', async () => {
    const bench = await fixture();
    const entries = Array.from({ length: 700 }, (_, n): Stamped => {
      const chunk = chunkOf(`one of many ${n}`);
      return { chunk, stamp: stampFor(chunk, { position: n }) };
    });
    await fill(bench, entries);
    const sample = await sampleOf(bench);
    expect(sample).toHaveLength(SAMPLE_SIZE);
    expect(addresses(sample)).toEqual(byTheBook(entries, bench, TERMS));
  });

  test('leaves out chunks not stamped by the owner of the batch', async () => {
    const bench = await fixture();
    const [good, bad] = [chunkOf('good'), chunkOf('bad')];
    const signer = createSigner(new Uint8Array(32).fill(7));
    await fill(bench, [
      { chunk: good, stamp: stampFor(good) },
      { chunk: bad, stamp: stampFor(bad, { signer }) },
    ]);
    expect(addresses(await sampleOf(bench))).toEqual([toHex(good.address)]);
  });

  test('leaves out chunks stamped after the agreed time, but not those stamped at it', async () => {
    const bench = await fixture();
    const [early, late] = [chunkOf('early'), chunkOf('late')];
    await fill(bench, [
      { chunk: early, stamp: stampFor(early, { timestampNs: 100n }) },
      { chunk: late, stamp: stampFor(late, { timestampNs: 101n }) },
    ]);
    expect(addresses(await sampleOf(bench))).toEqual([toHex(early.address)]);
    expect(await sampleOf(bench, { stampedUntilNs: 101n })).toHaveLength(2);
  });

  test('leaves out batches below the minimum, and those that no longer exist', async () => {
    const bench = await fixture();
    const chunks = [chunkOf('rich'), chunkOf('poor'), chunkOf('gone')];
    await fill(
      bench,
      chunks.map((chunk, n) => ({ chunk, stamp: stampFor(chunk, { batch: n + 1 }) })),
    );
    expect(await sampleOf(bench)).toHaveLength(2);
    expect(addresses(await sampleOf(bench, { minimumValue: 501n }))).toEqual([toHex(chunks[0]!.address)]);
  });

  test('contains a chunk once, however often it is stamped, with a stamp that is old enough', async () => {
    const bench = await fixture();
    const chunk = chunkOf('twice');
    const [late, early] = [1000n, 50n].map((timestampNs, position) =>
      stampFor(chunk, { timestampNs, position }),
    );
    await fill(bench, [
      { chunk, stamp: late! },
      { chunk, stamp: early! },
    ]);
    const sample = await sampleOf(bench);
    expect(sample).toHaveLength(1);
    expect(sample[0]?.stamp.timestamp).toEqual(early!.timestamp);
  });

  test('takes only the chunks of the neighbourhood of the anchor, even of a short one', async () => {
    const bench = await fixture();
    const chunks = Array.from({ length: 40 }, (_, n) => chunkOf(`somewhere ${n}`));
    await fill(
      bench,
      chunks.map((chunk, position) => ({ chunk, stamp: stampFor(chunk, { position }) })),
    );
    const sample = await sampleOf(bench, { anchor: Uint8Array.of(0xff), depth: 2 });
    expect(sample.length).toBeGreaterThan(0);
    expect(sample.length).toBe(chunks.filter(({ address }) => address[0]! >= 0xc0).length);
    expect(sample.every(({ chunk }) => chunk.address[0]! >= 0xc0)).toBe(true);
  });

  test('stops with its signal', async () => {
    const bench = await fixture();
    const chunks = Array.from({ length: 40 }, (_, n) => chunkOf(`many ${n}`));
    await fill(
      bench,
      chunks.map((chunk, position) => ({ chunk, stamp: stampFor(chunk, { position }) })),
    );
    const deps = { reserve: bench.store.reserve, postage: bench.postage, clock: bench.clock };
    const reason = new Error('the round is over');
    await expect(sampleReserve(TERMS, deps, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});

describe('of two chunks with the same transformed address', () => {
  const transformed = new Uint8Array(32).fill(9);
  const item = (text: string, kind: 'cac' | 'soc'): SampleItem => {
    const chunk = chunkOf(text, kind);
    return { chunk, stamp: stampFor(chunk), transformed };
  };
  function kept(items: readonly SampleItem[]): SampleItem[] {
    const smallest = new Smallest();
    for (const one of items) if (smallest.admits(one)) smallest.insert(one);
    return smallest.items;
  }

  test('the content-addressed one is kept, whichever came first', () => {
    const [cac, soc] = [item('a', 'cac'), item('b', 'soc')];
    expect(kept([soc, cac])).toEqual([cac]);
    expect(kept([cac, soc])).toEqual([cac]);
  });

  test('of the same kind the first one is kept', () => {
    const [first, second] = [item('a', 'soc'), item('b', 'soc')];
    expect(kept([first, second])).toEqual([first]);
  });
});
