import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { plainYaml } from '../../../../../../harness/cluster/plan/document/plain-yaml.ts';

const read = (text: string, scalars: 'core' | 'failsafe' = 'core') =>
  plainYaml(text, { source: 'x.yaml', scalars });

test.each([
  ['', 'core'],
  ['# nothing\n', 'core'],
  ['nodes: 5\nseed: 0x12\nname: "a b"\nempty:\nlist: [1, two, null, true, 1.5]\nmap: {a: {b: c}}', 'core'],
  ['a: 0123\nb: 1e5\nc: ~\n{}: ', 'failsafe'],
  ['base: &base {a: 1}\nother: *base\nlist: [*base, *base]', 'core'],
  ['a: &x 1\nb: &y [&x 2, *x]\nc: &x 3\nd: *y\ne: *x', 'core'],
  ['&k key: 1\nother: *k\n*k : 2', 'core'],
  ['1: a\ntrue: b\nnull: c', 'core'],
  ['- a\n- - b\n', 'core'],
] as const)('%j has the values that the parser itself gives', async (text, scalars) => {
  const expected = /\{\}: |\*k :/.test(text) ? undefined : parse(text, { schema: scalars });
  if (expected === undefined) await expect(read(text, scalars)).rejects.toThrow('x.yaml: line');
  else expect(await read(text, scalars)).toEqual(expected);
});

test('names of the language are keys like others', async () => {
  expect(await read('constructor: 2\ntoString: 3')).toEqual({ constructor: 2, toString: 3 });
});

test.each([
  ['nodes: [{ options: {\n  __proto__: { a: 1 } } }]', "line 2: unknown key '__proto__'"],
  ['a: &a {b: 1}\nc: {<<: *a}', "line 2: merge key '<<', expected the keys themselves"],
  ['a: 1\nb: !!js/function "x"', 'line 2: unknown tag !!js/function, expected the value without it'],
  ['a: !mine 1', 'line 1: unknown tag !mine, expected the value without it'],
  ['---\nname: a\n---\nname: b\n', 'line 3: a second document, expected one'],
  ['a: 1\nnodes: .inf', 'line 2: got .inf, expected a finite number'],
  ['nodes: -.INF', 'line 1: got -.INF, expected a finite number'],
  ['nodes: .nan', 'line 1: got .nan, expected a finite number'],
  [
    'seed: 99999999999999999999',
    'line 1: got 99999999999999999999, expected a number from -9007199254740991 to 9007199254740991, or text in quotes',
  ],
])('%j is refused in words of its own', async (text, message) => {
  await expect(read(text)).rejects.toMatchObject({
    code: 'DEFINITION_INVALID',
    message: `x.yaml: ${message}`,
  });
});

const bomb = ['a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]']
  .concat(Array.from({ length: 9 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n}, `.repeat(10)}]`))
  .join('\n');

test('numbers that JSON does not have are keys as they are written by JavaScript', async () => {
  expect(await read('.nan: 1\n.inf: 2\n-.inf: 3')).toEqual({ NaN: 1, Infinity: 2, '-Infinity': 3 });
});

test.each([
  ['an alias within itself', 'a: 1\nb: &b\n  - c: *b\n', 'line 3: alias *b within itself'],
  ['a circle of aliases', 'a: &a\n  b: &b\n    c: *a\n', 'line 3: alias *a within itself'],
  ['an alias before its anchor', 'a: *b\nb: &b 1', 'line 1: alias *b before its anchor &b'],
  ['aliases that multiply', bomb, 'more than 1,000,000 values, aliases filled in'],
  ['a key twice', 'a: 1\nb: 2\na: 3', "line 3: key 'a' again, expected each key once"],
  ['one key as text and number', '1: a\n"1": b', "line 2: key '1' again"],
  ['a list as key', '[a, b]: 1', 'line 1: expected a text as key'],
  ['too many levels', '['.repeat(200) + ']'.repeat(200), 'line 1: more than 100 levels'],
  ['far too many levels', '['.repeat(20_000) + ']'.repeat(20_000), 'more than 100 levels'],
  ['broken syntax', 'a: [1', 'line 1: '],
  ['two documents', 'a: 1\n---\nb: 2', 'a second document, expected one'],
])('%s is refused with the line', async (_what, text, why) => {
  await expect(read(text)).rejects.toMatchObject({
    code: 'DEFINITION_INVALID',
    message: expect.stringMatching(new RegExp(`^x\\.yaml: .*${RegExp.escape(why)}`)) as string,
  });
});

test('a hundred thousand keys, and as many aliases, are read', async () => {
  const keys = Array.from({ length: 100_000 }, (_, i) => `key${i}: ${i}`).join('\n');
  expect(Object.keys((await read(keys)) as object)).toHaveLength(100_000);
  expect(await read(`a: &a 1\nb:\n${'  - *a\n'.repeat(100_000)}`)).toMatchObject({ b: { length: 100_000 } });
});
