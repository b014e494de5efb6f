import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { follow, linesOf, linesSince, tail } from '../../../../../harness/base/logs/logs.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

let log = '';
let folder = '';
beforeEach(() => {
  folder = temporaryFolder('svcnet-logs');
  log = join(folder, 'node-0.log');
});

test('the tail of a log has as many lines as were asked for, however long they are', () => {
  // More than is read at once.
  const lines = Array.from({ length: 20_000 }, (_, n) => `line ${n} ${'é'.repeat(80)}`);
  writeFileSync(log, `${lines.join('\n')}\n`);
  expect(tail(log, 0)).toEqual([]);
  expect(tail(log, 1)).toEqual(lines.slice(-1));
  expect(tail(log, 15_000)).toEqual(lines.slice(-15_000));
  expect(tail(log, 100_000)).toEqual(lines);
  expect(tail(log, Number.POSITIVE_INFINITY)).toEqual(lines);
});

test('the tail of a log ends with its unfinished line', () => {
  writeFileSync(log, 'one\n\ntwo\nthr');
  expect(tail(log, 1)).toEqual(['thr']);
  expect(tail(log, 3)).toEqual(['', 'two', 'thr']);
  expect(tail(log, 9)).toEqual(['one', '', 'two', 'thr']);
  expect(tail(join(folder, 'none.log'), 9)).toEqual([]);
});

test('a log followed from its last lines misses none that is added meanwhile, and splits none', async () => {
  writeFileSync(log, 'a\nb\nc\nunfin');
  const lines = follow(log, new AbortController().signal, 2);
  const next = async () => (await lines.next()).value;
  expect(await next()).toBe('b');
  appendFileSync(log, 'ished\nd\n');
  expect([await next(), await next(), await next()]).toEqual(['c', 'unfinished', 'd']);
});

test('a line longer than what is kept of one is cut while it is read, and hides no other', async () => {
  const long = 'é'.repeat(3_000_000);
  const cut = `${'é'.repeat(128 * 1024)}…`;
  writeFileSync(log, `one\n${long}\nthree\nunfin`);
  expect(tail(log, 3)).toEqual([cut, 'three', 'unfin']);
  expect(linesSince(log, 0)).toEqual(['one', cut, 'three', 'unfin']);
  expect([...linesOf(log)]).toEqual(['one', cut, 'three', 'unfin']);
  const lines = follow(log, new AbortController().signal, 2);
  const next = async () => (await lines.next()).value;
  expect([await next(), await next()]).toEqual([cut, 'three']);
  appendFileSync(log, `ished ${long}\nfive\n`);
  expect(await next()).toMatch(/^unfinished é+…$/);
  expect(await next()).toBe('five');
});
