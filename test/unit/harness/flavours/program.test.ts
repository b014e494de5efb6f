import { expect, test, vi } from 'vitest';
import { optionsListed, programOutput } from '../../../../harness/flavours/program.ts';

test('a program that is asked sees nothing that a shell sets for its own node', async () => {
  vi.stubEnv('ANT_HOME', '/home/ant');
  vi.stubEnv('BEE_PASSWORD', 'x');
  vi.stubEnv('ANTHILL', 'there');
  const seen = await programOutput('/usr/bin/env', [], { prefix: 'ANT_' });
  expect(seen).toContain('ANTHILL=there\n');
  expect(seen).not.toMatch(/^(ANT|BEE)_/m);
});

test.each([
  [
    'cobra',
    '      --boot-nodes strings   instead of --peers\n  -v, --verbose   says more',
    ['boot-nodes', 'verbose'],
  ],
  ['clap', '  -b, --boot_nodes <LIST>\n          First contacts, see --peers\n', ['boot_nodes']],
  ['argparse', '  -b LIST, --bootNodes LIST  first contacts (--peers)', ['bootNodes']],
  [
    'urfave',
    '   --http.addr value, --http-addr value, -a value\twhere, unlike --rpc',
    ['http.addr', 'http-addr'],
  ],
  ['others', '\t--a|--B=x / --c[=y]', ['a', 'B', 'c']],
  ['prose', 'usage: x --help\n\n--left  of no indentation\n  see --there', []],
])('options as %s lists them', (_what, help, names) => {
  expect([...optionsListed(help)]).toEqual(names);
});

test('a help text of nothing but blanks and hyphens takes no longer than any other', () => {
  const startedAt = performance.now();
  expect(optionsListed(' '.repeat(100_000)).size + optionsListed(`  ${'-'.repeat(100_000)}`).size).toBe(0);
  expect(performance.now() - startedAt).toBeLessThan(2000);
});
