import { expect, test } from 'vitest';
import { independentRounds } from '../../../../../harness/cluster/start/prepared-cheques.ts';

test('the two directions of a link run one after another, and links do not wait for each other', () => {
  const pairs = ['a-b', 'c-a', 'b-a', 'b-c', 'a-b'].map((text) => {
    const [from, to] = text.split('-').map((name) => ({ name }));
    return { from, to } as { from: { name: string }; to: { name: string } };
  });
  const lines = independentRounds(pairs).map((line) => line.map(({ from, to }) => `${from.name}-${to.name}`));
  expect(lines).toEqual([['a-b', 'b-a', 'a-b'], ['c-a'], ['b-c']]);
});
