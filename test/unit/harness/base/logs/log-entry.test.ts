import { expect, test } from 'vitest';
import { logEntry, logValue } from '../../../../../harness/base/logs/log-entry.ts';

const OWN =
  '{"level":"warn","time":"2026-01-02T03:04:05.678Z","node":"node-0","module":"pushsync","msg":"receipt is shallow","po":3}';
const BEE =
  '"time"="2026-01-02 03:04:05.678901" "level"="warning" "logger"="node/kademlia" "msg"="peer \\"x\\" is gone" "bin"=3 "error"="a=b c"';

test('a line of our own node is an entry', () => {
  expect(logEntry(OWN)).toEqual({
    time: '2026-01-02T03:04:05.678Z',
    level: 'warn',
    module: 'pushsync',
    message: 'receipt is shallow',
    fields: { po: 3 },
  });
});

test('a line of a bee is the same kind of entry', () => {
  expect(logEntry(BEE)).toEqual({
    time: '2026-01-02 03:04:05.678901',
    level: 'warn',
    module: 'node/kademlia',
    message: 'peer "x" is gone',
    fields: { bin: '3', error: 'a=b c' },
  });
});

test('the first entry of a bee follows its greeting', () => {
  expect(logEntry(`or its software."${BEE.slice(1)}`)?.message).toBe('peer "x" is gone');
});

test.each(['', 'panic: runtime error', '{"msg":"cut o', 'Welcome', '{"level":"info"}'])(
  'the text %j is no entry',
  (line) => {
    expect(logEntry(line)).toBeUndefined();
  },
);

test('a program gets the fields under their own names, and everything else as text', () => {
  expect(logValue(OWN)).toMatchObject({ module: 'pushsync', node: 'node-0' });
  expect(logValue(BEE)).toMatchObject({ logger: 'node/kademlia', bin: '3' });
  expect(logValue('panic')).toBe('panic');
  expect(logValue('{"msg":"cut o')).toBe('{"msg":"cut o');
});
