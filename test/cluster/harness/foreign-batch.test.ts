import { randomBytes } from 'node:crypto';
import { Bee, MerkleTree, Stamper } from '@ethersphere/bee-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { svcnetHere } from '../svcnet.ts';

const DEPTH = 20;
const stateDir = temporaryFolder('svcnet-foreign');
let net: Cluster;

beforeAll(async () => {
  net = await Cluster.start({
    driver: 'embedded',
    nodes: 3,
    seed: 7,
    dialect: 'swarm',
    name: 'foreign',
    stateDir,
  });
});
afterAll(() => net.stop());

const svcnet = (...args: string[]) => svcnetHere(args, { stateDir });

async function uploadStamped(batch: string, key: Uint8Array, text: string): Promise<string> {
  const client = new Bee(net.node(2).api);
  const envelope = Stamper.fromBlank(key, batch, DEPTH).stamp(await MerkleTree.root(Buffer.from(text)));
  const { reference } = await client.uploadChunk(envelope, client.makeContentAddressedChunk(text));
  return reference.toHex();
}

test('only the owner of a key can stamp with a batch bought for its account', async () => {
  const key = new Uint8Array(randomBytes(32));
  const owner = `0x${toHex(createSigner(key).address)}`;
  const { code, stdout, stderr } = await svcnet(
    'stamp',
    '--owner',
    owner,
    '--depth',
    String(DEPTH),
    '--json',
  );
  expect([code, stderr]).toEqual([0, '']);
  const bought = JSON.parse(stdout) as { id: string };
  expect(bought).toEqual({
    name: 'foreign',
    owner,
    id: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    depth: DEPTH,
    amount: expect.stringMatching(/^\d+$/) as string,
    txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
    usable: true,
    durationMs: expect.any(Number) as number,
  });
  await net.usable(bought.id);
  const reference = await uploadStamped(bought.id, key, 'stamped by the owner');
  expect((await net.node(0).chunks.download(reference)).length).toBe(8 + 'stamped by the owner'.length);
  const stranger = new Uint8Array(randomBytes(32));
  await expect(uploadStamped(bought.id, stranger, 'by a stranger')).rejects.toMatchObject({ status: 400 });
});

test('a batch bought for a node is one of its own', async () => {
  const { code, stdout } = await svcnet('stamp', '--owner', 'node-1', '--json');
  expect(code).toBe(0);
  const { id } = JSON.parse(stdout) as { id: string };
  expect((await net.node(1).stamps.list()).map(({ batchID }) => batchID)).toContain(id);
  const { reference } = await net.node(1).bytes.upload(randomBytes(5000), { batch: id });
  await net.synced(reference);
});

test('an unknown batch is reported at once', async () => {
  await expect(net.usable('ab'.repeat(32))).rejects.toMatchObject({ code: 'BATCH_UNKNOWN' });
});

test.each([
  [['--owner', '0x12'], "--owner: got '0x12', expected a node or an address of 40 hex digits"],
  [['--owner', 'node-9'], "no node 'node-9'"],
  [
    ['node-0', '--owner', 'node-1'],
    "'node-0': names a node that buys, but with --owner the testbed buys the batch for an account",
  ],
  [
    ['--owner', 'node-1', '--label', 'mine'],
    '--label: only nodes keep labels, but with --owner the testbed buys the batch for an account',
  ],
])('stamp %j is refused', async (args, text) => {
  const { code, stderr } = await svcnet('stamp', ...args);
  expect(code).toBe(2);
  expect(stderr).toContain(text);
});

test('an amount that the contract would refuse is refused with the accepted range', async () => {
  const { code, stderr } = await svcnet('stamp', '--owner', 'node-1', '--amount', '1');
  expect(code).toBe(2);
  expect(stderr).toMatch(/amount: got 1, expected at least \d+/);
});

test('mine produces blocks at once', async () => {
  const before = await net.chain.height();
  const { code, stdout } = await svcnet('mine', '500', '--json');
  expect(code).toBe(0);
  const { mined, height } = JSON.parse(stdout) as { mined: number; height: number };
  expect(mined).toBe(500);
  expect(height).toBeGreaterThanOrEqual(before + 500);
  const refused = await svcnet('mine', '0');
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('Expected a whole number from 1 to 10000');
});

test('a batch is bought without waiting for the clock', async () => {
  await using slow = await Cluster.start({
    driver: 'embedded',
    nodes: 1,
    name: 'slow',
    chain: { blockTime: '10m' },
    stateDir,
  });
  for (const how of [['node-0'], ['--owner', `0x${'ab'.repeat(20)}`], ['node-0', '--no-wait']]) {
    const { code, stderr } = await svcnet(
      'stamp',
      ...how,
      '--name',
      slow.name,
      '--amount',
      '100000000',
      '--json',
    );
    expect([how, code, stderr]).toEqual([how, 0, '']);
  }
});
