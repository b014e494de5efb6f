import { expect, test } from 'vitest';
import { flagsOf } from './kit.ts';

// A runtime's timer of more than 24.8 days fires at once.
test.each([
  ['--timeout', (time: string) => flagsOf('up', '--timeout', time), 'timeout'],
  ['--budget', (time: string) => flagsOf('minimise', 'last', '--budget', time), 'budget'],
] as const)('%s is a time that a timer can wait for', async (_, flags, name) => {
  expect(await flags('24d')).toMatchObject({ [name]: 24 * 24 * 3_600_000 });
  await expect(flags('30d')).rejects.toThrow(/at most 24d/);
  await expect(flags('soon')).rejects.toThrow(/a duration such as/);
});
