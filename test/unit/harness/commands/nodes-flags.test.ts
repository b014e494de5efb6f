import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { nodesText } from '../../../../harness/commands/nodes-flags.ts';
import { validate } from '../../../../harness/commands/validate.ts';
import { contextOf } from './kit.ts';

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
