import { octal, paxRecord, tarBody, tarEntry } from './archives.ts';

export interface SparseFile {
  readonly size: number;
  readonly extents: readonly { readonly offset: number; readonly data: Uint8Array }[];
}

/** The largest numbers take the place of the NUL as well. */
const field = (value: number) => octal(value).slice(0, 12);
const dataOf = ({ extents }: SparseFile) => Buffer.concat(extents.map(({ data }) => data));
const numbersOf = ({ extents }: SparseFile) => extents.flatMap(({ offset, data }) => [offset, data.length]);

/** By format; a name too long for a header needs more in front. */
export const SPARSE_FORMATS: Readonly<Record<string, (name: Buffer, file: SparseFile) => Buffer>> = {
  gnu: gnuSparse,
  'pax 0.0': (name, file) => {
    const pairs = file.extents.flatMap(({ offset, data }): [string, number][] => [
      ['offset', offset],
      ['numbytes', data.length],
    ]);
    const records = [['size', file.size], ['numblocks', file.extents.length], ...pairs];
    return attributed(
      [['path', name], ...sparseRecords(records as [string, number][])],
      'sparse',
      dataOf(file),
    );
  },
  'pax 0.1': (name, file) =>
    attributed(
      [
        ...sparseRecords([
          ['name', name],
          ['size', file.size],
          ['numblocks', file.extents.length],
          ['map', numbersOf(file).join(',')],
        ]),
      ],
      'GNUSparseFile.1/sparse',
      dataOf(file),
    ),
  'pax 1.0': (name, file) =>
    attributed(
      sparseRecords([
        ['major', 1],
        ['minor', 0],
        ['name', name],
        ['realsize', file.size],
      ]),
      'GNUSparseFile.1/sparse',
      Buffer.concat([tarBody([file.extents.length, ...numbersOf(file), ''].join('\n')), dataOf(file)]),
    ),
};

/** As GNU tar: four extents in the header, 21 in each block after it. */
function gnuSparse(name: Buffer, file: SparseFile): Buffer {
  const numbers = numbersOf(file).map(field);
  const data = dataOf(file);
  const header = tarEntry(name.subarray(0, 100), '', {
    type: 'S',
    magic: 'ustar  \0',
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

function sparseRecords(
  records: readonly (readonly [string, string | number | Buffer])[],
): [string, Buffer][] {
  return records.map(([key, value]) => [
    `GNU.sparse.${key}`,
    typeof value === 'object' ? value : Buffer.from(String(value)),
  ]);
}

function attributed(records: readonly (readonly [string, Buffer])[], name: string, data: Buffer): Buffer {
  const content = Buffer.concat(records.map(([key, value]) => paxRecord(key, value)));
  return Buffer.concat([tarEntry('PaxHeaders.1/x', content, { type: 'x' }), tarEntry(name, data)]);
}
