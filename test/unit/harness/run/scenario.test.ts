import { expect, test } from 'vitest';
import { seededRandom } from '../../../../formats/random.ts';
import {
  defineScenario,
  ParameterError,
  parameter,
  resolveParameters,
} from '../../../../harness/run/scenario.ts';

const scenario = defineScenario({
  name: 'example',
  group: 'functional',
  about: 'An example.',
  parameters: {
    count: parameter('integer', 3, 'how many', { min: 1 }),
    size: parameter('size', 4096, 'how large', { max: 2 ** 30 }),
    sizes: parameter('sizes', [1], 'how large each'),
    mode: parameter('text', 'deferred', 'how', { oneOf: ['deferred', 'direct'] }),
    levels: parameter('list', ['one'], 'which', { oneOf: ['one', 'two'] }),
    cache: parameter('boolean', false, 'whether'),
    wait: parameter('duration', 15_000, 'how long'),
    share: parameter('number', 1, 'which share'),
  },
  needs: { nodes: 1 },
  cluster: { nodes: 1 },
  timeoutMs: 1000,
  run: () => Promise.resolve(),
});

const resolve = (given: Record<string, string>) =>
  resolveParameters(scenario, new Map(Object.entries(given)));

test('a parameter that is not given has its default', () => {
  expect(resolve({})).toEqual({
    count: 3,
    size: 4096,
    sizes: [1],
    mode: 'deferred',
    levels: ['one'],
    cache: false,
    wait: 15_000,
    share: 1,
  });
});

test('sizes are given in bytes, with binary and decimal units', () => {
  expect(resolve({ size: '64KiB' }).size).toBe(65_536);
  expect(resolve({ size: '1.5MiB' }).size).toBe(1_572_864);
  expect(resolve({ size: '2MB' }).size).toBe(2_000_000);
  expect(resolve({ sizes: '1, 4KiB,1MiB' }).sizes).toEqual([1, 4096, 1_048_576]);
});

test('durations become milliseconds, and numbers may have fractions', () => {
  expect(resolve({ wait: '1m30s' }).wait).toBe(90_000);
  expect(resolve({ wait: '500ms' }).wait).toBe(500);
  expect(resolve({ share: '0.95' }).share).toBe(0.95);
});

test('only allowed words are accepted in a list', () => {
  expect(resolve({ levels: 'two,one' }).levels).toEqual(['two', 'one']);
  expect(() => resolve({ levels: 'one,twwo' })).toThrow(
    "example: levels: got 'one,twwo', expected some of one, two, did you mean 'two'?",
  );
});

test.each([
  [{ count: 'x' }, "example: count: got 'x', expected a whole number, at least 1"],
  [{ count: '0' }, "example: count: got '0', expected a whole number, at least 1"],
  [
    { size: '4 apples' },
    "example: size: got '4 apples', expected a size such as 4096, 64KiB or 1.5MiB, at most 1073741824",
  ],
  [
    { size: '2GiB' },
    "example: size: got '2GiB', expected a size such as 4096, 64KiB or 1.5MiB, at most 1073741824",
  ],
  [{ sizes: '' }, "example: sizes: got '', expected sizes separated by commas, such as 1,4KiB,1MiB"],
  [{ mode: 'later' }, "example: mode: got 'later', expected one of deferred, direct"],
  [{ mode: 'dirct' }, "example: mode: got 'dirct', expected one of deferred, direct, did you mean 'direct'?"],
  [{ cache: 'yes' }, "example: cache: got 'yes', expected true or false"],
  [{ wait: '15' }, "example: wait: got '15', expected a duration such as 500ms, 15s or 1m30s, at most 24d"],
  [{ share: '1e3' }, "example: share: got '1e3', expected a number such as 0.95"],
  [{ cache: 'constructor' }, "example: cache: got 'constructor', expected true or false"],
  [
    { count: '0', wait: '15' },
    "example: count: got '0', expected a whole number, at least 1\nexample: wait: got '15', expected a duration such as 500ms, 15s or 1m30s, at most 24d",
  ],
  [
    { cuont: '1' },
    "scenario example has no parameter 'cuont', did you mean 'count'? (known: count, size, sizes, mode, levels, cache, wait, share)",
  ],
])('%j is refused with the value given and the value expected', (given, message) => {
  expect(() => resolve(given as unknown as Record<string, string>)).toThrow(new ParameterError(message));
});

test('the same seed and stream give the same bytes, a different stream gives others', () => {
  const bytes = (...parts: string[]) => Buffer.from(seededRandom(...parts).bytes(100)).toString('hex');
  expect(bytes('7', 'smoke', 'file')).toBe(bytes('7', 'smoke', 'file'));
  expect(bytes('7', 'smoke', 'file')).not.toBe(bytes('7', 'smoke', 'tree'));
  expect(bytes('7', 'smoke', 'file')).not.toBe(bytes('8', 'smoke', 'file'));
});

test('a bounded number stays below its bound, and an invalid bound is refused', () => {
  const random = seededRandom('7');
  for (let i = 0; i < 1000; i++) expect(random.below(7)).toBeLessThan(7);
  expect(() => random.below(0)).toThrow(RangeError);
});
