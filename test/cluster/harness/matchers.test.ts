import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { matchers } from '../../../harness/matchers.ts';
import '../../../harness/vitest.ts';

let net: Cluster;
let reference: string;

beforeAll(async () => {
  net = await Cluster.start({ driver: 'embedded', nodes: 3, seed: 7 });
  ({ reference } = await net.node(0).bytes.upload(new Uint8Array(20_000).fill(3)));
});
afterAll(() => net.stop());

test('a healthy network is meshed, delivers, settles and holds uploads', async () => {
  await expect(net).toBeMeshed();
  await expect(net).toHaveDelivered(reference);
  await expect(net).toHaveSettled();
  await expect(net).toHold(reference);
  await expect(net.node(1)).toHold(reference);
});

test('content that no node has is not held, and the failure names chunk and closest node', async () => {
  const unknown = 'ab'.repeat(32);
  await expect(net).not.toHold(unknown);
  await expect(expect(net).toHold(unknown)).rejects.toThrow(
    /1 of 1 chunks of (ab){32} are held by no running node\n {2}chunk (ab){32}, closest to node-\d, which runs and does not have it/,
  );
  await expect(expect(net.node(1)).toHold(unknown)).rejects.toThrow(/node-1 lacks 1 of 1 chunk/);
  await expect(expect(net).not.toHold(reference)).rejects.toThrow('is held by a running node');
});

test('a stopped node is named as the reason', async () => {
  await net.node(2).stop();
  try {
    await expect(expect(net).toHold('cd'.repeat(32))).rejects.toThrow('not asked: node-2: it is stopped');
    await expect(expect(net.node(2)).toHold(reference)).rejects.toThrow(
      'cannot see what node-2 holds: it is stopped',
    );
    await expect(expect(net).toHold(reference)).resolves.toBeUndefined();
  } finally {
    await net.node(2).start();
  }
});

test('a wait that times out says what was missing', async () => {
  const others = [net.node(1), net.node(2)];
  for (const node of others) await node.pause();
  try {
    const { reference: stuck } = await net.node(0).bytes.upload(new Uint8Array(9000).fill(9));
    await expect(expect(net).toHaveDelivered(stuck, { timeoutMs: 300 })).rejects.toThrow(
      /not synced within .*node-0/,
    );
    await expect(net).not.toHaveDelivered(stuck, { timeoutMs: 300 });
  } finally {
    for (const node of others) await node.resume();
  }
});

test('a value that is not a network is refused by name', async () => {
  await expect(matchers.toBeMeshed.call({}, 'net')).rejects.toThrow(
    'toBeMeshed: got string, expected a Cluster',
  );
  await expect(expect(net).toHold('xyz')).rejects.toThrow('toHold: reference');
});
