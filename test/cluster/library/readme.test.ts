/** The example of the README, as it stands there but for the import. */
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

test('the README shows this example', () => {
  const own = readFileSync(import.meta.filename, 'utf8');
  const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
  const start = "test('a file survives its uploader'";
  const example = own.slice(own.indexOf(start), own.indexOf('}, 60_000);'));
  expect(readme).toContain(example);
});
