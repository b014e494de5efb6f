import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { tarEntries } from '../../../../node/files/collection/tar.ts';
import { collect, inParts } from '../chunk-map.ts';
import { expectReadOrRefused, TAR_END, type TarFile, tarBody, tarHeader, tarOf } from './archives.ts';

interface Read {
  path: string;
  contentType: string;
  filename: string;
  content: string;
}

async function read(archive: Uint8Array, partSize = 700): Promise<Read[]> {
  const files: Read[] = [];
  for await (const { body, ...file } of tarEntries(inParts(archive, partSize)))
    files.push({ ...file, content: Buffer.from(await collect(body)).toString('latin1') });
  return files;
}

const octal = (size: number) => `${size.toString(8).padStart(11, '0')}\0`;

describe('a tar archive', () => {
  test('yields the files of any archive, however it is divided', async () => {
    const name = fc
      .array(fc.stringMatching(/^[a-zé0-9 ]{1,40}$/), { minLength: 1, maxLength: 6 })
      .map((segments) => segments.join('/'));
    const file = fc.record({ name, content: fc.uint8Array({ maxLength: 2000 }) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(file, { maxLength: 6 }),
        fc.integer({ min: 1, max: 3000 }),
        async (files, partSize) => {
          const found = await read(await tarOf(files), partSize);
          expect(found.map(({ path, content }) => [path, content])).toEqual(
            files.map((f) => [f.name, Buffer.from(f.content).toString('latin1')]),
          );
        },
      ),
      { numRuns: 60 },
    );
  });

  test('names the files by their cleaned path, with base name and content type', async () => {
    const archive = await tarOf([
      { name: './a.txt', content: '1' },
      { name: 'img//x/../1.PNG', content: '2' },
      { name: 'site/index.html', content: '3' },
    ]);
    expect(await read(archive)).toEqual([
      { path: 'a.txt', contentType: 'text/plain; charset=utf-8', filename: 'a.txt', content: '1' },
      { path: 'img/1.PNG', contentType: 'image/png', filename: '1.PNG', content: '2' },
      {
        path: 'site/index.html',
        contentType: 'text/html; charset=utf-8',
        filename: 'index.html',
        content: '3',
      },
    ]);
  });

  test('yields only its regular files', async () => {
    const files: TarFile[] = [
      { name: './', type: 'directory' },
      { name: '../up', type: 'directory' },
      { name: 'dir', type: 'directory' },
      { name: 'link', type: 'symlink' },
      { name: 'hard', type: 'link' },
      { name: 'dir/file', content: 'x' },
    ];
    expect((await read(await tarOf(files))).map(({ path }) => path)).toEqual(['dir/file']);
  });

  test('that predates types for directories and magic numbers is read', async () => {
    const archive = Buffer.concat([
      tarHeader({ name: 'dir/', size: octal(0), type: '\0', magic: '' }),
      tarHeader({ name: 'dir/file', size: octal(3), type: '\0', magic: '', prefix: 'not a prefix here' }),
      tarBody('old'),
      TAR_END,
    ]);
    expect((await read(archive)).map(({ path, content }) => [path, content])).toEqual([['dir/file', 'old']]);
  });

  test('supports long names from a prefix, from GNU entries and from pax records', async () => {
    const long = `${'d'.repeat(90)}/${'é'.repeat(90)}.css`;
    const gnu = Buffer.concat([
      tarHeader({
        name: '././@LongLink',
        size: octal(Buffer.byteLength(long) + 1),
        type: 'L',
        magic: 'ustar  \0',
      }),
      tarBody(`${long}\0`),
      // The name that is cut off in the middle of a character does not matter.
      tarHeader({ name: Buffer.from(long).subarray(0, 100), size: octal(1), magic: 'ustar  \0' }),
      tarBody('g'),
    ]);
    const prefixed = Buffer.concat([
      tarHeader({ name: 'file', size: octal(1), prefix: 'some/folder' }),
      tarBody('p'),
    ]);
    const pax = await tarOf([{ name: 'short', content: 'x', pax: { path: `pax/${long}` } }]);
    expect((await read(Buffer.concat([gnu, prefixed, pax]))).map(({ path }) => path)).toEqual([
      long,
      'some/folder/file',
      `pax/${long}`,
    ]);
  });

  test('supports base-256 sizes and sizes in pax records', async () => {
    const size = Buffer.alloc(12);
    size[0] = 0x80;
    size[11] = 5;
    const record = '10 size=4\n';
    const archive = Buffer.concat([
      tarHeader({ name: 'binary', size }),
      tarBody('12345'),
      tarHeader({ name: 'pax', size: octal(record.length), type: 'x' }),
      tarBody(record),
      tarHeader({ name: 'record', size: octal(0) }),
      tarBody('1234'),
      TAR_END,
    ]);
    expect((await read(archive)).map(({ path, content }) => [path, content])).toEqual([
      ['binary', '12345'],
      ['record', '1234'],
    ]);
  });

  test('may have attributes that are not text', async () => {
    const record = Buffer.from('32 SCHILY.xattr.user.raw=\xff\0\n=\n\xfe\n', 'latin1');
    const path = Buffer.from('11 path=é\n');
    const archive = Buffer.concat([
      tarHeader({ name: 'pax', size: octal(record.length + path.length), type: 'x' }),
      tarBody(Buffer.concat([record, path])),
      tarHeader({ name: 'short', size: octal(1) }),
      tarBody('1'),
      TAR_END,
    ]);
    expect((await read(archive)).map((file) => file.path)).toEqual(['é']);
  });

  test.each(['1', '2', '3', '4', '5', '6'])(
    'has no content for an entry of type %s, whatever its size',
    async (type) => {
      const archive = Buffer.concat([
        tarHeader({ name: 'no file', size: octal(5000), type }),
        tarHeader({ name: 'a', size: octal(1) }),
        tarBody('1'),
        TAR_END,
      ]);
      expect((await read(archive)).map(({ path }) => path)).toEqual(['a']);
    },
  );

  test('without any entry, or without a single byte, has no files', async () => {
    expect(await read(TAR_END)).toEqual([]);
    expect(await read(new Uint8Array(0))).toEqual([]);
  });

  test('may end without an end mark, and nothing after the end mark is read', async () => {
    const file = Buffer.concat([tarHeader({ name: 'a', size: octal(1) }), tarBody('1')]);
    expect(await read(file)).toHaveLength(1);
    expect(await read(Buffer.concat([file, TAR_END, file]))).toHaveLength(1);
  });

  test('skips the rest of a body that its consumer left', async () => {
    const archive = await tarOf([
      { name: 'a', content: 'x'.repeat(5000) },
      { name: 'b', content: 'y' },
    ]);
    const paths: string[] = [];
    for await (const { path, body } of tarEntries(inParts(archive, 100))) {
      paths.push(path);
      for await (const piece of body) if (piece.length > 0) break;
    }
    expect(paths).toEqual(['a', 'b']);
  });

  test('closes its source when it is left', async () => {
    let ended = false;
    const archive = await tarOf([{ name: 'a', content: 'x'.repeat(5000) }]);
    async function* source() {
      try {
        yield* inParts(archive, 100);
      } finally {
        ended = true;
      }
    }
    for await (const { path } of tarEntries(source())) {
      expect(path).toBe('a');
      break;
    }
    expect(ended).toBe(true);
  });
});

describe('a tar archive is refused', () => {
  test.each(['../x', 'a/../../x', '/etc/passwd', '..', './../x', ''])(
    'with a file named "%s"',
    async (name) => {
      const archive = Buffer.concat([tarHeader({ name, size: octal(1) }), tarBody('x'), TAR_END]);
      await expect(read(archive)).rejects.toMatchObject({ code: 'INVALID_TAR_FILENAME' });
    },
  );

  test.each(['a\0b', '../../x', '/x', ''])('with a pax path of "%j"', async (path) => {
    const archive = await tarOf([{ name: 'harmless', content: 'x', pax: { path } }]);
    await expect(read(archive)).rejects.toMatchObject({ code: 'INVALID_TAR_FILENAME' });
  });

  test('with a name that is not UTF-8', async () => {
    const archive = Buffer.concat([tarHeader({ name: Buffer.from([0x61, 0xff]), size: octal(0) }), TAR_END]);
    await expect(read(archive)).rejects.toMatchObject({ code: 'INVALID_TAR_FILENAME' });
  });

  test('with a wrong checksum', async () => {
    const archive = await tarOf([{ name: 'a', content: 'x' }]);
    archive[0] = 'b'.charCodeAt(0);
    await expect(read(archive)).rejects.toMatchObject({ code: 'INVALID_TAR_FILENAME' });
  });

  test.each([
    { name: 'a size that is not octal', header: { name: 'a', size: '00000000009\0' } },
    { name: 'a size beyond counting', header: { name: 'a', size: Buffer.alloc(12, 0xff) } },
    { name: 'attributes of two megabytes', header: { name: 'a', size: octal(2 * 1024 * 1024), type: 'x' } },
  ])('with $name', async ({ header }) => {
    const archive = Buffer.concat([tarHeader(header), Buffer.alloc(4096)]);
    await expect(read(archive)).rejects.toMatchObject({ code: 'INVALID_TAR_FILENAME' });
  });

  test.each([
    '5 a=b\n',
    '99 a=b\n',
    '5 ab\n',
    'x a=b\n',
    '0 a=b\n',
    '-1 a=b\n',
    ' \n',
    '11 size=x1\n',
    '1e1 path=ab\n\n',
  ])('with the pax record %j', async (record) => {
    const archive = Buffer.concat([
      tarHeader({ name: 'pax', size: octal(record.length), type: 'x' }),
      tarBody(record),
      tarHeader({ name: 'a', size: octal(0) }),
      TAR_END,
    ]);
    await expect(read(archive)).rejects.toMatchObject({ code: 'INVALID_TAR_FILENAME' });
  });

  test.each([
    ['of GNU', tarHeader({ name: 'a', size: octal(0), type: 'S', magic: 'ustar  \0' })],
    [
      'of pax',
      Buffer.concat([
        tarHeader({ name: 'pax', size: octal(22), type: 'x' }),
        tarBody('22 GNU.sparse.major=1\n'),
        tarHeader({ name: 'GNUSparseFile.1/a', size: octal(0) }),
      ]),
    ],
  ])('with a sparse file %s, whose content would be another', async (_format, header) => {
    await expect(read(Buffer.concat([header, TAR_END]))).rejects.toMatchObject({ code: 'SPARSE_TAR' });
  });

  test('when it is cut off anywhere inside an entry', async () => {
    const archive = (await tarOf([{ name: 'a'.repeat(150), content: 'x'.repeat(700) }])).subarray(0, -1024);
    for (let end = 1; end < archive.length; end += 37) {
      if (end % 512 === 0) continue;
      await expect(read(archive.subarray(0, end))).rejects.toMatchObject({ code: 'INVALID_TAR' });
    }
  });

  test('with the original error of a source that fails', async () => {
    const archive = await tarOf([{ name: 'a', content: 'x'.repeat(5000) }]);
    async function* broken() {
      yield archive.subarray(0, 1000);
      throw new Error('connection reset');
    }
    const reading = async () => {
      for await (const { body } of tarEntries(broken())) await collect(body);
    };
    await expect(reading()).rejects.toThrow('connection reset');
  });

  test('or read, whatever bytes are changed', async () => {
    const whole = await tarOf([
      { name: `${'d'.repeat(120)}/a.css`, content: 'x'.repeat(600) },
      { name: 'b', content: 'y' },
    ]);
    await expectReadOrRefused(whole, read);
  });
});
