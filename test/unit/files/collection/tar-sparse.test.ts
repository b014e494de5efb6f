import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { tarEntries } from '../../../../node/files/collection/tar.ts';
import { HOLES_MAX } from '../../../../node/files/collection/tar-sparse.ts';
import { collect, inParts } from '../chunk-map.ts';
import { octal, paxEntry, TAR_END, tarBody, tarEntry } from './archives.ts';

const GNU = 'ustar  \0';

interface SparseFile {
  readonly size: number;
  readonly extents: readonly (readonly [offset: number, data: string])[];
}

const FILE: SparseFile = {
  size: 100_000,
  extents: [
    [512, 'a'.repeat(512)],
    [40_960, 'b'.repeat(700)],
    [100_000, ''],
  ],
};

async function read(archive: Uint8Array): Promise<[path: string, content: string][]> {
  const files: [string, string][] = [];
  for await (const { path, body } of tarEntries(inParts(archive, 700)))
    files.push([path, Buffer.from(await collect(body)).toString('latin1')]);
  return files;
}

function expanded({ size, extents }: SparseFile): string {
  const bytes = Buffer.alloc(size);
  for (const [offset, data] of extents) bytes.write(data, offset, 'latin1');
  return bytes.toString('latin1');
}

const dataOf = ({ extents }: SparseFile) => extents.map(([, data]) => data).join('');
const numbersOf = ({ extents }: SparseFile) => extents.flatMap(([offset, data]) => [offset, data.length]);

/** A number of a header, of which the largest take the place of the NUL as well. */
const field = (value: number) => octal(value).slice(0, 12);

/** As GNU tar writes it: four extents in the header, 21 in each block after it. */
function gnu(file: SparseFile): Buffer {
  const numbers = numbersOf(file).map(field);
  const data = dataOf(file);
  const header = tarEntry('sparse', '', {
    type: 'S',
    magic: GNU,
    size: octal(data.length),
    at: { 386: numbers.slice(0, 8).join(''), 482: numbers.length > 8 ? '\x01' : '\0', 483: field(file.size) },
  });
  const blocks: Buffer[] = [];
  for (let at = 8; at < numbers.length; at += 42) {
    const block = Buffer.alloc(512);
    block.write(numbers.slice(at, at + 42).join(''), 'latin1');
    block[504] = at + 42 < numbers.length ? 1 : 0;
    blocks.push(block);
  }
  return Buffer.concat([header, ...blocks, tarBody(data)]);
}

const cut = (data: string) => tarEntry('GNUSparseFile.1/sparse', data);

/** The three forms of pax, by their version. */
const PAX: Readonly<Record<string, (file: SparseFile) => Buffer>> = {
  '0.0': (file) => {
    const pairs = file.extents.map(([offset, { length }]) => [
      `${paxText('GNU.sparse.offset', offset)}${paxText('GNU.sparse.numbytes', length)}`,
    ]);
    const records = `${paxText('GNU.sparse.size', file.size)}${paxText('GNU.sparse.numblocks', pairs.length)}${pairs.join('')}`;
    return Buffer.concat([tarEntry('pax', records, { type: 'x' }), tarEntry('sparse', dataOf(file))]);
  },
  '0.1': (file) =>
    Buffer.concat([
      paxEntry({
        'GNU.sparse.name': 'sparse',
        'GNU.sparse.size': String(file.size),
        'GNU.sparse.numblocks': String(file.extents.length),
        'GNU.sparse.map': numbersOf(file).join(','),
      }),
      cut(dataOf(file)),
    ]),
  '1.0': (file) =>
    Buffer.concat([
      paxEntry({
        'GNU.sparse.major': '1',
        'GNU.sparse.minor': '0',
        'GNU.sparse.name': 'sparse',
        'GNU.sparse.realsize': String(file.size),
      }),
      cut(tarBody([file.extents.length, ...numbersOf(file), ''].join('\n')).toString() + dataOf(file)),
    ]),
};

function paxText(key: string, value: number): string {
  const rest = ` ${key}=${value}\n`;
  return `${rest.length + 2}${rest}`;
}

const FORMATS = Object.entries({ GNU: gnu, ...PAX });

describe.each(FORMATS)('a sparse file in the format %s', (_name, write) => {
  test('comes back with its holes', async () => {
    const archive = Buffer.concat([write(FILE), tarEntry('next', 'x'), TAR_END]);
    expect(await read(archive)).toEqual([
      ['sparse', expanded(FILE)],
      ['next', 'x'],
    ]);
  });

  test('may have any extents, or none', async () => {
    const gap = fc.nat(3000);
    const extents = fc.array(fc.tuple(gap, fc.integer({ min: 0, max: 900 })), { maxLength: 80 });
    await fc.assert(
      fc.asyncProperty(extents, gap, async (steps, last) => {
        let at = 0;
        const placed = steps.map(([hole, length], i): [number, string] => {
          const offset = at + hole;
          at = offset + length;
          return [offset, String.fromCharCode(97 + (i % 26)).repeat(length)];
        });
        // Writers end a map with the end of the file.
        const file = { size: at + last, extents: [...placed, [at + last, '']] } satisfies SparseFile;
        expect(await read(Buffer.concat([write(file), tarEntry('next', 'x')]))).toEqual([
          ['sparse', expanded(file)],
          ['next', 'x'],
        ]);
      }),
      { numRuns: 30 },
    );
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
    await expect(read(write({ size: 100_000, extents }))).rejects.toMatchObject({
      code: 'INVALID_TAR_FILENAME',
    });
  });

  test('is refused when the archive ends in it', async () => {
    const archive = write(FILE);
    for (let end = 1300; end < archive.length; end += 211) {
      if (end % 512 === 0) continue;
      await expect(read(archive.subarray(0, end))).rejects.toMatchObject({ code: 'INVALID_TAR' });
    }
  });

  test('is refused with more holes than a node fills', async () => {
    await expect(read(write({ size: HOLES_MAX + 1, extents: [[HOLES_MAX + 1, '']] }))).rejects.toMatchObject({
      code: 'HOLES_TOO_LARGE',
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
  const archive = Buffer.concat([paxEntry({ 'GNU.sparse.size': '10', ...records }), cut('abcd')]);
  await expect(read(archive)).rejects.toMatchObject({ code });
});

test('a file whose sparse form is not known is taken as it is', async () => {
  const archive = Buffer.concat([
    paxEntry({ 'GNU.sparse.major': '2', 'GNU.sparse.minor': '0' }),
    cut('abcd'),
  ]);
  expect(await read(archive)).toEqual([['GNUSparseFile.1/sparse', 'abcd']]);
});
