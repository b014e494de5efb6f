/** Here is what Anvil, whose clock is the machine's, cannot show. `engines.test.ts` compares the rest. */
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createAccount } from '../../../../chain/account.ts';
import { DEPLOYER_KEY } from '../../../../chain/deployer-key.ts';
import { deploy, mintCall } from '../../../../chain/deployment/deploy.ts';
import type { Engine } from '../../../../chain/engine/engine.ts';
import { startInProcess } from '../../../../chain/engine/in-process/engine.ts';
import { RpcError } from '../../../../chain/rpc.ts';
import { dumpOf, headOf } from '../../../../chain/state/blocks.ts';
import { systemClock } from '../../../../formats/clock.ts';

const CHAIN_ID = 31_337;
const START_MS = 1_800_000_000_000;
const deployer = createAccount(DEPLOYER_KEY);
const receiver = deployer.contractAt(100);
const accounts = [{ address: receiver, native: 5n, tokens: 7n }];
const options = { chainId: CHAIN_ID, networkId: 1n, minimumValidityBlocks: 2, storagePrice: 24_000 };

/** Only the test moves its time. */
async function start(state?: Uint8Array) {
  const time = { ms: START_MS };
  const computed = { calls: 0 };
  const work = <T>(ask: () => Promise<T>): Promise<T> => {
    computed.calls++;
    return ask();
  };
  const clock = { ...systemClock(), now: () => time.ms };
  const engine = await startInProcess({ chainId: CHAIN_ID, clock, work, state });
  const deployed =
    state ??
    (await deploy({ rpc: engine.rpc, clock }, DEPLOYER_KEY, {
      ...options,
      accounts,
      batches: [],
      chequebooks: [{ issuer: receiver, deposit: 9n }],
    }));
  return { ...engine, time, computed, token: 'contracts' in deployed ? deployed.contracts.token : '' };
}

async function mint({ rpc }: Pick<Engine, 'rpc'>, token: string): Promise<unknown> {
  const nonce = Number(await rpc.call('eth_getTransactionCount', deployer.address, 'pending'));
  return rpc.call(
    'eth_sendRawTransaction',
    deployer.sign({ nonce, to: token, ...mintCall(receiver, 3n) }, CHAIN_ID),
  );
}

const waiting = async ({ rpc }: Pick<Engine, 'rpc'>) =>
  Number(((await rpc.call('txpool_status')) as { pending: string }).pending);

test('what is known of a head is told at once, but not when a block was asked for before', async () => {
  const { upstream, computed } = await start();
  const ask = async (id: number, method: string) =>
    JSON.parse(
      await upstream.ask(JSON.stringify({ jsonrpc: '2.0', id, method }), new AbortController().signal),
    ) as { id: number; result: string };
  const { result: before } = await ask(1, 'eth_blockNumber');
  const calls = computed.calls;
  expect(await ask(2, 'eth_blockNumber')).toMatchObject({ id: 2, result: before });
  expect(computed.calls).toBe(calls);
  // The block waits for the price.
  const asked = ['eth_gasPrice', 'evm_mine', 'eth_blockNumber'].map((method) => ask(3, method));
  const after = (await Promise.all(asked)).at(-1);
  expect(Number(after?.result)).toBe(Number(before) + 1);
});

test('equal calls at equal times give equal blocks', async () => {
  const heads = [];
  for (const chain of [await start(), await start()]) {
    await mint(chain, chain.token);
    chain.time.ms += 5_000;
    await chain.rpc.call('evm_mine');
    heads.push(await headOf(chain.rpc));
  }
  expect(heads[0]).toEqual(heads[1]);
  expect(heads[0]?.time).toBe(START_MS / 1000 + 5);
});

test('a block has the time of the clock, and never one before its parent', async () => {
  const { rpc, time } = await start();
  time.ms += 1_999;
  await rpc.call('evm_mine');
  expect((await headOf(rpc)).time).toBe(START_MS / 1000 + 1);
  time.ms -= 60_000;
  await rpc.call('evm_mine');
  expect((await headOf(rpc)).time).toBe(START_MS / 1000 + 1);
});

test('what is asked again of the same head is not computed again, until something changes the chain', async () => {
  const chain = await start();
  const { rpc, computed } = chain;
  const ask = async () => [
    await rpc.call('eth_getBlockByNumber', 'latest', false),
    await rpc.call('eth_getBalance', receiver, 'latest'),
    await rpc.call('eth_call', { to: chain.token, data: '0x' }, 'latest').catch(String),
  ];
  const first = await ask();
  const { calls } = computed;
  expect(await ask()).toEqual(first);
  expect(computed.calls).toBe(calls);
  await rpc.call('anvil_setBalance', receiver, '0x1234');
  expect((await ask())[1]).toBe('0x1234');
  await rpc.call('evm_mine');
  expect((await ask())[0]).not.toEqual(first[0]);
  await rpc.call('anvil_rollback', 1);
  expect((await ask())[0]).toEqual(first[0]);
});

test('a receipt is computed once while blocks come, and not told of a block that is taken back', async () => {
  const chain = await start();
  const { rpc, computed } = chain;
  const hash = await mint(chain, chain.token);
  const receipt = () => rpc.call('eth_getTransactionReceipt', hash);
  expect(await receipt()).toBeNull();
  await rpc.call('evm_mine');
  const first = await receipt();
  expect(first).toMatchObject({ transactionHash: hash, status: '0x1' });
  await rpc.call('evm_mine');
  const { calls } = computed;
  expect(await receipt()).toEqual(first);
  expect(computed.calls).toBe(calls);
  await rpc.call('anvil_rollback', 2);
  expect(await receipt()).toBeNull();
});

test('a dump becomes the same chain again, with the transactions that wait', async () => {
  const chain = await start();
  await chain.rpc.call('anvil_setBalance', receiver, '0x1234');
  await mint(chain, chain.token);
  await chain.rpc.call('evm_mine');
  await mint(chain, chain.token);
  const { head, dump } = await dumpOf(chain.rpc);
  const again = await start(gunzipSync(dump));
  expect(await headOf(again.rpc)).toEqual(head);
  expect(await again.rpc.call('eth_getBalance', receiver, 'latest')).toBe('0x1234');
  expect(await waiting(again)).toBe(1);
});

test('replaced blocks are others, lose their transactions, and leave those that wait', async () => {
  const chain = await start();
  const before = await headOf(chain.rpc);
  const lost = await mint(chain, chain.token);
  await chain.rpc.call('evm_mine');
  const replaced = await headOf(chain.rpc);
  await chain.rpc.call('anvil_reorg', 1, []);
  const head = await headOf(chain.rpc);
  expect(head).toMatchObject({ number: replaced.number, parentHash: before.hash, transactions: [] });
  expect(head.hash).not.toBe(replaced.hash);
  expect(await chain.rpc.call('eth_getTransactionReceipt', lost)).toBeNull();
  const kept = await mint(chain, chain.token);
  await chain.rpc.call('anvil_reorg', 1, []);
  await chain.rpc.call('evm_mine');
  expect((await headOf(chain.rpc)).transactions).toEqual([kept]);
});

test.each([['evm_setAutomine', true], ['evm_setIntervalMining', 1000], ['eth_noSuchMethod']])(
  '%s is not available',
  async (method, ...params) => {
    const { rpc } = await start();
    await expect(rpc.call(method, ...params)).rejects.toMatchObject({ code: -32_601 });
  },
);

test('the newest block is the one of its number, whatever has changed the chain', async () => {
  const chain = await start();
  const { rpc, token, time } = chain;
  const block = (which: unknown) =>
    rpc.call('eth_getBlockByNumber', which, false) as Promise<{ number: string }>;
  const steps = [
    () => rpc.call('evm_mine'),
    () => mint(chain, token),
    () => rpc.call('evm_mine'),
    () => rpc.call('anvil_setBalance', receiver, '0x1'),
    () => rpc.call('anvil_mine', '0x3', '0x5'),
    () => rpc.call('anvil_rollback', 2),
    () => rpc.call('anvil_reorg', 1, []),
    () => rpc.call('evm_setNextBlockTimestamp', time.ms / 1000 + 60),
    () => rpc.call('evm_mine'),
    () => rpc.call('anvil_reset'),
  ];
  const seen = new Set<string>();
  for (const step of steps) {
    await step();
    const newest = await block('latest');
    expect(newest.number).toBe(await rpc.call('eth_blockNumber'));
    expect(newest).toEqual(await block(newest.number));
    seen.add(JSON.stringify(newest));
  }
  expect(seen.size).toBe(7);
});

test('more blocks than there are cannot be taken back', async () => {
  const { rpc } = await start();
  await expect(rpc.call('anvil_rollback', 1_000)).rejects.toBeInstanceOf(RpcError);
});
