import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { readTree, tarOf } from '../../../../harness/base/tree.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';

const folder = temporaryFolder('svcnet-tree');
beforeAll(() => {
  mkdirSync(join(folder, 'b', 'empty'), { recursive: true });
  writeFileSync(join(folder, 'b', 'two.txt'), 'two');
  writeFileSync(join(folder, 'a.txt'), 'one');
});

test('the files of a folder come in the order of their paths', async () => {
  const files = await readTree(folder);
  expect(files.map(({ path, data }) => [path, Buffer.from(data).toString()])).toEqual([
    ['a.txt', 'one'],
    ['b/two.txt', 'two'],
  ]);
});

test('equal folders give equal archives', async () => {
  const [one, two] = [await tarOf(await readTree(folder)), await tarOf(await readTree(folder))];
  expect(Buffer.compare(one, two)).toBe(0);
});

test('a folder without files and a missing one are refused by name', async () => {
  const refused = { code: 'USAGE' };
  await expect(readTree(join(folder, 'b', 'empty'))).rejects.toMatchObject({
    ...refused,
    message: `the directory ${join(folder, 'b', 'empty')} has no files`,
  });
  await expect(readTree(join(folder, 'c'))).rejects.toMatchObject(refused);
});
