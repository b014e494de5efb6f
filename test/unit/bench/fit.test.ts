import { expect, test } from 'vitest';
import { exponentOf, sizesFrom } from '../../bench/fit.ts';

const points = (exponent: number) => [5, 10, 50].map((nodes) => ({ nodes, value: 3 * nodes ** exponent }));

test.each([0, 1, 1.3, 2, -0.5])(
  'a figure that grows with the number of nodes to the power of %d has that exponent',
  (e) => {
    expect(exponentOf(points(e))).toBeCloseTo(e, 10);
  },
);

test('an exponent needs two sizes and positive figures', () => {
  expect(exponentOf([{ nodes: 5, value: 1 }])).toBeUndefined();
  expect(exponentOf([...points(1), { nodes: 20, value: 0 }])).toBeUndefined();
  expect(exponentOf([...points(1), { nodes: 20, value: Number.NaN }])).toBeUndefined();
});

test('sizes are given by driver', () => {
  expect(sizesFrom('process:5,10 embedded:50')).toEqual({ process: [5, 10], embedded: [50] });
  expect(sizesFrom('embedded:5')).toEqual({ process: [], embedded: [5] });
});

test.each(['', 'docker:5', 'process', 'process:', 'process:0', 'process:5,x', 'process:1.5', 'embedded:5:6'])(
  'sizes that cannot be run are refused: %s',
  (text) => {
    expect(() => sizesFrom(text)).toThrow(`SVCNET_BENCH_NODES: got '${text}', expected process:5,10,20`);
  },
);
