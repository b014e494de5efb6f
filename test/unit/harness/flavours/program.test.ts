/** What programs of others say of themselves. */
import { expect, test, vi } from 'vitest';
import { programOutput } from '../../../../harness/flavours/program.ts';

test('a program that is asked sees nothing that a shell sets for its own node', async () => {
  vi.stubEnv('ANT_HOME', '/home/ant');
  vi.stubEnv('BEE_PASSWORD', 'x');
  vi.stubEnv('ANTHILL', 'there');
  const seen = await programOutput('/usr/bin/env', [], 'ANT_');
  expect(seen).toContain('ANTHILL=there\n');
  expect(seen).not.toMatch(/^(ANT|BEE)_/m);
});
