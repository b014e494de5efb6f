import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { bytesOf, textOf } from '../../../node/manifest/byte-text.ts';
import { encodeNode } from '../../../node/manifest/codec.ts';
import { type ListingRequest, list } from '../../../node/manifest/listing.ts';
import { Manifest } from '../../../node/manifest/manifest.ts';

const REFERENCE = new Uint8Array(32).fill(7);
const ALL: ListingRequest = { prefix: '', delimiter: '', after: '', limit: 1000 };

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

const byBytes = (a: Buffer, b: Buffer) => Buffer.compare(a, b);

/** Computed from all paths, byte by byte, in hex. */
function expected(paths: readonly string[], request: ListingRequest): string[] {
  const [prefix, delimiter, after] = [request.prefix, request.delimiter, request.after].map(bytesOf);
  const shown = paths
    .map(bytesOf)
    .filter((path) => path.subarray(0, prefix!.length).equals(prefix!))
    .map((path) => {
      const end = delimiter!.length === 0 ? -1 : path.indexOf(delimiter!, prefix!.length);
      return end === -1 ? path : path.subarray(0, end + delimiter!.length);
    })
    .filter((one) => byBytes(one, after!) > 0);
  return [...new Set(shown.sort(byBytes).map((one) => one.toString('hex')))];
}

const byte = (value: number) => textOf(Uint8Array.of(value));
const names = fc.stringMatching(/^[a-c/éà©]{1,8}$/).filter((path) => path !== '/');

property.prop([
  fc.uniqueArray(names, { minLength: 1, maxLength: 30 }),
  fc.record({
    // Bytes of é, à and ©, which are no text alone.
    prefix: fc.oneof(fc.constantFrom('', byte(0xc3), `a${byte(0xc3)}`), names),
    delimiter: fc.constantFrom('', '/', 'b', 'ab', byte(0xa9)),
    after: fc.oneof(fc.constant(''), names),
    limit: fc.integer({ min: 1, max: 5 }),
  }),
])('pages tell everything once, in the order of bytes', async (paths, request) => {
  const { manifest } = await stored(paths);
  const seen: string[] = [];
  for (let { after } = request; ; ) {
    const page = await list(manifest, { ...request, after });
    const shown = [...page.entries.map(({ path }) => path), ...page.commonPrefixes]
      .map(bytesOf)
      .sort(byBytes);
    expect(shown.length).toBeLessThanOrEqual(request.limit);
    seen.push(...shown.map((one) => one.toString('hex')));
    if (page.nextMarker === undefined) break;
    expect(bytesOf(page.nextMarker)).toEqual(shown.at(-1));
    // A page that repeats would never end.
    expect(byBytes(bytesOf(page.nextMarker), bytesOf(after))).toBeGreaterThan(0);
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

test('a prefix and a delimiter may be bytes within a character', async () => {
  const { manifest } = await stored(['a/é', 'a/à', 'a/©', 'é']);
  const within = await list(manifest, { ...ALL, prefix: `a/${byte(0xc3)}` });
  expect(within.entries.map(({ path }) => path)).toEqual(['a/à', 'a/é']);
  const cut = await list(manifest, { ...ALL, prefix: 'a/', delimiter: byte(0xc3) });
  expect(cut.commonPrefixes).toEqual([`a/${byte(0xc3)}`]);
  expect(cut.entries.map(({ path }) => path)).toEqual(['a/©']);
});

test('a page of names that no request could name is given up at twice its limit or size', async () => {
  const unnamed = Array.from({ length: 100 }, (_, at) => textOf(Uint8Array.of(0xff, 0x80 + at)));
  const { manifest } = await stored(unnamed);
  const tooLarge = {
    code: 'MANIFEST_TOO_LARGE',
    message: expect.stringContaining('the limit of 40 or 8388608'),
  };
  await expect(list(manifest, { ...ALL, limit: 40 })).rejects.toMatchObject(tooLarge);
  expect((await list(manifest, { ...ALL, limit: 50 })).entries).toHaveLength(100);
  const heavy = Manifest.create();
  for (let at = 0; at < 300; at++)
    await heavy.add(textOf(Uint8Array.of(0xff, 0x80 + (at % 100), 0x80 + at / 100)), REFERENCE, {
      note: 'x'.repeat(60_000),
    });
  await expect(list(heavy, ALL)).rejects.toMatchObject({ code: 'MANIFEST_TOO_LARGE' });
});

test('a page of small files ends by the size of its JSON', async () => {
  const manifest = Manifest.create();
  const note = '\u0001'.repeat(10_000);
  for (let n = 0; n < 300; n++) await manifest.add(`${n}`.padStart(3, '0'), REFERENCE, { note });
  // Six characters for one: 140 of them take 8 MiB.
  expect((await list(manifest, ALL)).entries).toHaveLength(140);
});

test('a page that leads through too many nodes is given up, what is left out is not counted', async () => {
  const zeros = new Uint8Array(32);
  /** Three levels of 255, none with a file. */
  const levels = Array.from({ length: 4 }, (_level, level) => {
    const next = zeros.with(31, level + 1);
    const prefixes = Array.from({ length: level === 3 ? 0 : 255 }, (_, at) => String.fromCharCode(at + 1));
    const forks = prefixes.map((prefix) => ({ prefix, flags: 6, reference: next, metadata: undefined }));
    return encodeNode({ obfuscationKey: zeros, referenceSize: 32, entry: zeros, forks });
  });
  let reads = 0;
  const manifest = await Manifest.load(zeros, async (reference) => {
    reads++;
    return levels[reference[31] as number] as Uint8Array;
  });
  await expect(list(manifest, ALL)).rejects.toMatchObject({
    code: 'MANIFEST_TOO_LARGE',
    message: 'manifest too large: more than 100000 nodes for one page',
  });
  expect(reads).toBeLessThan(100_010);
  reads = 0;
  expect((await list(manifest, { ...ALL, prefix: 'abc' })).entries).toEqual([]);
  expect(reads).toBe(3);
});

test('a page does not end at a name that no request could name', async () => {
  const paths = ['a', textOf(Uint8Array.of(0x62, 0xff)), 'c', 'd'];
  const { manifest } = await stored(paths);
  const first = await list(manifest, { ...ALL, limit: 2 });
  expect(first.entries.map(({ path }) => path)).toEqual(paths.slice(0, 3));
  expect(first.nextMarker).toBe('c');
});
