import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { batchAmount } from '../../../harness/cluster/plan/definition.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const PRICE = 48_000;
const HOUR_MS = 3_600_000;

const stateDir = temporaryFolder('svcnet-terms');
let net: Cluster;
beforeAll(async () => {
  net = await Cluster.start({
    driver: 'embedded',
    nodes: 2,
    seed: 9,
    stateDir,
    chain: { storagePrice: PRICE, blockTime: '5s' },
    batches: { ttl: '24h' },
  });
});
afterAll(() => net.stop());

test('nodes see the price of the definition, and the contract charges it', async () => {
  expect(await net.chain.batchTerms()).toEqual({ storagePrice: BigInt(PRICE), blockTimeMs: 5000 });
  const state = await net.node(0).client.chainState();
  expect(state.currentPrice).toBe(BigInt(PRICE));
});

test('a batch of 24 hours lasts 24 hours at that price and block time', async () => {
  const node = net.node(0);
  const [batch] = await node.stamps.list();
  const elapsedS = (await net.chain.height()) * 5;
  expect(batch?.batchTTL).toBeLessThanOrEqual(86_400);
  expect(batch?.batchTTL).toBeGreaterThan(86_400 - elapsedS - 5);
});

test('a later purchase follows the price of the chain at that time', async () => {
  await net.chain.mine();
  await net.chain.setStoragePrice(2n * BigInt(PRICE));
  const amount = batchAmount(HOUR_MS, await net.chain.batchTerms());
  expect(amount).toBe(2n * BigInt(PRICE) * 720n);
});
