import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CLUSTER_OPTIONS } from '../../../../harness/cluster/plan/options/table.ts';
import { nodesText, nodesWith } from '../../../../harness/commands/nodes-flags.ts';
import { validate } from '../../../../harness/commands/validate.ts';
import { contextOf } from './kit.ts';

test('nodes beside others get the program that is named with their flavour', () => {
  const { parse } = CLUSTER_OPTIONS.with.flag;
  const beside = ['svc@./changed=2', 'bee@/opt/a=b/bee=1', 'bee', 'bee=3'].reduce(
    (before, text) => [...parse(text, before)],
    [] as ReturnType<typeof parse>,
  );
  expect(nodesWith({ with: beside, beeBinary: '/opt/bee' }, undefined, 1)).toEqual([
    { count: 1 },
    { flavour: 'svc', count: 2, binary: './changed' },
    { flavour: 'bee', count: 1, binary: '/opt/a=b/bee' },
    { flavour: 'bee', count: 1, binary: '/opt/bee' },
    { flavour: 'bee', count: 3, binary: '/opt/bee' },
  ]);
  expect(beside.map(CLUSTER_OPTIONS.with.flag.write)).toEqual([
    'svc@./changed=2',
    'bee@/opt/a=b/bee=1',
    'bee=1',
    'bee=3',
  ]);
  expect(() => parse('svc@./changed=two', [])).toThrow('Expected a whole number from 1 to 1000.');
});

test('groups of one flavour are counted together, and by program where they have several', async () => {
  const bee = (binary: string) => ({ flavour: 'bee' as const, binary });
  expect(nodesText([{ count: 2 }, bee('bee-2.7.1'), bee('bee-2.8.1')], 1)).toBe(
    '5 nodes, 2 of them bee, 1 of them light',
  );
  const folder = mkdtempSync(join(tmpdir(), 'svcnet-groups-'));
  try {
    const summaryOf = async (nodes: readonly object[]) => {
      const file = join(folder, 'cluster.json');
      writeFileSync(file, JSON.stringify({ nodes }));
      const context = contextOf(folder);
      await validate(file, {}, context);
      return context.printed();
    };
    const ours = [{ count: 2 }, { flavour: 'svc' }];
    expect(await summaryOf([...ours, bee('bee-2.8.1'), bee('bee-2.8.1')])).toContain(
      '5 nodes (3 svc, 2 bee)',
    );
    expect(await summaryOf([...ours, bee('bee-2.7.1'), bee('bee-2.8.1')])).toContain(
      '5 nodes (3 svc, 1 bee (bee-2.7.1), 1 bee (bee-2.8.1))',
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
