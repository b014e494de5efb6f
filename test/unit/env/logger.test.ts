import { describe, expect, test } from 'vitest';
import { createLogger, type RootLogger } from '../../../node/env/logger.ts';
import { VERBOSITIES, type Verbosity } from '../../../node/env/verbosity.ts';

function logger(verbosity: Verbosity, name?: string): { log: RootLogger; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => {
    expect(line).toMatch(/^\{.*\}\n$/);
    lines.push(JSON.parse(line) as Record<string, unknown>);
  };
  return {
    log: createLogger({ verbosity, ...(name === undefined ? {} : { name }) }, { destination: { write } }),
    lines,
  };
}

const METHODS = ['error', 'warn', 'info', 'debug'] as const;

describe('a logger', () => {
  test.each(VERBOSITIES.map((verbosity, i) => [verbosity, METHODS.slice(0, i)] as const))(
    'of verbosity %s writes %j',
    (verbosity, written) => {
      const { log, lines } = logger(verbosity);
      for (const method of METHODS) log[method]({}, 'said');
      expect(lines.map(({ level }) => level)).toEqual(written);
      expect(METHODS.filter((method) => log.isLevelEnabled(method))).toEqual(written);
    },
  );

  test('writes the level, the time, the node, its module, the fields and the message', () => {
    const { log, lines } = logger('info', 'node-3');
    log.child({ module: 'pushsync' }).warn({ po: 7 }, 'receipt is shallow');
    log.info('node is ready');
    expect(lines).toEqual([
      {
        level: 'warn',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
        node: 'node-3',
        module: 'pushsync',
        po: 7,
        msg: 'receipt is shallow',
      },
      { level: 'info', time: expect.any(String) as string, node: 'node-3', msg: 'node is ready' },
    ]);
  });

  test('is the same object for the same module', () => {
    const { log } = logger('info');
    expect(log.child({ module: 'swap' })).toBe(log.child({ module: 'swap' }));
    expect(log.registered().map(({ name }) => name)).toEqual(['node', 'node/swap']);
  });

  test('has a verbosity of its own, which starts with that of the option', () => {
    const { log, lines } = logger('warn');
    const swap = log.child({ module: 'swap' });
    const hive = log.child({ module: 'hive' });
    const [, ofSwap, ofHive] = log.registered();
    expect([ofSwap?.verbosity(), ofHive?.verbosity()]).toEqual(['warning', 'warning']);
    ofSwap?.setVerbosity('all');
    expect([ofSwap?.verbosity(), ofHive?.verbosity()]).toEqual(['all', 'warning']);
    swap.debug('seen');
    hive.debug('not seen');
    expect(lines.map(({ msg }) => msg)).toEqual(['seen']);
    ofSwap?.setVerbosity('none');
    swap.error('not seen');
    expect(lines).toHaveLength(1);
  });

  test('of the node can be silenced alone, and new modules start as the option says', () => {
    const { log, lines } = logger('info');
    const swap = log.child({ module: 'swap' });
    log.registered()[0]?.setVerbosity('none');
    log.error('not seen');
    swap.info('seen');
    log.child({ module: 'hive' }).info('seen too');
    expect(lines.map(({ msg }) => msg)).toEqual(['seen', 'seen too']);
  });

  test('shows an error with its causes and its own members, under either name', () => {
    const { log, lines } = logger('info');
    const cause = new TypeError('no such file');
    const err = Object.assign(new Error('not opened', { cause }), { code: 'STORE' });
    log.warn({ err, error: err }, 'said');
    const told = {
      code: 'STORE',
      type: 'Error',
      message: 'not opened: no such file',
      stack: expect.stringMatching(
        /^Error: not opened\n[^]*\ncaused by: TypeError: no such file\n/,
      ) as string,
    };
    expect(lines[0]).toMatchObject({ err: told, error: told });
  });

  test('writes big numbers, and a substitute for what cannot be serialised', () => {
    const { log, lines } = logger('info');
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    log.info({ amount: 5n, circle, after: 1 }, 'said');
    expect(lines[0]).toMatchObject({ amount: 5, circle: { self: '[Circular]' }, after: 1 });
  });

  test('does not evaluate the fields of messages that it does not write', () => {
    const { log, lines } = logger('info');
    const fields = {
      get costly(): string {
        throw new Error('read');
      },
    };
    log.debug(fields, 'not written');
    expect(lines).toEqual([]);
  });
});
