import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Cluster } from 'svcnet';
import 'svcnet/jest';

let net;

beforeAll(async () => {
  net = await Cluster.start({ driver: 'embedded', nodes: 3, seed: 7 });
}, 60_000);

afterAll(() => net.stop());

test('every node reads what one has uploaded', async () => {
  const data = Buffer.from('hello');
  const { reference } = await net.node(0).bytes.upload(data);
  await expect(net).toHaveDelivered(reference);
  await expect(net).toHold(reference);
  for (const node of net.nodes) expect(Buffer.from(await node.bytes.download(reference))).toEqual(data);
}, 30_000);
