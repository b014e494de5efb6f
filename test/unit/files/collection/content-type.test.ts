import { describe, expect, test } from 'vitest';
import { contentTypeOfName, sniffContentType } from '../../../../node/files/collection/content-type.ts';
import vectors from '../../../vectors/content-types.json' with { type: 'json' };

const mp4 = (size: number, brand: string) => {
  const box = Buffer.alloc(24);
  box.writeUInt32BE(size);
  box.write(`ftyp${brand}`, 4, 'latin1');
  return box.toString('latin1');
};

describe('by name', () => {
  test('every extension that a Bee knows without help of its system has the same type', () => {
    expect(Object.keys(vectors.types)).toHaveLength(64);
    const ours = Object.keys(vectors.types).map((extension) => [
      extension,
      contentTypeOfName(`a.${extension}`),
    ]);
    expect(Object.fromEntries(ours)).toEqual(vectors.types);
  });

  test.each([
    ['index.html', 'text/html; charset=utf-8'],
    ['INDEX.HTM', 'text/html; charset=utf-8'],
    ['dir.css/file', ''],
    ['dir/a.b.css', 'text/css; charset=utf-8'],
    ['robots.txt', 'text/plain; charset=utf-8'],
    ['FAVICON.ICO', 'image/vnd.microsoft.icon'],
    ['notes.md', ''],
    ['noextension', ''],
    ['.json', 'application/json'],
    ['a.', ''],
    ['a.constructor', ''],
    ['lib.MJS', 'text/javascript; charset=utf-8'],
  ])('%s is "%s"', (path, type) => {
    expect(contentTypeOfName(path)).toBe(type);
  });
});

describe('by the first bytes', () => {
  test.each([
    ['', 'text/plain; charset=utf-8'],
    ['plain text with \t and \x1b[0m', 'text/plain; charset=utf-8'],
    ['caf\xc3\xa9', 'text/plain; charset=utf-8'],
    ['text\x00', 'application/octet-stream'],
    ['\x0b', 'application/octet-stream'],
    ['\x7fELF\x01', 'application/octet-stream'],
    ['<!DOCTYPE html>', 'text/html; charset=utf-8'],
    [' \r\n\t<HtMl lang=en>', 'text/html; charset=utf-8'],
    ['<!-- comment', 'text/html; charset=utf-8'],
    ['\xfe\xff', 'text/plain; charset=utf-8'],
    ['\xff\xfea', 'text/plain; charset=utf-8'],
    ['<body', 'text/plain; charset=utf-8'],
    ['<htmlx>', 'text/plain; charset=utf-8'],
    ['<b>', 'text/html; charset=utf-8'],
    ['  <?xml version', 'text/xml; charset=utf-8'],
    ['%PDF-1.7', 'application/pdf'],
    [' %PDF-1.7', 'text/plain; charset=utf-8'],
    ['\xef\xbb\xbfhello', 'text/plain; charset=utf-8'],
    ['\xff\xfeh\x00', 'text/plain; charset=utf-16le'],
    ['\x89PNG\r\n\x1a\n', 'image/png'],
    ['\xff\xd8\xff\xe0', 'image/jpeg'],
    ['RIFF1234WEBPVP8 ', 'image/webp'],
    ['RIFF1234WAVE', 'audio/wave'],
    ['RIFF1234XXXX', 'text/plain; charset=utf-8'],
    ['\x1f\x8b\x08', 'application/x-gzip'],
    ['PK\x03\x04', 'application/zip'],
    ['\x00asm\x01\x00\x00\x00', 'application/wasm'],
    [`${'\x00'.repeat(34)}LP`, 'application/vnd.ms-fontobject'],
    [mp4(16, 'mp42'), 'video/mp4'],
    [mp4(24, 'isom\0\0\0\0mp41'), 'video/mp4'],
    [mp4(24, 'isommp42'), 'application/octet-stream'],
    [mp4(28, 'mp42'), 'application/octet-stream'],
    [mp4(23, 'mp42'), 'application/octet-stream'],
  ])('%j is %s', (start, type) => {
    expect(sniffContentType(Buffer.from(start, 'latin1'))).toBe(type);
  });

  test('only the first 512 bytes count', () => {
    expect(sniffContentType(Buffer.from(`${'a'.repeat(512)}\0`))).toBe('text/plain; charset=utf-8');
  });
});
