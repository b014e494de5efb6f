import { afterAll, beforeAll, expect, test } from 'vitest';
import { proximityOrder } from '../../../formats/chunk/address.ts';
import { fromHex } from '../../../formats/crypto/hex.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { bytesOf, eventuallyIn, reserveSize, stateFolder } from './kit.ts';

const RADIUS = 3;
const CHUNKS = 60;

let net: Cluster;
const eventually = eventuallyIn(() => net);
beforeAll(async () => {
  net = await Cluster.start({
    nodes: [
      { count: 2, neighbourhoods: ['10', '11'] },
      { count: 1, neighbourhoods: ['000'], options: { 'minimum-storage-radius': RADIUS } },
    ],
    driver: 'simulated',
    seed: 29,
    stateDir: stateFolder(),
  });
});
afterAll(() => net.stop());

test('from peers that lie three bits outside, the chunks of its neighbourhood and no other', async () => {
  const away = net.node(2);
  await away.stop();
  const references: string[] = [];
  for (let n = 0; n < CHUNKS; n++)
    references.push((await net.node(0).chunks.upload(bytesOf(`far ${n}`, 100))).reference);
  await away.start();
  const overlay = fromHex(away.overlay);
  const own = references.filter((reference) => proximityOrder(overlay, fromHex(reference)) >= RADIUS);
  expect(own.length).toBeGreaterThan(0);
  await eventually('it has not pulled its chunks', async () => {
    const size = await reserveSize(away);
    return size >= own.length ? undefined : `${size} of ${own.length}`;
  });
  expect(await reserveSize(away)).toBe(own.length);
  for (const reference of own) expect(await away.chunks.has(reference)).toBe(true);
});
