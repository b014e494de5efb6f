import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Compared } from '../../../harness/inspect/differences/compare.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { writeProgram } from '../program.ts';
import { svcnetHere } from '../svcnet.ts';

const folder = temporaryFolder('svcnet-diff');
function other(change: string): string {
  const program = join(folder, change);
  writeProgram(program, join(import.meta.dirname, 'other.ts'), { OTHER_CHANGE: change });
  return `svc@${program}`;
}

async function diff(flavours: readonly string[], ...words: readonly string[]) {
  const args = ['diff', '--flavours', flavours.join(','), '--seed', '5', '--json', ...words];
  const { code, stdout, stderr } = await svcnetHere(args, { stateDir: join(folder, 'state') });
  if (code === 2) throw new Error(stderr);
  return { code, ...(JSON.parse(stdout) as { compared: readonly Compared[]; report: string }) };
}

/** As a report names it: what, ours, its own. */
function named({ differences = [] }: Partial<Compared>, flavour: string) {
  return differences.map(({ what, seen }) => [what, seen['svc'], seen[flavour]]);
}

test('what is equal but for its program has no difference; wrong prices and a wrong order are named', async () => {
  const changes = ['none', 'prices', 'retrieval', 'late', 'order'];
  const flavours = ['svc', ...changes.map(other)];
  const words = ['--nodes', '3', '--set', 'size=20000', '--', 'run', 'file-retrieval'];
  const { code, compared, report } = await diff(flavours, ...words);
  expect(code).toBe(1);
  const [none, prices, retrieval, late, order] = compared;
  expect(none?.differences).toEqual([]);
  expect(none?.compared).toBeGreaterThan(110);

  expect(prices?.counts).toEqual({ money: expect.any(Number) as number });
  const priced = named({ ...prices }, flavours[2] as string);
  for (const [proximity, price] of [320_000, 310_000, 300_000].entries())
    expect(priced).toContainEqual([
      expect.stringMatching(
        new RegExp(`^pushsync from a light peer to node-1, chunk [0-9a-f]{8} at proximity ${proximity}$`),
      ),
      `${price} accounting units`,
      `${price + 1} accounting units`,
    ]);
  const ends = 'file-retrieval: both ends of each link';
  expect(priced).toContainEqual([
    ends,
    'count the same',
    expect.stringMatching(/node-\d says -?\d+ of node-\d/),
  ]);

  const [first] = named({ ...retrieval }, flavours[3] as string);
  expect(first).toEqual([
    expect.stringMatching(/^retrieval from a light peer to node-0, chunk [0-9a-f]{8} at proximity 0$/),
    '320000 accounting units',
    '330000 accounting units',
  ]);
  expect(retrieval?.counts).toEqual({ money: expect.any(Number) as number });

  for (const [proximity, price] of [320_000, 310_000, 300_000].entries())
    expect(priced).toContainEqual([
      `node-1 pays a peer for a chunk at proximity ${proximity}`,
      `${price} accounting units`,
      `${price + 1} accounting units`,
    ]);
  expect(priced).toContainEqual([
    'node-2 forgives a light peer per second',
    '450000 accounting units',
    '450001 accounting units',
  ]);
  // Of light peers it asks one unit more for pushes, and nothing else of them or for retrievals differs.
  const asked = priced.filter(([what]) => / from a light peer |^retrieval/.test(String(what)));
  expect(asked.map(([what]) => String(what).split(' ')[0])).toEqual(asked.map(() => 'pushsync'));
  expect(asked.map(([, , its]) => parseInt(String(its), 10))).toEqual(
    asked.map(([, ours]) => parseInt(String(ours), 10) + 1),
  );
  expect(priced.filter(([what]) => /a full peer per/.test(String(what)))).toEqual([]);

  // What was booked late is not the price of what came next.
  const booked = named({ ...late }, flavours[4] as string);
  expect(booked).toContainEqual([
    expect.stringMatching(/^pushsync from a light peer to node-1, chunk [0-9a-f]{8} at proximity 3$/),
    '290000 accounting units',
    '0 accounting units',
  ]);
  expect(booked).toContainEqual([
    'node-0 forgives a full peer per second',
    '4500000 accounting units',
    '4400000 accounting units',
  ]);
  expect(booked.filter(([what]) => /^retrieval|pays a peer|a light peer per/.test(String(what)))).toEqual([]);

  const [wrong] = order?.differences ?? [];
  expect(wrong?.what).toMatch(/^file-retrieval: node-0 POST \/bzz.* → .*(?:body\.reference|etag)$/);
  expect(order?.counts).toHaveProperty('placement');
  expect(JSON.parse(readFileSync(join(report, 'differences.json'), 'utf8'))).toMatchObject({ seed: 5 });
});
