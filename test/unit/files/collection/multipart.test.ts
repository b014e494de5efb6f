import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { multipartEntries } from '../../../../node/files/collection/multipart.ts';
import { collect, inParts } from '../chunk-map.ts';
import { expectReadOrRefused, multipartOf, type Part } from './archives.ts';

const BOUNDARY = 'a-boundary';
const TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

interface Read {
  path: string;
  contentType: string;
  filename: string;
  content: string;
}

async function read(body: Uint8Array, { type = TYPE, partSize = 50, strict = true } = {}): Promise<Read[]> {
  const files: Read[] = [];
  for await (const { body: content, ...file } of multipartEntries(inParts(body, partSize), type, { strict }))
    files.push({ ...file, content: Buffer.from(await collect(content)).toString('latin1') });
  return files;
}

function part(disposition: string, content: Uint8Array | string = 'x', ...headers: string[]): Part {
  return { headers: [`Content-Disposition: ${disposition}`, ...headers], content };
}

async function pathOf(disposition: string): Promise<string | undefined> {
  return (await read(multipartOf(BOUNDARY, [part(disposition)]), { strict: false }))[0]?.path;
}

describe('a multipart body', () => {
  const content = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc
      .constantFrom('\r\n', '--', `\r\n--a-boundar`, `x--${BOUNDARY}`, '\r\n--\r\n--', '\r\r\n')
      .map((text) => Buffer.from(text)),
  );
  property.prop([fc.array(content, { maxLength: 6 }), fc.integer({ min: 1, max: 400 })], { numRuns: 200 })(
    'yields every part, however the stream is divided',
    async (contents, partSize) => {
      const parts = contents.map((bytes, i) => part(`form-data; name="f${i}"`, bytes));
      const files = await read(multipartOf(BOUNDARY, parts), { partSize });
      expect(files.map((file) => [file.path, file.content])).toEqual(
        contents.map((bytes, i) => [`f${i}`, Buffer.from(bytes).toString('latin1')]),
      );
    },
  );

  test.each([
    ['form-data; name="a/b.txt"', 'a/b.txt'],
    ['form-data; name="a"; filename="b.txt"', 'b.txt'],
    ['form-data; name="a"; filename="dir/b.txt"', 'b.txt'],
    ['form-data; name="a/c"; filename=""', 'a/c'],
    ['form-data; name=plain; filename=bare.txt', 'bare.txt'],
    ['form-data; name="say \\"hi\\""', 'say "hi"'],
    ['form-data; name="x"; filename="a\\b.txt"', 'a\\b.txt'],
    ['form-data; name="C:\\dir\\\\é\\;"', 'C:\\dir\\é;'],
    ['form-data; name="x; filename=y"', 'x; filename=y'],
    ['FORM-DATA; NAME="upper"', 'upper'],
    ['form-data; name="é/ü"', 'é/ü'],
    ["form-data; name=a; filename*=UTF-8''na%C3%AFve.txt", 'naïve.txt'],
    ['attachment; filename="b.txt"', 'b.txt'],
    ['form-data; name="a"; filename="dir/"', 'dir'],
    ['form-data; name="a/"', 'a/'],
    ['form-data; name="caf\xe9"', 'caf\xe9'],
    ["form-data; name=a; filename*=UTF-8''%ff", '\udcff'],
    ["form-data; name=a; filename*=latin1''x", 'a'],
    ['form-data; filename*0=a; filename*1="b c"; filename*2*=%C3%A9', 'ab cé'],
    ["form-data; filename*0*=UTF-8''%41; filename*1=b", 'Ab'],
    ['form-data; name=a; name=a;', 'a'],
    // A disposition with a mistake leaves nothing, and the part has no name.
    ['form-data; name=a; name=b', ''],
    ['form-data; name=é', ''],
    ['form-data; name="a', ''],
    ['form-data; name="C:\\"', ''],
    ['form-data; name=""', ''],
    ['form-data', ''],
    ['attachment; name="a"', ''],
    ['', ''],
  ])('%s is the path %s', async (disposition, path) => {
    expect(await pathOf(disposition)).toBe(path);
  });

  test('keeps the content type of each part as it was sent, empty when there was none', async () => {
    const body = multipartOf(BOUNDARY, [
      part('form-data; name="d/page"', '1', 'content-TYPE:  text/html; charset=UTF-8 ', 'Content-Length: 99'),
      part('form-data; name="raw"', '2'),
    ]);
    expect(await read(body)).toEqual([
      { path: 'd/page', contentType: 'text/html; charset=UTF-8', filename: 'page', content: '1' },
      { path: 'raw', contentType: '', filename: 'raw', content: '2' },
    ]);
  });

  test('may have a preamble, spaces after a boundary and an epilogue', async () => {
    const body = Buffer.from(
      `preamble\r\n--${BOUNDARY} \t\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--${BOUNDARY}--\r\nepilogue`,
    );
    expect((await read(body)).map(({ path, content }) => [path, content])).toEqual([['a', '1']]);
  });

  test.each([
    'multipart/form-data; boundary="a-boundary"',
    'multipart/form-data; charset=utf-8; BOUNDARY=a-boundary',
    'multipart/form-data;boundary=a-boundary; x=y',
  ])('has its boundary from %s', async (type) => {
    expect(await read(multipartOf(BOUNDARY, [part('form-data; name=a')]), { type })).toHaveLength(1);
  });

  test('may have parts without any header, as a Bee takes them, which are the file of the empty path', async () => {
    const body = multipartOf(BOUNDARY, [{ headers: [], content: 'x' }]);
    const file = { path: '', contentType: '', filename: '.', content: 'x' };
    expect(await read(body, { strict: false })).toEqual([file]);
    await expect(read(body)).rejects.toMatchObject({
      code: 'INVALID_PART_NAME',
      message: expect.stringContaining('part 1 without a name'),
    });
  });

  test('may end its lines with LF alone, if the first one does', async () => {
    const body = `--${BOUNDARY}\nContent-Disposition: form-data; name=a\r\n\n1\r\n--${BOUNDARY}\nContent-Disposition: form-data;\n name=b\n\n\n--${BOUNDARY}--\n`;
    for (const partSize of [1, 7, 500]) {
      const files = await read(Buffer.from(body), { partSize });
      expect(files.map(({ path, content }) => [path, content])).toEqual([
        ['a', '1\r'],
        ['b', ''],
      ]);
    }
  });

  test.each([
    ['goes on', `\r\n--${BOUNDARY}more\r\n--${BOUNDARY}-`],
    ['is at the start of the content', `--${BOUNDARY}more`],
    ['is there twice', `\r\r\n--${BOUNDARY}--${BOUNDARY}`.slice(0, -BOUNDARY.length - 2)],
  ])('may have content in which the boundary %s', async (_what, content) => {
    for (const partSize of [1, 3, 500]) {
      const [file] = await read(multipartOf(BOUNDARY, [part('form-data; name=a', `${content}x`)]), {
        partSize,
      });
      expect(file?.content).toBe(`${content}x`);
    }
  });

  test('may have an empty part without a line end before the boundary', async () => {
    const body = `--${BOUNDARY}\r\nContent-Disposition: form-data; name=a\r\n\r\n--${BOUNDARY}--`;
    expect((await read(Buffer.from(body))).map(({ path, content }) => [path, content])).toEqual([['a', '']]);
  });

  test('is decoded from quoted-printable', async () => {
    const written = 'caf=C3=a9 =\r\nsoft=3D  \t\r\nliteral =zz, raw \xe9\n=\nend= ';
    const body = multipartOf(BOUNDARY, [
      part(
        'form-data; name=a',
        Buffer.from(written, 'latin1'),
        'Content-Transfer-Encoding: Quoted-Printable',
      ),
      part('form-data; name=b', 'eA==', 'Content-Transfer-Encoding: base64'),
    ]);
    for (const partSize of [1, 500])
      expect((await read(body, { partSize })).map(({ content }) => content)).toEqual([
        'caf\xc3\xa9 soft=\r\nliteral =zz, raw \xe9\nend',
        'eA==',
      ]);
  });

  test('may end after a part, as a Bee takes it', async () => {
    const body = multipartOf(BOUNDARY, [part('form-data; name=a'), part('form-data; name=b')]);
    const open = body.subarray(0, -'--\r\n'.length);
    for (const end of ['', '\r\n', '\r\nContent-Type: x\r\n', '\r\nContent-Type: x']) {
      const cut = Buffer.concat([open, Buffer.from(end)]);
      expect((await read(cut, { strict: false })).map(({ path }) => path)).toEqual(['a', 'b']);
      await expect(read(cut)).rejects.toThrow('it is cut off');
    }
  });

  test('without parts has no files', async () => {
    expect(await read(multipartOf(BOUNDARY, []))).toEqual([]);
  });

  test('skips the rest of a part that its consumer left', async () => {
    const body = multipartOf(BOUNDARY, [
      part('form-data; name=a', 'x'.repeat(500)),
      part('form-data; name=b'),
    ]);
    const paths: string[] = [];
    for await (const { path } of multipartEntries(inParts(body, 64), TYPE)) paths.push(path);
    expect(paths).toEqual(['a', 'b']);
  });
});

describe('a multipart body is refused', () => {
  test.each([
    'form-data; name="../x"',
    'form-data; name="a/../../x"',
    'form-data; name="a/.."',
    'form-data; name="./x"',
    'form-data; name="/etc/passwd"',
    'form-data; name="a//b"',
    'form-data; name=x; filename=".."',
    'form-data; name=x; filename="/"',
  ])('with a part %j', async (disposition) => {
    await expect(pathOf(disposition)).rejects.toMatchObject({ code: 'INVALID_PART_NAME' });
  });

  test.each(['multipart/form-data', 'multipart/form-data; boundary=""', 'multipart/form-data; boundary=a b'])(
    'with the content type %s',
    async (type) => {
      await expect(read(new Uint8Array(0), { type })).rejects.toMatchObject({ code: 'INVALID_MULTIPART' });
    },
  );

  test('when it is cut off anywhere before its last boundary', async () => {
    const body = multipartOf(BOUNDARY, [
      part('form-data; name=a', 'x'.repeat(100)),
      part('form-data; name=b'),
    ]);
    const end = body.length - '--\r\n'.length;
    for (let size = 0; size <= end; size += 3)
      await expect(read(body.subarray(0, size))).rejects.toMatchObject({ code: 'INVALID_MULTIPART' });
  });

  test.each([
    { name: 'headers of a megabyte', body: `--${BOUNDARY}\r\nX: ${'y'.repeat(1_000_000)}\r\n\r\n` },
    { name: 'a header without a colon', body: `--${BOUNDARY}\r\nnonsense\r\n\r\nx\r\n--${BOUNDARY}--` },
    { name: 'a header that goes on before it begins', body: `--${BOUNDARY}\r\n A: b\r\n\r\n` },
    { name: 'a control character in a header', body: `--${BOUNDARY}\r\nA: \x01\r\n\r\n` },
    { name: 'a last boundary that goes on', body: `--${BOUNDARY}\r\n\r\nx\r\n--${BOUNDARY}--more\r\n` },
    { name: 'a line of five kilobytes before a boundary', body: `${'x'.repeat(5000)}\r\n--${BOUNDARY}--` },
    {
      name: 'quoted-printable that is none',
      body: `--${BOUNDARY}\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\na=\x01\r\n--${BOUNDARY}--`,
    },
  ])('with $name', async ({ body }) => {
    await expect(read(Buffer.from(body), { strict: false })).rejects.toMatchObject({
      code: 'INVALID_MULTIPART',
    });
  });

  test('with the original error of a source that fails', async () => {
    const body = multipartOf(BOUNDARY, [part('form-data; name=a', 'x'.repeat(500))]);
    async function* broken() {
      yield body.subarray(0, 200);
      throw new Error('connection reset');
    }
    const reading = async () => {
      for await (const { body: content } of multipartEntries(broken(), TYPE)) await collect(content);
    };
    await expect(reading()).rejects.toThrow('connection reset');
  });

  test('or read, whatever bytes are changed', async () => {
    const whole = multipartOf(BOUNDARY, [
      part('form-data; name="a"; filename="b"', 'x'.repeat(50)),
      part('form-data; name=b'),
    ]);
    await expectReadOrRefused(whole, read);
  });
});
