import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { until } from '../../../harness/scenario.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const stateDir = temporaryFolder('svcnet-chain');
let net: Cluster;
beforeAll(async () => {
  net = await Cluster.start({
    driver: 'embedded',
    nodes: 2,
    seed: 8,
    stateDir,
    batches: false,
    chain: { gate: true },
  });
});
afterAll(() => net.stop());

async function blockOf(node: ClusterNode, signal?: AbortSignal): Promise<number> {
  return (await node.client.status(signal)).lastSyncedBlock;
}

function reads(node: ClusterNode, block: number): Promise<true> {
  return until<true>(
    `${node.name} does not follow the chain`,
    async (signal) => {
      const seen = await blockOf(node, signal);
      return seen >= block ? { done: true } : { missing: `it has read block ${seen} of ${block}` };
    },
    { timeoutMs: 120_000 },
  );
}

test('an endpoint that is down for one node does not affect the others, and the node recovers by itself', async () => {
  const [cut, other] = [net.node(0), net.node(1)];
  await net.chain.setRpcFault({ kind: 'down' }, cut.name);
  const before = await blockOf(cut);
  await net.chain.mine(5);
  const head = await net.chain.height();
  await reads(other, head);
  await until<true>(
    'no call of the node was met',
    async () => {
      const calls = (await net.chain.rpcCalls())[cut.name];
      return calls !== undefined && calls.met > 0 ? { done: true } : { missing: JSON.stringify(calls) };
    },
    { timeoutMs: 120_000 },
  );
  expect(await blockOf(cut)).toBeLessThanOrEqual(before + 1);
  await net.chain.setRpcFault({ kind: 'none' }, cut.name);
  await reads(cut, head);
  expect((await net.chain.rpcCalls())[other.name]).toMatchObject({ met: 0 });
});

test('calls that are refused at times, or answered late, do not stop a node', async () => {
  await net.chain.setRpcFault({ kind: 'error', percent: 30 });
  await net.chain.setRpcFault({ kind: 'slow', ms: 50 }, 'node-1');
  await net.chain.mine(3);
  const head = await net.chain.height();
  await Promise.all(net.nodes.map((node) => reads(node, head)));
  await net.chain.setRpcFault({ kind: 'none' });
  await net.chain.setRpcFault({ kind: 'none' }, 'node-1');
});

test('prices and pauses are changed in the contracts', async () => {
  const { chain } = net;
  const { swapPriceOracle, postageStamp, stakeRegistry } = chain.contracts;
  await chain.setSwapPrice({ price: 20_000n, deduction: 7n });
  expect(await chain.view(swapPriceOracle, 'price()')).toBe(20_000n);
  expect(await chain.view(swapPriceOracle, 'chequeValueDeduction()')).toBe(7n);
  await chain.setStoragePrice(48_000n);
  expect(await chain.view(postageStamp, 'lastPrice()')).toBe(48_000n);
  await chain.pauseContract('stakeRegistry');
  expect(await chain.view(stakeRegistry, 'paused()')).toBe(1n);
  await chain.resumeContract('stakeRegistry');
  expect(await chain.view(stakeRegistry, 'paused()')).toBe(0n);
});

test('a view of an account without a contract is an error', async () => {
  await expect(net.chain.view(net.node(0).ethereum, 'paused()')).rejects.toMatchObject({
    code: 'CHAIN_FAILED',
    message: expect.stringContaining('says nothing to paused()') as string,
  });
});

test('a reorganisation undoes what its blocks did', async () => {
  const { chain } = net;
  const [node] = net.nodes;
  const address = node?.ethereum ?? '';
  const before = await chain.tokenBalance(address);
  await chain.fund(address, { tokens: 5n });
  expect(await chain.tokenBalance(address)).toBe(before + 5n);
  await chain.reorganise(10);
  expect(await chain.tokenBalance(address)).toBe(before);
});
