import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { bytesOf, textOf } from '../../../node/manifest/byte-text.ts';
import { type ListingRequest, list } from '../../../node/manifest/listing.ts';
import { Manifest } from '../../../node/manifest/manifest.ts';

const REFERENCE = new Uint8Array(32).fill(7);
const ALL: ListingRequest = { prefix: '', delimiter: '', after: '', limit: 1000 };

/** A manifest with these paths, stored, and what is read of it. */
async function stored(paths: readonly string[]) {
  const manifest = Manifest.create();
  for (const path of paths) await manifest.add(path, REFERENCE, { Filename: path.toWellFormed() });
  await manifest.add('/', new Uint8Array(0), { 'website-index-document': 'index.html' });
  const nodes: Uint8Array[] = [];
  const root = await manifest.save(async (bytes) => {
    const reference = new Uint8Array(32);
    new DataView(reference.buffer).setUint32(0, nodes.push(bytes));
    return reference;
  });
  let reads = 0;
  const loaded = await Manifest.load(root, async (reference) => {
    reads++;
    return nodes[new DataView(reference.buffer, reference.byteOffset).getUint32(0) - 1] as Uint8Array;
  });
  return { manifest: loaded, size: nodes.length, reads: () => reads };
}

const byBytes = (a: string, b: string) => Buffer.compare(bytesOf(a), bytesOf(b));

/** The same from all paths. */
function expected(paths: readonly string[], { prefix, delimiter, after }: ListingRequest): string[] {
  const shown = paths
    .filter((path) => path.startsWith(prefix))
    .map((path) => {
      const end = delimiter === '' ? -1 : path.indexOf(delimiter, prefix.length);
      return end === -1 ? path : path.slice(0, end + delimiter.length);
    });
  return [...new Set(shown)].filter((one) => byBytes(one, after) > 0).sort(byBytes);
}

const names = fc.stringMatching(/^[a-c/é]{1,8}$/).filter((path) => path !== '/');

property.prop([
  fc.uniqueArray(names, { minLength: 1, maxLength: 30 }),
  fc.record({
    prefix: fc.oneof(fc.constant(''), names),
    delimiter: fc.constantFrom('', '/', 'b', 'ab'),
    after: fc.oneof(fc.constant(''), names),
    limit: fc.integer({ min: 1, max: 5 }),
  }),
])('pages tell everything once, in the order of bytes', async (paths, request) => {
  const { manifest } = await stored(paths);
  const seen: string[] = [];
  for (let { after } = request; ; ) {
    const page = await list(manifest, { ...request, after });
    const shown = [...page.entries.map(({ path }) => path), ...page.commonPrefixes].sort(byBytes);
    expect(shown.length).toBeLessThanOrEqual(request.limit);
    seen.push(...shown);
    if (page.nextMarker === undefined) break;
    expect(page.nextMarker).toBe(shown.at(-1));
    // Each page goes on: one that repeats would never end.
    expect(byBytes(page.nextMarker, after)).toBeGreaterThan(0);
    after = page.nextMarker;
  }
  expect(seen).toEqual(expected(paths, request));
});

describe('a large collection', () => {
  const paths = Array.from({ length: 3_000 }, (_, n) => `d${n % 30}/${n}.txt`);

  test('is read only where the request leads', async () => {
    const { manifest, size, reads } = await stored(paths);
    const before = reads();
    expect((await list(manifest, { ...ALL, delimiter: '/' })).commonPrefixes).toHaveLength(30);
    const shallow = reads() - before;
    expect((await list(manifest, { ...ALL, prefix: 'd7/' })).entries).toHaveLength(100);
    expect((await list(manifest, { ...ALL, after: 'd9/2', limit: 2 })).entries).toHaveLength(2);
    expect(shallow).toBeLessThan(size / 10);
    expect(reads() - before - shallow).toBeLessThan(size / 10);
  });

  test('has pages that end early when metadata is large', async () => {
    const manifest = Manifest.create();
    for (let n = 0; n < 300; n++)
      await manifest.add(`${n}`.padStart(3, '0'), REFERENCE, { note: 'x'.repeat(60_000) });
    const first = await list(manifest, ALL);
    expect(first.entries.length).toBeLessThan(200);
    expect(first.nextMarker).toBe(first.entries.at(-1)?.path);
  });
});

test('a page does not end at a name that no request could name', async () => {
  const paths = ['a', textOf(Uint8Array.of(0x62, 0xff)), 'c', 'd'];
  const { manifest } = await stored(paths);
  const first = await list(manifest, { ...ALL, limit: 2 });
  expect(first.entries.map(({ path }) => path)).toEqual(paths.slice(0, 3));
  expect(first.nextMarker).toBe('c');
});
