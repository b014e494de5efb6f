/** The image is built from the program in SVCNET_BEE_BINARY. */

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { buildBeeImage } from './bee-image.ts';
import { docker } from './kit.ts';

const IMAGE = `svcnet-test-bee:${process.pid}`;
const stateDir = temporaryFolder('svcnet-docker-bee');
let net: Cluster;

const clusterOf = (options: Readonly<Record<string, string>>) => ({
  name: `docker-bee-${process.pid}`,
  stateDir,
  driver: 'docker' as const,
  seed: 7,
  nodes: [{ count: 2 }, { flavour: 'bee' as const, image: IMAGE, options }],
});

beforeAll(async () => {
  await buildBeeImage(IMAGE);
  net = await Cluster.start(clusterOf({}));
});

afterAll(async () => {
  await net?.stop();
  await docker.getImage(IMAGE).remove({ force: true });
});

test('data travels from a Bee to our node and back', async () => {
  const [own, bee] = [net.node(0), net.node(2)];
  for (const [from, to] of [
    [bee, own],
    [own, bee],
  ] as const) {
    const data = randomBytes(50_000);
    const { reference } = await from.bytes.upload(data);
    await net.synced(reference);
    expect(Buffer.compare(await to.bytes.download(reference), data)).toBe(0);
  }
});

test('an option unknown to the program of the image is refused before anything runs', async () => {
  const start = Cluster.start({
    ...clusterOf({ 'no-such-option': 'x' }),
    name: `docker-bee-${process.pid}-2`,
  });
  await expect(start).rejects.toMatchObject({
    code: 'DEFINITION_INVALID',
    message: `nodes[1].options: ${IMAGE} knows no option 'no-such-option'`,
  });
});

test('an image of another program is refused', async () => {
  const start = Cluster.start({
    ...clusterOf({}),
    name: `docker-bee-${process.pid}-3`,
    nodes: [{}, { flavour: 'bee', image: 'node:24-bookworm-slim' }],
  });
  await expect(start).rejects.toMatchObject({
    code: 'BINARY_INVALID',
    message: expect.stringMatching(
      /^nodes\[1\]\.image: image node:24-bookworm-slim (is not a Bee|cannot run 'start --help')/,
    ) as string,
  });
});
