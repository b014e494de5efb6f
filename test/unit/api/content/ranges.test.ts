import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { type DownloadRequest, planDownload } from '../../../../node/api/content/ranges.ts';
import { httpDate } from '../../../../node/api/values/http-date.ts';

const nowSeconds = 1_767_323_045;
const etag = '"abc"';
const content = { size: 100n, etag, nowSeconds };
const dateAt = (seconds: number) => httpDate(seconds * 1000);

const plan = (request: DownloadRequest, over: Partial<typeof content> | { etag: undefined } = {}) =>
  planDownload(request, { ...content, ...over });
const kind = (request: DownloadRequest, over = {}) => plan(request, over).kind;

describe('conditions', () => {
  test.each([
    ['"abc"', 'whole'],
    ['"x", "abc"', 'whole'],
    ['*', 'whole'],
    ['W/"abc"', 'precondition-failed'],
    ['"x"', 'precondition-failed'],
    ['abc', 'precondition-failed'],
    ['"x", ,, "abc"', 'whole'],
    ['', 'whole'],
  ])('If-Match %s on "abc": %s', (ifMatch, expected) => {
    expect(kind({ ifMatch })).toBe(expected);
  });

  test('If-Match of content without an ETag fails for every list, but not for a star', () => {
    expect(kind({ ifMatch: '"abc"' }, { etag: undefined })).toBe('precondition-failed');
    expect(kind({ ifMatch: '*' }, { etag: undefined })).toBe('whole');
  });

  test.each([
    ['"abc"', 'not-modified'],
    ['W/"abc"', 'not-modified'],
    ['"x",W/"abc"', 'not-modified'],
    ['"x" , , "abc"', 'not-modified'],
    ['', 'whole'],
    ['*', 'not-modified'],
    ['"x"', 'whole'],
  ])('If-None-Match %s on "abc": %s', (ifNoneMatch, expected) => {
    expect(kind({ ifNoneMatch })).toBe(expected);
  });

  test.each([
    [-1, 'precondition-failed'],
    [0, 'whole'],
    [60, 'whole'],
  ])('If-Unmodified-Since %i s from now: %s', (offset, expected) => {
    expect(kind({ ifUnmodifiedSince: dateAt(nowSeconds + offset) })).toBe(expected);
  });

  test.each([
    [-1, 'whole'],
    [0, 'not-modified'],
    [60, 'not-modified'],
  ])('If-Modified-Since %i s from now: %s', (offset, expected) => {
    expect(kind({ ifModifiedSince: dateAt(nowSeconds + offset) })).toBe(expected);
  });

  test('tags win over dates', () => {
    expect(kind({ ifMatch: etag, ifUnmodifiedSince: dateAt(0) })).toBe('whole');
    expect(kind({ ifNoneMatch: '"x"', ifModifiedSince: dateAt(nowSeconds) })).toBe('whole');
  });

  test('an empty tag list leaves the decision to the date', () => {
    expect(kind({ ifMatch: '', ifUnmodifiedSince: dateAt(0) })).toBe('precondition-failed');
    expect(kind({ ifNoneMatch: '', ifModifiedSince: dateAt(nowSeconds) })).toBe('not-modified');
  });

  test('If-Match is checked before If-None-Match', () => {
    expect(kind({ ifMatch: '"x"', ifNoneMatch: etag })).toBe('precondition-failed');
  });

  test('an invalid date is ignored', () => {
    expect(kind({ ifUnmodifiedSince: 'yesterday', ifModifiedSince: '2026-01-01' })).toBe('whole');
  });

  test.each(['Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994'])('%s is a date', (date) => {
    expect(kind({ ifUnmodifiedSince: date })).toBe('precondition-failed');
  });

  test.each([
    ['"abc"', 'parts'],
    ['W/"abc"', 'whole'],
    ['"x"', 'whole'],
    [dateAt(nowSeconds), 'parts'],
    [dateAt(nowSeconds - 1), 'whole'],
    ['nonsense', 'whole'],
    ['', 'parts'],
  ])('If-Range %j decides about the range: %s', (ifRange, expected) => {
    expect(kind({ range: 'bytes=1-2', ifRange })).toBe(expected);
  });
});

describe('ranges', () => {
  test.each([
    ['bytes=0-0', [[0, 1]]],
    ['bytes=5-9', [[5, 10]]],
    ['bytes=5-', [[5, 100]]],
    ['bytes=99-', [[99, 100]]],
    ['bytes=0-1000', [[0, 100]]],
    ['bytes=-1', [[99, 100]]],
    ['bytes=-1000', [[0, 100]]],
    ['bytes= 1 - 2 ', [[1, 3]]],
    [
      'bytes=0-1, 5-6',
      [
        [0, 2],
        [5, 7],
      ],
    ],
    ['bytes=,0-1,,', [[0, 2]]],
    ['bytes=0-1,100-', [[0, 2]]],
    ['bytes=200-300,5-6,-0', [[5, 7]]],
    [
      'bytes=50-,0-49',
      [
        [50, 100],
        [0, 50],
      ],
    ],
  ])('%s of 100 bytes: %j', (range, parts) => {
    expect(plan({ range })).toEqual({
      kind: 'parts',
      parts: parts.map(([start, end]) => ({ start: BigInt(start ?? 0), end: BigInt(end ?? 0) })),
    });
  });

  test.each(['', 'bytes=', 'bytes= , ', 'bytes=0-99,0-0', 'bytes=0-60,40-99'])(
    '%j of 100 bytes is all of it',
    (range) => {
      expect(kind({ range })).toBe('whole');
    },
  );

  test.each([
    'bytes=5-2',
    'bytes=a-b',
    'bytes=-',
    'bytes=--1',
    'bytes=1',
    'bytes=0x1-2',
    'bytes=1-2-3',
    'octets=0-1',
    'Bytes=0-1',
    'bytes=0-1,x',
    `bytes=${'9'.repeat(30)}-`,
    `bytes=${'0-0,'.repeat(300)}`,
  ])('%s is not a range', (range) => {
    expect(plan({ range })).toEqual({ kind: 'unsatisfiable', overlap: false });
  });

  test.each(['bytes=100-', 'bytes=100-200', 'bytes=200-300,100-', 'bytes=-0'])(
    '%s overlaps nothing',
    (range) => {
      expect(plan({ range })).toEqual({ kind: 'unsatisfiable', overlap: true });
    },
  );

  test.each(['bytes=0-', 'bytes=-5', 'bytes=5-6', 'bytes=-0'])(
    '%s of empty content is all of it',
    (range) => {
      expect(kind({ range }, { size: 0n })).toBe('whole');
    },
  );

  property.prop([
    fc.bigInt({ min: 0n, max: 200n }),
    fc.bigInt({ min: 0n, max: 200n }),
    fc.bigInt({ min: 1n, max: 100n }),
  ])('what is served lies within what was asked for and within the content', (first, last, size) => {
    const got = plan({ range: `bytes=${first}-${last}` }, { size });
    if (got.kind !== 'parts') return;
    const [{ start, end }] = got.parts;
    expect(start).toBe(first);
    expect(end <= size && end <= last + 1n && start < end).toBe(true);
  });

  property.prop([fc.string({ maxLength: 60 })])('no text breaks the parser', (range) => {
    for (const request of [
      { range },
      { range: `bytes=${range}` },
      { ifMatch: range },
      { ifNoneMatch: range },
      { range: 'bytes=0-', ifRange: range },
    ]) {
      expect(kind(request)).toBeTypeOf('string');
    }
  });
});
