import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { tarEntries } from '../../../../node/files/collection/tar.ts';
import { HOLES_MAX } from '../../../../node/files/collection/tar-sparse.ts';
import { collect, inParts } from '../chunk-map.ts';
import { paxEntry, TAR_END, tarEntry } from './archives.ts';
import { SPARSE_FORMATS, type SparseFile } from './sparse-archives.ts';

const FILE = fileOf(100_000, [
  [512, 'a'.repeat(512)],
  [40_960, 'b'.repeat(700)],
  [100_000, ''],
]);

function fileOf(size: number, extents: readonly (readonly [offset: number, data: string])[]): SparseFile {
  return { size, extents: extents.map(([offset, data]) => ({ offset, data: Buffer.from(data) })) };
}

const NAME = Buffer.from('sparse');

async function read(archive: Uint8Array): Promise<[path: string, content: string][]> {
  const files: [string, string][] = [];
  for await (const { path, body } of tarEntries(inParts(archive, 700)))
    files.push([path, Buffer.from(await collect(body)).toString('latin1')]);
  return files;
}

function expanded({ size, extents }: SparseFile): string {
  const bytes = Buffer.alloc(size);
  for (const { offset, data } of extents) bytes.set(data, offset);
  return bytes.toString('latin1');
}

describe.each(Object.entries(SPARSE_FORMATS))('a sparse file in the format %s', (_name, write) => {
  test('comes back with its holes', async () => {
    const archive = Buffer.concat([write(NAME, FILE), tarEntry('next', 'x'), TAR_END]);
    expect(await read(archive)).toEqual([
      ['sparse', expanded(FILE)],
      ['next', 'x'],
    ]);
  });

  const gap = fc.nat(3000);
  const extents = fc.array(fc.tuple(gap, fc.integer({ min: 0, max: 900 })), { maxLength: 80 });
  property.prop([extents, gap], { numRuns: 30 })('may have any extents, or none', async (steps, last) => {
    let at = 0;
    const placed = steps.map(([hole, length], i): [number, string] => {
      const offset = at + hole;
      at = offset + length;
      return [offset, String.fromCharCode(97 + (i % 26)).repeat(length)];
    });
    // Writers end a map with the end of the file.
    const file = fileOf(at + last, [...placed, [at + last, '']]);
    expect(await read(Buffer.concat([write(NAME, file), tarEntry('next', 'x')]))).toEqual([
      ['sparse', expanded(file)],
      ['next', 'x'],
    ]);
  });

  test.each([
    [
      'overlap',
      [
        [0, 'abc'],
        [2, 'd'],
      ],
    ],
    ['lead out of the file', [[99_999, 'abc']]],
  ] as const)('is refused with extents that %s', async (_what, extents) => {
    await expect(read(write(NAME, fileOf(100_000, extents)))).rejects.toMatchObject({
      code: 'INVALID_TAR_FILENAME',
    });
  });

  test('is refused when the archive ends in it', async () => {
    const archive = write(NAME, FILE);
    for (let end = 1300; end < archive.length; end += 211) {
      if (end % 512 === 0) continue;
      await expect(read(archive.subarray(0, end))).rejects.toMatchObject({ code: 'INVALID_TAR' });
    }
  });

  test('is refused with more holes than a node fills', async () => {
    await expect(read(write(NAME, fileOf(HOLES_MAX + 1, [[HOLES_MAX + 1, '']])))).rejects.toMatchObject({
      code: 'COLLECTION_TOO_LARGE',
      message: expect.stringContaining('"sparse"'),
    });
  });
});

test.each([
  ['with another size of data', { 'GNU.sparse.numblocks': '1', 'GNU.sparse.map': '0,5' }, 'INVALID_TAR'],
  [
    'with a number too many',
    { 'GNU.sparse.numblocks': '1', 'GNU.sparse.map': '0,1,2' },
    'INVALID_TAR_FILENAME',
  ],
  [
    'with a negative offset',
    { 'GNU.sparse.numblocks': '1', 'GNU.sparse.map': '-1,4' },
    'INVALID_TAR_FILENAME',
  ],
  ['without an end of its map', { 'GNU.sparse.major': '1', 'GNU.sparse.minor': '0' }, 'INVALID_TAR_FILENAME'],
])('a sparse file is refused %s', async (_what, records, code) => {
  const archive = Buffer.concat([
    paxEntry({ 'GNU.sparse.size': '10', ...records }),
    tarEntry('GNUSparseFile.1/sparse', 'abcd'),
  ]);
  await expect(read(archive)).rejects.toMatchObject({ code });
});

test('a file whose sparse form is not known is taken as it is', async () => {
  const archive = Buffer.concat([
    paxEntry({ 'GNU.sparse.major': '2', 'GNU.sparse.minor': '0' }),
    tarEntry('GNUSparseFile.1/sparse', 'abcd'),
  ]);
  expect(await read(archive)).toEqual([['GNUSparseFile.1/sparse', 'abcd']]);
});
