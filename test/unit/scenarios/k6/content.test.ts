import { expect, test } from 'vitest';
import { tarOf as referenceTar } from '../../../../harness/base/tree.ts';
import { expectTar } from '../../../../harness/inspect/ledger/content.ts';
import { filesOf } from '../../../../harness/run/load/k6/pieces.ts';
import { loadContent } from '../../../../harness/run/load/prepare.ts';
import { contentOf, drawsOf } from '../../../../scenarios/k6/lib/content.js';
import { tarOf } from '../../../../scenarios/k6/lib/tar.js';

const source = { seed: '7', label: 'load' };

test.each([0, 1, 16, 4097, 100_000])(
  '%i bytes generated in k6 are the same as those of the harness',
  async (size) => {
    const seen = await contentOf(source, 'bytes load 3', size);
    expect(seen).toEqual(loadContent({ seed: 7n, label: 'load' }, 'bytes load 3', size));
  },
);

test('a different seed, label or index gives different bytes', async () => {
  const variants = [
    await contentOf(source, 'a', 32),
    await contentOf({ ...source, seed: '8' }, 'a', 32),
    await contentOf({ ...source, label: 'x' }, 'a', 32),
    await contentOf(source, 'b', 32),
  ];
  expect(new Set(variants.map((bytes) => Buffer.from(bytes).toString('hex'))).size).toBe(4);
});

test('draws are numbers from 0 to 1, spread over the whole range', async () => {
  const draws = (await Promise.all(Array.from({ length: 250 }, (_, i) => drawsOf(source, String(i))))).flat();
  expect(draws).toHaveLength(1000);
  expect(draws.every((draw) => draw >= 0 && draw < 1)).toBe(true);
  for (const quarter of [0, 1, 2, 3]) {
    const inside = draws.filter((draw) => Math.floor(draw * 4) === quarter).length;
    expect(inside).toBeGreaterThan(180);
  }
});

test.each([1, 2, 7])('an archive of %i files is the directory that the harness expects', async (count) => {
  const files = filesOf(await contentOf(source, 'directory', 10_000), count);
  const [seen, expected] = await Promise.all([expectTar(tarOf(files)), expectTar(await referenceTar(files))]);
  expect(seen).toEqual(expected);
  expect(Buffer.concat(files.map(({ data }) => data))).toHaveLength(10_000);
});
