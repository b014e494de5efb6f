/** The examples run as written, except for the import. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Cluster } from '../../../harness/index.ts';

test('a file survives its uploader', async () => {
  await using net = await Cluster.start({ nodes: 4, seed: 7 });
  const data = randomBytes(100_000);
  const { reference } = await net.node(0).bytes.upload(data);
  await net.synced(reference);
  await net.node(0).kill();
  expect(Buffer.compare(await net.node(3).bytes.download(reference), data)).toBe(0);
}, 60_000);

test('what was acknowledged survives a kill', async () => {
  await using net = await Cluster.start({ driver: 'embedded', nodes: 3, seed: 7 });
  const node = net.node(0);
  const data = randomBytes(100_000);
  const { reference } = await node.bytes.upload(data);
  await node.kill();
  await node.start();
  await net.synced(reference);
  expect(Buffer.compare(await net.node(2).bytes.download(reference), data)).toBe(0);
}, 60_000);

test.each([
  ['README.md', "test('a file survives its uploader'"],
  ['docs/guides/library.md', "test('what was acknowledged survives a kill'"],
])('%s shows %s', (page, start) => {
  const own = readFileSync(import.meta.filename, 'utf8');
  const shown = readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8');
  const from = own.indexOf(start);
  expect(shown).toContain(own.slice(from, own.indexOf('}, 60_000);', from)));
});
