import * as fc from 'fast-check';
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

async function read(body: Uint8Array, { type = TYPE, partSize = 50 } = {}): Promise<Read[]> {
  const files: Read[] = [];
  for await (const { body: content, ...file } of multipartEntries(inParts(body, partSize), type))
    files.push({ ...file, content: Buffer.from(await collect(content)).toString('latin1') });
  return files;
}

function part(disposition: string, content: Uint8Array | string = 'x', ...headers: string[]): Part {
  return { headers: [`Content-Disposition: ${disposition}`, ...headers], content };
}

async function pathOf(disposition: string): Promise<string | undefined> {
  return (await read(multipartOf(BOUNDARY, [part(disposition)])))[0]?.path;
}

describe('a multipart body', () => {
  test('yields every part, however the stream is divided', async () => {
    const content = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc
        .constantFrom('\r\n', '--', `\r\n--a-boundar`, `--${BOUNDARY}`, '\r\n--\r\n--', '\r\r\n')
        .map((text) => Buffer.from(text)),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(content, { maxLength: 6 }),
        fc.integer({ min: 1, max: 400 }),
        async (contents, partSize) => {
          const parts = contents.map((bytes, i) => part(`form-data; name="f${i}"`, bytes));
          const files = await read(multipartOf(BOUNDARY, parts), { partSize });
          expect(files.map((file) => [file.path, file.content])).toEqual(
            contents.map((bytes, i) => [`f${i}`, Buffer.from(bytes).toString('latin1')]),
          );
        },
      ),
      { numRuns: 200 },
    );
  });

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
    'multipart/form-data; boundary="a\\-boundary"',
  ])('has its boundary from %s', async (type) => {
    expect(await read(multipartOf(BOUNDARY, [part('form-data; name=a')]), { type })).toHaveLength(1);
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
    'form-data; name=""',
    'form-data; name="a\0b"',
    'form-data; name=x; filename=".."',
    'form-data; name=x; filename="/"',
    'form-data',
    'attachment; name="a"',
    "form-data; name=a; filename*=UTF-8''%ff",
    "form-data; name=; filename*=latin1''x",
  ])('with a part %j', async (disposition) => {
    await expect(pathOf(disposition)).rejects.toMatchObject({ code: 'INVALID_PART_NAME' });
  });

  test('with an empty part', async () => {
    const body = multipartOf(BOUNDARY, [{ headers: [], content: 'x' }]);
    await expect(read(body)).rejects.toMatchObject({ code: 'INVALID_PART_NAME' });
  });

  test.each([
    'multipart/form-data',
    'multipart/form-data; boundary=""',
    `multipart/form-data; boundary=${'b'.repeat(71)}`,
  ])('with the content type %s', async (type) => {
    await expect(read(new Uint8Array(0), { type })).rejects.toMatchObject({ code: 'INVALID_MULTIPART' });
  });

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
    { name: 'a boundary that goes on', body: `--${BOUNDARY}more\r\nA: b\r\n\r\nx\r\n--${BOUNDARY}--` },
  ])('with $name', async ({ body }) => {
    await expect(read(Buffer.from(body))).rejects.toMatchObject({ code: 'INVALID_MULTIPART' });
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
