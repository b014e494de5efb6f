import { test as property } from '@fast-check/vitest';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bindingsText, logLine } from '../../../node/env/log-line.ts';

const AT = new Date(Date.UTC(2026, 0, 2, 3, 4, 5, 678));

function line(fields: object, message = 'said', bindings: Record<string, string> = {}): string {
  return logLine({ level: 'info', at: AT, bindings: bindingsText(bindings), fields, message });
}

const parsed = (fields: object) => JSON.parse(line(fields)) as Record<string, unknown>;

describe('a line of the log', () => {
  test('is JSON in a fixed order', () => {
    expect(line({ a: 1, b: 'x' }, 'said', { node: 'n"1', module: 'hive' })).toBe(
      '{"level":"info","time":"2026-01-02T03:04:05.678Z","node":"n\\"1","module":"hive","a":1,"b":"x","msg":"said"}\n',
    );
  });

  property.prop([fc.dictionary(fc.string(), fc.jsonValue()), fc.string()])(
    'is one line of JSON, whatever the fields and the message are',
    (fields, message) => {
      const text = line(fields, message);
      expect(text.indexOf('\n')).toBe(text.length - 1);
      expect((JSON.parse(text) as { msg: string }).msg).toBe(message);
    },
  );

  test('has a big number with all its digits', () => {
    expect(line({ amount: 2n ** 64n, of: { more: -(2n ** 70n) } })).toContain(
      '"amount":18446744073709551616,"of":{"more":-1180591620717411303424}',
    );
  });

  test('leaves out what has no value', () => {
    expect(Object.keys(parsed({ peer: undefined, work: () => 1 }))).toEqual(['level', 'time', 'msg']);
  });

  test('tells an error with its causes and its own members', () => {
    const inner = new TypeError('no such file');
    const outer = Object.assign(new Error('not opened', { cause: inner }), { code: 'STORE', bytes: 2n });
    expect(parsed({ err: outer })['err']).toEqual({
      code: 'STORE',
      bytes: 2,
      type: 'Error',
      message: 'not opened: no such file',
      stack: expect.stringMatching(
        /^Error: not opened\n[^]*\ncaused by: TypeError: no such file\n/,
      ) as string,
    });
  });

  test('tells the errors inside an error', () => {
    const { err } = parsed({ err: new AggregateError([new Error('one'), new Error('two')], 'both') });
    expect(err).toMatchObject({ message: 'both' });
  });

  test('ends with causes that form a circle', () => {
    const error = new Error('round');
    error.cause = error;
    expect((parsed({ err: error })['err'] as { message: string }).message).toBe(
      Array.from({ length: 8 }, () => 'round').join(': '),
    );
  });

  test('names a field that can not be written', () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    expect(parsed({ circle, after: 1 })).toMatchObject({
      circle: expect.stringMatching(/^not written: Converting circular structure/) as string,
      after: 1,
    });
  });
});
