import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { tarEntries } from '../../../../node/files/collection/tar.ts';
import { collect, inParts } from '../chunk-map.ts';
import {
  expectReadOrRefused,
  octal,
  paxEntry,
  TAR_END,
  type TarFile,
  tarBody,
  tarEntry,
  tarHeader,
  tarOf,
} from './archives.ts';

interface Read {
  path: string;
  contentType: string;
  filename: string;
  content: string;
  sameAs?: string;
}

const GNU = { magic: 'ustar  \0' };

async function read(archive: Uint8Array, partSize = 700): Promise<Read[]> {
  const files: Read[] = [];
  for await (const { body, ...file } of tarEntries(inParts(archive, partSize)))
    files.push({ ...file, content: Buffer.from(await collect(body)).toString('latin1') });
  return files;
}

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

  test('yields its regular files and hard links', async () => {
    const files: TarFile[] = [
      { name: './', type: 'directory' },
      { name: '../up', type: 'directory' },
      { name: 'dir', type: 'directory' },
      { name: 'link', type: 'symlink' },
      { name: 'hard', type: 'link' },
      { name: 'dir/file', content: 'x' },
    ];
    expect((await read(await tarOf(files))).map(({ path }) => path)).toEqual(['hard', 'dir/file']);
  });

  test('has an empty file for a hard link, or one that is the same as its target', async () => {
    const long = `./${'t'.repeat(120)}`;
    const archive = Buffer.concat([
      tarEntry('a/file', 'x'),
      tarEntry('b', '', { type: '1', linkname: './a//file' }),
      tarEntry('././@LongLink', `${long}\0`, { type: 'K', ...GNU }),
      tarEntry('c', '', { type: '1', linkname: long.slice(0, 100) }),
      paxEntry({ linkpath: 'a/file' }),
      tarEntry('d', '', { type: '1', linkname: 'short' }),
    ]);
    const links = (await read(archive)).slice(1);
    expect(links.map(({ path, content, sameAs }) => [path, content, sameAs])).toEqual(
      ['b', 'c', 'd'].map((path) => [path, '', undefined]),
    );
    const files = await Array.fromAsync(tarEntries(inParts(archive, 700), { hardLinks: 'file' }));
    expect(files.map(({ path, sameAs }) => [path, sameAs])).toEqual([
      ['a/file', undefined],
      ['b', 'a/file'],
      ['c', 't'.repeat(120)],
      ['d', 'a/file'],
    ]);
  });

  test.each(['A', 'D', 'M', 'V', 'X', 'Z', '7', '9'])(
    'has the content of an entry of type %s as a file',
    async (type) => {
      const archive = Buffer.concat([tarEntry('odd', '12', { type }), tarEntry('a', '1')]);
      expect((await read(archive)).map(({ path, content }) => [path, content])).toEqual([
        ['odd', '12'],
        ['a', '1'],
      ]);
    },
  );

  test('has the content of a file whose name ends with a separator', async () => {
    const archive = Buffer.concat([tarEntry('dir/page.html/', 'x'), tarEntry('d/x/.', 'y')]);
    expect(await read(archive)).toEqual([
      { path: 'dir/page.html', contentType: '', filename: 'page.html', content: 'x' },
      { path: 'd/x', contentType: '', filename: '.', content: 'y' },
    ]);
  });

  test('has an empty file for attributes of all files, which end the attributes of the next one', async () => {
    const archive = Buffer.concat([
      paxEntry({ comment: 'a commit' }, 'g'),
      tarEntry('one', '1'),
      paxEntry({ path: 'lost' }),
      paxEntry({ path: 'named', comment: 'x' }, 'g'),
      tarEntry('two', '2'),
      paxEntry({}, 'g').fill('/tmp/G', 0, 6),
    ]);
    const files = await read(archive.subarray(0, -512));
    expect(files.map(({ path, filename, content }) => [path, filename, content])).toEqual([
      ['pax_global_header', 'pax_global_header', ''],
      ['one', 'one', '1'],
      ['named', 'named', ''],
      ['two', 'two', '2'],
    ]);
  });

  test('has names of any bytes', async () => {
    const name = Buffer.from([0x63, 0xe9, 0x2f, 0x61, 0xff, 0xc3, 0xa9]);
    const archive = Buffer.concat([
      tarEntry(name, '1'),
      tarEntry('f', '2', { prefix: Buffer.from([0xe9]) }),
      tarEntry('././@LongLink', Buffer.concat([name, Buffer.from('2\0')]), { type: 'L', ...GNU }),
      tarEntry('cut', '3', GNU),
      paxEntry({ path: Buffer.concat([name, Buffer.from('3')]) }),
      tarEntry('cut', '4'),
    ]);
    expect((await read(archive)).map(({ path, filename }) => [path, filename])).toEqual([
      ['c\udce9/a\udcff\u00e9', 'a\udcff\u00e9'],
      ['\udce9/f', 'f'],
      ['c\udce9/a\udcff\u00e92', 'a\udcff\u00e92'],
      ['c\udce9/a\udcff\u00e93', 'a\udcff\u00e93'],
    ]);
  });

  test('has the last records of several, and a long name of GNU rather than one of pax', async () => {
    const archive = Buffer.concat([
      paxEntry({ path: 'first', size: '9' }),
      paxEntry({ path: 'second' }),
      tarEntry('short', '1'),
      paxEntry({ path: 'pax' }),
      tarEntry('././@LongLink', 'gnu\0', { type: 'L', ...GNU }),
      tarEntry('short', '2'),
      paxEntry({ path: '' }),
      tarEntry('kept', '3'),
    ]);
    expect((await read(archive)).map(({ path }) => path)).toEqual(['second', 'gnu', 'kept']);
  });

  test('has prefixes of ustar and STAR, and of the GNU format that Go once wrote', async () => {
    const star = { at: { 476: '00000000000\0', 488: '00000000000\0', 508: 'tar\0' } };
    const archive = Buffer.concat([
      tarEntry('a', '', { prefix: 'u'.repeat(155) }),
      tarEntry('b', '', { prefix: 's'.repeat(131), ...star }),
      tarEntry('c', '', { prefix: 'old', ...GNU }),
      tarEntry('d', '', { prefix: '00000000000\0', ...GNU }),
    ]);
    expect((await read(archive)).map(({ path }) => path)).toEqual([
      `${'u'.repeat(155)}/a`,
      `${'s'.repeat(131)}/b`,
      'old/c',
      'd',
    ]);
  });

  test('may count the bytes of a header as signed', async () => {
    const block = tarHeader({ name: Buffer.from([0xe9, 0xe9]), size: octal(0) });
    const sum = Number.parseInt(block.toString('latin1', 148, 154), 8) - 2 * 256;
    block.write(sum.toString(8).padStart(6, '0'), 148);
    expect(await read(block)).toHaveLength(1);
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
      // The cut name, within a character, does not matter.
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

  test.each(['2', '3', '4', '5', '6'])(
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
    expect(await read(Buffer.concat([file, Buffer.alloc(512)]))).toHaveLength(1);
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

  test.each(['a\0b', '../../x', '/x'])('with a pax path of "%j"', async (path) => {
    const archive = await tarOf([{ name: 'harmless', content: 'x', pax: { path } }]);
    await expect(read(archive)).rejects.toMatchObject({ code: 'INVALID_TAR_FILENAME' });
  });

  test.each([
    ['of the root directory', tarEntry('./', 'x')],
    ['of a directory by its mode', tarEntry('d', 'x', { mode: '0040755\0' })],
    ['of a pipe by its mode', tarEntry('d', 'x', { mode: '0010644\0' })],
  ])('with content %s, which nothing could read', async (_of, entry) => {
    await expect(read(entry)).rejects.toThrow(/content, 1 bytes, for "/);
    const without = tarEntry('d', '', { mode: '0040755\0' });
    expect(await read(without)).toEqual([]);
  });

  test('with a block of zeros before another entry', async () => {
    const archive = Buffer.concat([tarEntry('a'), Buffer.alloc(512), tarEntry('b'), TAR_END]);
    await expect(read(archive)).rejects.toThrow('a block of zeros in front of it');
  });

  test.each([
    ['gzip', '1f8b0800'],
    ['bzip2', '425a6839'],
    ['xz', 'fd377a585a00'],
    ['zstd', '28b52ffd'],
    ['zip', '504b0304'],
  ])('in %s format, and told to unpack it', async (format, magic) => {
    const start = Buffer.from(magic, 'hex');
    for (const body of [start, Buffer.concat([start, Buffer.alloc(2000, 'x')])])
      await expect(read(body)).rejects.toThrow(`the body is in ${format} format`);
    expect(await read(tarEntry(start.subarray(0, 3), 'x'))).toHaveLength(1);
  });

  test('naming the entry, without control characters', async () => {
    const archive = tarEntry('../\u001b[2J\u202eevil', 'x');
    await expect(read(archive)).rejects.toThrow('the name "../\ufffd[2J\ufffdevil", which is no path');
  });

  test('with a wrong checksum', async () => {
    const archive = await tarOf([{ name: 'a', content: 'x' }]);
    archive[0] = 'b'.charCodeAt(0);
    await expect(read(archive)).rejects.toMatchObject({ code: 'INVALID_TAR_FILENAME' });
  });

  test.each([
    { name: 'a size that is not octal', header: { name: 'a', size: '00000000009\0' } },
    { name: 'a negative size', header: { name: 'a', size: Buffer.alloc(12, 0xff) } },
    { name: 'a size beyond counting', header: { name: 'a', size: Buffer.alloc(12, 0xbf) } },
    { name: 'an owner that is no number', header: { name: 'a', size: octal(0), at: { 108: 'x' } } },
    { name: 'a device that is no number', header: { name: 'a', size: octal(0), at: { 329: '9' } } },
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
    '13 size=-512\n',
    '9 uid=x1\n',
    '13 mtime=1.x\n',
    '7 a\0b=c\n',
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
