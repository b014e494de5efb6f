import { expect, test } from 'vitest';
import { programNames } from '../../../../../harness/cluster/nodes/program-names.ts';

test('a program is named by the end of its path that no other program of its flavour has', () => {
  const nodes = [
    { flavour: 'svc' },
    { flavour: 'svc', binary: '/one/node/main.ts' },
    { flavour: 'svc', binary: '/two/node/main.ts' },
    { flavour: 'svc', binary: '/bin/changed' },
    { flavour: 'bee', binary: '/opt/bee' },
  ];
  expect(nodes.map(programNames(nodes))).toEqual([
    undefined,
    'one/node/main.ts',
    'two/node/main.ts',
    'changed',
    undefined,
  ]);
  const nested = [
    { flavour: 'svc', binary: 'main.ts' },
    { flavour: 'svc', binary: '/one/main.ts' },
  ];
  expect(nested.map(programNames(nested))).toEqual(['main.ts', 'one/main.ts']);
});
