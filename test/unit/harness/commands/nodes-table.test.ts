import { expect, test } from 'vitest';
import type { Cluster } from '../../../../harness/cluster/cluster.ts';
import type { CommandContext } from '../../../../harness/commands/context.ts';
import { nodesTable, strangersNote } from '../../../../harness/commands/nodes-table.ts';

const NODE = {
  name: 'node-0',
  state: 'running',
  flavour: 'svc',
  mode: 'full',
  api: 'http://127.0.0.1:31794',
  debug: 'http://127.0.0.1:25751',
  p2p: `/ip4/127.0.0.1/tcp/29633/p2p/12D3KooW${'a'.repeat(44)}`,
  overlay: 'ab'.repeat(32),
  ethereum: 'cd'.repeat(20),
  batch: 'ef'.repeat(32),
};
const CLUSTER = { nodes: [NODE, { ...NODE, name: 'node-1' }] } as unknown as Cluster;

function linesAt(width: number, wide: boolean): string[] {
  const context = { width, style: { width, colour: false, live: true } } as CommandContext;
  return nodesTable(CLUSTER, context, { wide, state: true });
}

test.each([60, 80, 100])('fits %d columns and names the columns left out', (width) => {
  const lines = linesAt(width, false);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
  expect(lines.at(-1)).toMatch(/^ {2}not shown: .*\(--wide\)$/);
});

test('--wide lists full values vertically where a table would wrap', () => {
  const lines = linesAt(80, true);
  expect(lines.slice(0, 3)).toEqual(['  node-0', '    state    running', '    flavour  svc']);
  expect(lines).toContain(`    overlay  ${NODE.overlay}`);
  expect(lines).toContain(`    batch    ${NODE.batch}`);
  expect(lines).toContain('  node-1');
});

test('the version of the program that a node runs is beside its flavour, whole with --wide', () => {
  const context = { width: 200, style: { width: 200, colour: false, live: true } } as CommandContext;
  const versions = new Map([['node-0', '2.8.1-6e8a2e2']]);
  const at = (wide: boolean) => nodesTable(CLUSTER, context, { wide, state: true, versions }).join('\n');
  expect(at(false)).toContain('node-0  running  svc 2.8.1  http');
  expect(at(false)).toContain('node-1  running  svc        http');
  expect(at(true)).toContain('svc 2.8.1-6e8a2e2');
});

test('--wide prints a table to programs and very wide terminals', () => {
  const lines = linesAt(Number.POSITIVE_INFINITY, true);
  expect(lines).toHaveLength(3);
  expect(lines[1]).toContain(NODE.p2p);
});

test('nodes of one flavour with different programs are not expected to be linked, and light ones do not count', () => {
  const bee = (name: string, binary: string, mode = 'full') => ({
    ...NODE,
    name,
    binary,
    mode,
    flavour: 'bee',
  });
  const noteOf = (nodes: readonly object[]) => strangersNote({ nodes } as unknown as Cluster);
  expect(noteOf([NODE, bee('a', '/2.7'), bee('b', '/2.8'), bee('c', '/2.8')])).toEqual([
    '  bee: no link is awaited between a and b, c, whose programs differ',
  ]);
  expect(noteOf([NODE, bee('a', '/2.8'), bee('b', '/2.8'), bee('c', '/2.7', 'light')])).toEqual([]);
});
