import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type HttpAnswer,
  HttpAnswerError,
  HttpAnswerReader,
} from '../../../../formats/ethereum/http-answer.ts';

const BODY_SIZE_MAX = 100;

/** @param cuts positions at which the text is divided @returns the answer, and what it was complete with */
function read(text: string, cuts: readonly number[] = []): HttpAnswer | undefined {
  const reader = new HttpAnswerReader(BODY_SIZE_MAX);
  const bytes = Buffer.from(text);
  const ends = [...new Set(cuts)].toSorted((a, b) => a - b).filter((cut) => cut > 0 && cut < bytes.length);
  let from = 0;
  let answer: HttpAnswer | undefined;
  for (const end of [...ends, bytes.length]) {
    expect(answer).toBeUndefined();
    answer = reader.push(bytes.subarray(from, end));
    from = end;
  }
  return answer;
}

const seen = (answer: HttpAnswer | undefined) =>
  answer === undefined ? undefined : { ...answer, body: answer.body.toString() };

const LENGTH = 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"a":"é"}'.replace(
  '9',
  String(Buffer.byteLength('{"a":"é"}')),
);
const CHUNKED =
  'HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n5;note=x\r\n{"a":\r\n0005\r\n"é"}\r\n0\r\nx-sum: 1\r\n\r\n';

describe('an answer', () => {
  test.each([
    ['of a given length', LENGTH],
    ['in parts', CHUNKED],
    ['behind a word to go on', `HTTP/1.1 100 Continue\r\n\r\n${LENGTH}`],
  ])('%s is read wherever it is cut', (_, text) => {
    fc.assert(
      fc.property(fc.array(fc.nat(Buffer.byteLength(text)), { maxLength: 20 }), (cuts) => {
        expect(seen(read(text, cuts))).toEqual({ status: 200, body: '{"a":"é"}', reusable: true });
      }),
    );
  });

  test('without a length ends with its connection', () => {
    const reader = new HttpAnswerReader(BODY_SIZE_MAX);
    expect(reader.push(Buffer.from('HTTP/1.1 502 Bad Gateway\r\n\r\n<ht'))).toBeUndefined();
    expect(reader.push(Buffer.from('ml>'))).toBeUndefined();
    expect(seen(reader.end())).toEqual({ status: 502, body: '<html>', reusable: false });
  });

  test.each(['HTTP/1.1 204 \r\ncontent-length: 0\r\n\r\n', 'HTTP/1.1 204 No Content\r\n\r\n'])(
    'without content is complete with its headers: %j',
    (text) => {
      expect(seen(read(text))).toEqual({ status: 204, body: '', reusable: true });
    },
  );

  test.each([
    ['it says so', 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 1\r\n\r\na'],
    ['it says so among others', 'HTTP/1.1 200 OK\r\nConnection: TE, Close\r\ncontent-length: 1\r\n\r\na'],
    ['it is of an older version', 'HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\na'],
    ['more comes than was announced', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab'],
  ])('leaves a connection that is not reused when %s', (_, text) => {
    expect(seen(read(text))).toEqual({ status: 200, body: 'a', reusable: false });
  });

  test('that is cut off is an error', () => {
    for (const text of ['', 'HTTP/1.1 200', LENGTH.slice(0, -1), CHUNKED.slice(0, -2)]) {
      const reader = new HttpAnswerReader(BODY_SIZE_MAX);
      expect(reader.push(Buffer.from(text))).toBeUndefined();
      expect(() => reader.end()).toThrow('the connection ended before the answer did');
    }
  });

  test.each([
    ['what answers is no HTTP server', 'SSH-2.0-x\r\n\r\n'],
    ['a header without a name', 'HTTP/1.1 200 OK\r\n: a\r\n\r\n'],
    ["content length '-1', expected a number", 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n'],
    ["transfer encoding 'gzip', expected chunked", 'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n'],
    ['a part without its size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n'],
    ['a part is longer than its size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n'],
    ['answer is longer than 100 bytes', 'HTTP/1.1 200 OK\r\ncontent-length: 101\r\n\r\n'],
    ['answer is longer than 100 bytes', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n65\r\n'],
    ['answer is longer than 100 bytes', `HTTP/1.1 200 OK\r\n\r\n${'a'.repeat(101)}`],
    ['headers are longer than 65536 bytes', `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(65_536)}`],
    ['a part without its size', `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'0'.repeat(1025)}`],
  ])('is refused: %s', (message, text) => {
    expect(() => read(text)).toThrow(new HttpAnswerError(message));
  });
});
