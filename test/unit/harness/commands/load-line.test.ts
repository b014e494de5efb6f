import { expect, test } from 'vitest';
import { flagsOf } from './kit.ts';

const flags = (...args: readonly string[]) => flagsOf('load', 'upload', ...args);

test('a load serves its own metrics on a port, like any run', async () => {
  expect(await flags('--metrics-port', '9464')).toMatchObject({ metricsPort: 9464 });
  expect(await flags()).not.toHaveProperty('metricsPort');
  await expect(flags('--metrics-port', '80')).rejects.toThrow('1024');
});
