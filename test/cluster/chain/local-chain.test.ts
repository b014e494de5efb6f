import { createServer } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { batchId } from '../../../chain/deployment/deploy.ts';
import { anvilBinary } from '../../../chain/engine/anvil.ts';
import { type LocalChain, type LocalChainOptions, startLocalChain } from '../../../chain/local-chain.ts';
import { createRpcClient } from '../../../chain/rpc.ts';
import vectors from '../../vectors/contracts.json' with { type: 'json' };
import { deployer, NETWORK_ID, Network, player, second, TOKENS } from './network.ts';

const { roles, deterministicAddresses } = vectors;
const networks: Network[] = [];

afterEach(async () => {
  for (const network of networks.splice(0)) {
    network.rpc.close();
    await network.chain.stop();
  }
});

async function start(options: Partial<LocalChainOptions> = {}): Promise<Network> {
  const chain = await startLocalChain({ networkId: NETWORK_ID, blockTimeMs: 0, accounts: [], ...options });
  const network = new Network(chain);
  networks.push(network);
  return network;
}

const nonceOf = (n: number) => `0x${n.toString(16).padStart(64, '0')}`;
const batchFor = (owner: string, n: number, amount = 2_073_600_000n) => ({
  owner,
  amount,
  depth: 20,
  immutable: n % 2 === 0,
  nonce: nonceOf(n),
});
const block = async (network: Network, number: string) =>
  Object(await network.rpc.call('eth_getBlockByNumber', number, false));

/** The test's own deadline ends it. */
async function reaches(chain: LocalChain, height: number): Promise<void> {
  while ((await chain.head()) < height) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** The height after pending blocks have arrived. */
async function settled(chain: LocalChain): Promise<number> {
  for (;;) {
    const head = await chain.head();
    await new Promise((resolve) => setTimeout(resolve, 100));
    if ((await chain.head()) === head) return head;
  }
}

describe('a started chain', () => {
  test('has all contracts at their fixed addresses, connected to each other', async () => {
    const network = await start();
    const { contracts } = network.chain;
    const lower = Object.values(contracts).map((address) => address.toLowerCase());
    expect(lower).toEqual(Object.values(deterministicAddresses.deployOrderOfThisDocument));

    const { postageStamp, stakeRegistry, priceOracle, redistribution } = network;
    const has = (contract: typeof postageStamp, role: string, member: string) =>
      network.view(contract, 'hasRole', [role, member]);
    expect(await has(postageStamp, roles.PRICE_ORACLE_ROLE, contracts.postagePriceOracle)).toBe(true);
    expect(await has(postageStamp, roles.REDISTRIBUTOR_ROLE, contracts.redistribution)).toBe(true);
    expect(await has(stakeRegistry, roles.REDISTRIBUTOR_ROLE, contracts.redistribution)).toBe(true);
    expect(await has(priceOracle, roles.PRICE_UPDATER_ROLE, contracts.redistribution)).toBe(true);
    for (const contract of [network.token, postageStamp, priceOracle, stakeRegistry, redistribution]) {
      expect(await has(contract, roles.DEFAULT_ADMIN_ROLE, deployer.address)).toBe(true);
    }
    expect(await network.view(postageStamp, 'lastPrice')).toBe(24_000n);
    expect(await network.view(postageStamp, 'minimumValidityBlocks')).toBe(2n);
  });

  test('shows nodes the price from the block after the start block on', async () => {
    const network = await start();
    const { startBlock, contracts } = network.chain;
    const code = (number: number) =>
      network.rpc.call('eth_getTransactionCount', contracts.postageStamp, `0x${number.toString(16)}`);
    expect([await code(startBlock - 1), await code(startBlock)]).toEqual(['0x0', '0x1']);
    const filter = {
      fromBlock: `0x${(startBlock + 1).toString(16)}`,
      toBlock: 'latest',
      address: contracts.postageStamp,
    };
    const topics = [[vectors.logFilter.topics[0]?.[3]]];
    expect(await network.rpc.call('eth_getLogs', { ...filter, topics })).toHaveLength(1);
  });

  test('has its head at the current time, high enough for nodes to look back', async () => {
    const before = Math.floor(Date.now() / 1000);
    const network = await start();
    const head = await block(network, 'latest');
    expect(Number(head.number)).toBeGreaterThanOrEqual(16);
    expect(Number(head.timestamp)).toBeGreaterThanOrEqual(before);
    expect(Number(head.timestamp)).toBeLessThanOrEqual(Math.floor(Date.now() / 1000));
    const past = `0x${(Number(head.number) - 12).toString(16)}`;
    expect(await network.rpc.call('eth_getTransactionCount', deployer.address, past)).toBeDefined();
  });

  test('has funded accounts, and batches old enough to use', async () => {
    const accounts = [player, second].map(({ address }, i) => ({
      address,
      native: 5n,
      tokens: BigInt(i) * TOKENS,
    }));
    const batches = [batchFor(player.address, 1), batchFor(second.address, 2)];
    const network = await start({ accounts, batches });
    expect(await network.rpc.call('eth_getBalance', player.address, 'latest')).toBe('0x5');
    expect(await network.view(network.token, 'balanceOf', [player.address])).toBe(0n);
    expect(await network.view(network.token, 'balanceOf', [second.address])).toBe(TOKENS);

    const ids = batches.map(({ nonce }) => batchId(deployer.address, nonce));
    expect(network.chain.batches).toEqual(
      batches.map(({ owner, depth }, i) => ({ id: ids[i], owner, depth })),
    );
    const head = BigInt(await network.head());
    for (const [i, { owner, immutable }] of batches.entries()) {
      const stored = await network.view(network.postageStamp, 'batches', [ids[i]]);
      expect(stored).toMatchObject({ 0: owner, 1: 20n, 2: 16n, 3: immutable });
      const created = BigInt(Object(stored)[5]);
      expect(head - created).toBeGreaterThanOrEqual(10n);
    }
  });

  test('has chequebooks with their deposits that are known to the factory', async () => {
    const chequebooks = [player, second, player].map(({ address }, i) => ({
      issuer: address,
      deposit: BigInt(i) * TOKENS,
    }));
    const network = await start({ chequebooks });
    const stored = network.chain.chequebooks;
    expect(stored.map(({ issuer }) => issuer)).toEqual(chequebooks.map(({ issuer }) => issuer));
    expect(new Set(stored.map(({ address }) => address)).size).toBe(chequebooks.length);
    for (const [i, { issuer, address }] of stored.entries()) {
      const book = network.chequebook(address);
      expect(await network.view(network.factory, 'deployedContracts', [address])).toBe(true);
      expect(await network.view(book, 'issuer')).toBe(issuer);
      expect(await network.view(book, 'defaultHardDepositTimeout')).toBe(0n);
      expect(await network.view(book, 'balance')).toBe(chequebooks[i]?.deposit);
    }
  });

  test('has the same first blocks in every run', async () => {
    const options = {
      accounts: [{ address: player.address, native: 1n, tokens: 1n }],
      batches: [batchFor(player.address, 1)],
      chequebooks: [{ issuer: player.address, deposit: 1n }],
    };
    const hashes = async () => {
      const network = await start(options);
      return Promise.all(
        ['0x0', '0x1', '0x2', '0x3', '0x4'].map(async (number) => (await block(network, number)).hash),
      );
    };
    expect(await hashes()).toEqual(await hashes());
  });

  test('applies its options', async () => {
    const network = await start({
      chainId: 12_345,
      networkId: 7n,
      minimumValidityBlocks: 17_280,
      deployerKey: second.privateKey,
    });
    expect(await network.rpc.call('eth_chainId')).toBe('0x3039');
    expect(network.chain.chainId).toBe(12_345);
    expect(await network.view(network.postageStamp, 'minimumValidityBlocks')).toBe(17_280n);
    expect(await network.view(network.token, 'hasRole', [roles.MINTER_ROLE, second.address])).toBe(true);
    await network.chain.fund(player.address, { native: TOKENS, tokens: TOKENS });
    const { stakeRegistry } = network;
    await network.send(network.token, 'approve', [stakeRegistry.address, TOKENS], { from: player });
    await network.send(stakeRegistry, 'manageStake', [nonceOf(1), 10n ** 17n, 0], { from: player });
    const overlay = await network.view(stakeRegistry, 'overlayOfAddress', [player.address]);
    expect(overlay).not.toBe(vectors.stakeScenario.overlay);
  });

  test('can set up more accounts and batches than fit into a block', async () => {
    const owner = (n: number) => `0x${(n + 1).toString(16).padStart(40, '0')}`;
    const many = Array.from({ length: 150 }, (_, n) => n);
    const accounts = many.map((n) => ({ address: owner(n), native: 1n, tokens: TOKENS }));
    const network = await start({ accounts, batches: many.map((n) => batchFor(owner(n), n)) });
    const last = network.chain.batches.at(-1);
    expect(await network.view(network.postageStamp, 'batchOwner', [last?.id])).toBe(owner(149));
    expect(await network.view(network.postageStamp, 'validChunkCount')).toBe(150n * 2n ** 20n);
  });
});

describe('a chain that cannot start', () => {
  const failure = (options: Partial<LocalChainOptions>) =>
    startLocalChain({ networkId: NETWORK_ID, accounts: [], ...options });

  test('names the batch that the contract refuses, and the reason', async () => {
    const batches = [batchFor(player.address, 1), batchFor(second.address, 2, 47_999n)];
    await expect(failure({ batches })).rejects.toMatchObject({
      code: 'DEPLOYMENT_FAILED',
      message: `batch of ${second.address} with amount 47999 and depth 20 failed: InsufficientBalance()`,
    });
  });

  test('names a port that is in use', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = Object(server.address());
    await expect(failure({ port })).rejects.toMatchObject({
      code: 'PORT_IN_USE',
      message: `port ${port} of 127.0.0.1 is already in use`,
    });
    server.close();
  });

  test('names invalid options', async () => {
    await expect(failure({ minimumValidityBlocks: 1 })).rejects.toMatchObject({ code: 'OPTIONS_INVALID' });
    for (const blockTimeMs of [-1, 2 ** 31])
      await expect(failure({ blockTimeMs })).rejects.toMatchObject({ code: 'OPTIONS_INVALID' });
  });

  test('names a host it cannot listen on', async () => {
    await expect(failure({ host: '192.0.2.1' })).rejects.toMatchObject({ code: 'LISTEN_FAILED' });
  });

  test('names the package of the binary when it is missing', () => {
    expect(() => anvilBinary('plan9', 'x64')).toThrow(
      expect.objectContaining({
        code: 'ANVIL_MISSING',
        message: expect.stringContaining('@foundry-rs/anvil-plan9-amd64'),
      }),
    );
  });

  test('gives up when it is aborted', async () => {
    const reason = new Error('no longer needed');
    await expect(failure({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const starting = failure({ signal: controller.signal });
    controller.abort(reason);
    await expect(starting).rejects.toBe(reason);
  });
});

describe('blocks', () => {
  test('are mined at the block time, stop while paused, and continue afterwards', async () => {
    const { chain } = await start({ blockTimeMs: 50 });
    await reaches(chain, (await chain.head()) + 3);
    await chain.pause();
    expect(chain.paused).toBe(true);
    const head = await settled(chain);
    await chain.mine(5);
    expect(await chain.head()).toBe(head + 5);
    chain.resume();
    await reaches(chain, head + 8);
  });

  test('are mined on demand only when the block time is zero', async () => {
    const network = await start();
    const { chain } = network;
    const head = await chain.head();
    await chain.mine();
    await chain.mine(300);
    expect(await chain.head()).toBe(head + 301);
    const { timestamp } = await block(network, 'latest');
    expect(Number(timestamp)).toBeLessThanOrEqual(Math.floor(Date.now() / 1000));
    chain.setBlockTime(20);
    expect(chain.blockTimeMs).toBe(20);
    await reaches(chain, head + 304);
  });

  test('are mined only in sensible numbers', async () => {
    const { chain } = await start();
    for (const blocks of [0, -1, 1.5, 10_001]) {
      await expect(chain.mine(blocks)).rejects.toMatchObject({ code: 'OPTIONS_INVALID' });
    }
    expect(() => chain.setBlockTime(0.5)).toThrow(expect.objectContaining({ code: 'OPTIONS_INVALID' }));
  });
});

describe('funding', () => {
  test('adds coins and tokens, to several accounts at once', async () => {
    const network = await start({ accounts: [{ address: player.address, native: 3n, tokens: 4n }] });
    await network.chain.fund(player.address, { native: 10n });
    await Promise.all([1n, 2n, 3n].map((tokens) => network.chain.fund(player.address, { tokens })));
    expect(await network.rpc.call('eth_getBalance', player.address, 'latest')).toBe('0xd');
    expect(await network.view(network.token, 'balanceOf', [player.address])).toBe(10n);
  });

  test('waits for the next block of a chain with a block time', async () => {
    const network = await start({ blockTimeMs: 100 });
    await network.chain.fund(player.address, { tokens: 5n });
    expect(await network.view(network.token, 'balanceOf', [player.address])).toBe(5n);
  });

  test('with tokens is refused on a paused chain, and does not block later calls', async () => {
    const network = await start({ blockTimeMs: 100 });
    await network.chain.pause();
    await expect(network.chain.fund(player.address, { tokens: 5n })).rejects.toMatchObject({
      code: 'PAUSED',
    });
    await network.chain.fund(player.address, { native: 5n });
    network.chain.resume();
    await network.chain.fund(player.address, { tokens: 6n });
    expect(await network.view(network.token, 'balanceOf', [player.address])).toBe(6n);
  });
});

describe('the end', () => {
  test('leaves nothing listening, and happens only once', async () => {
    const chain = await startLocalChain({ networkId: NETWORK_ID, accounts: [], blockTimeMs: 10 });
    const rpc = createRpcClient(chain.rpc);
    await Promise.all([chain.stop(), chain.stop()]);
    await chain.stop();
    await expect(rpc.call('eth_chainId')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    rpc.close();
    expect(await chain.exited).toMatch(/exit code 0|SIGTERM/);
  });

  test('is reported when Anvil ends by itself', async () => {
    const lines: string[] = [];
    const chain = await startLocalChain({
      networkId: NETWORK_ID,
      accounts: [],
      log: (line) => lines.push(line),
    });
    process.kill(Number(chain.anvilPid), 'SIGKILL');
    expect(await chain.exited).toBe('signal SIGKILL');
    await chain.stop();
    expect(lines).toContain('Anvil ended by itself: signal SIGKILL');
  });

  test('happens at the end of a block that uses the chain', async () => {
    let url = '';
    {
      await using chain = await startLocalChain({ networkId: NETWORK_ID, accounts: [] });
      url = chain.rpc;
    }
    const rpc = createRpcClient(url);
    await expect(rpc.call('eth_chainId')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    rpc.close();
  });
});
