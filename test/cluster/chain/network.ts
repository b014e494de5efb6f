/**
 * A local chain for contract tests: every block is mined on request, every transaction has its own block, and each test
 * starts from the same snapshot.
 */
import { Interface, type InterfaceAbi, type LogDescription, Result, Wallet } from 'ethers';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { createAccount } from '../../../chain/account.ts';
import chequebook from '../../../chain/artifacts/ERC20SimpleSwap.json' with { type: 'json' };
import postageStamp from '../../../chain/artifacts/PostageStamp.json' with { type: 'json' };
import priceOracle from '../../../chain/artifacts/PriceOracle.json' with { type: 'json' };
import redistribution from '../../../chain/artifacts/Redistribution.json' with { type: 'json' };
import factory from '../../../chain/artifacts/SimpleSwapFactory.json' with { type: 'json' };
import stakeRegistry from '../../../chain/artifacts/StakeRegistry.json' with { type: 'json' };
import swapPriceOracle from '../../../chain/artifacts/SwapPriceOracle.json' with { type: 'json' };
import token from '../../../chain/artifacts/TestToken.json' with { type: 'json' };
import {
  LOCAL_CHAIN_DEFAULTS,
  type LocalChain,
  type LocalChainOptions,
  startLocalChain,
} from '../../../chain/local-chain.ts';
import { createRpcClient, type RpcClient, RpcError } from '../../../chain/rpc.ts';

export const NETWORK_ID = 4020n;
export const TOKENS = 10n ** 19n;
/** Of the players of the vectors, and a few more. Account 0 deploys and administers. */
export const deployer = new Wallet(LOCAL_CHAIN_DEFAULTS.deployerKey);
export const player = new Wallet('0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d');
export const second = new Wallet('0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a');
export const third = new Wallet('0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6');
/** Owns native coin only. */
export const stranger = new Wallet('0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a');

/** The limit that clients use in their debug mode. */
const GAS = 1_000_000;

export interface Contract {
  address: string;
  abi: Interface;
}

export interface Receipt {
  block: number;
  gasUsed: number;
  /** As `Name(arg,…)`, of all contracts. */
  events: string[];
  hash: string;
}

interface RawReceipt {
  status: string;
  blockNumber: string;
  gasUsed: string;
  transactionHash: string;
  contractAddress: string | null;
  logs: { address: string; topics: string[]; data: string }[];
}

const abis = {
  token: Interface.from(token.abi),
  postageStamp: Interface.from(postageStamp.abi),
  priceOracle: Interface.from(priceOracle.abi),
  stakeRegistry: Interface.from(stakeRegistry.abi),
  redistribution: Interface.from(redistribution.abi),
  factory: Interface.from(factory.abi),
  chequebook: Interface.from(chequebook.abi),
  swapPriceOracle: Interface.from(swapPriceOracle.abi),
};

export class Network {
  readonly chain: LocalChain;
  readonly rpc: RpcClient;
  readonly token: Contract;
  readonly postageStamp: Contract;
  readonly priceOracle: Contract;
  readonly stakeRegistry: Contract;
  readonly redistribution: Contract;
  readonly factory: Contract;
  readonly swapPriceOracle: Contract;

  constructor(chain: LocalChain) {
    const { contracts } = chain;
    this.chain = chain;
    this.rpc = createRpcClient(chain.rpc, () => ({ authorization: `Bearer ${chain.token}` }));
    this.token = { address: contracts.token, abi: abis.token };
    this.postageStamp = { address: contracts.postageStamp, abi: abis.postageStamp };
    this.priceOracle = { address: contracts.postagePriceOracle, abi: abis.priceOracle };
    this.stakeRegistry = { address: contracts.stakeRegistry, abi: abis.stakeRegistry };
    this.redistribution = { address: contracts.redistribution, abi: abis.redistribution };
    this.factory = { address: contracts.chequebookFactory, abi: abis.factory };
    this.swapPriceOracle = { address: contracts.swapPriceOracle, abi: abis.swapPriceOracle };
  }

  chequebook(address: string): Contract {
    return { address, abi: abis.chequebook };
  }

  head(): Promise<number> {
    return this.chain.head();
  }

  /** What is sent next lands in this block. */
  async before(block: number): Promise<void> {
    const missing = block - 1 - (await this.head());
    if (missing < 0) throw new Error(`block ${block} has passed`);
    if (missing > 0) await this.chain.mine(missing);
  }

  /** Mines it too, and fails with the contract's reason. */
  async send(
    contract: Contract,
    method: string,
    args: readonly unknown[] = [],
    options: { from?: Wallet; gas?: number } = {},
  ): Promise<Receipt> {
    const data = contract.abi.encodeFunctionData(method, args);
    const receipt = await this.transact({ to: contract.address, data, ...options });
    if (receipt.status !== '0x1') throw new Error(`${method} failed in a block`);
    return this.#read(receipt);
  }

  /** Fails if a transaction in the next block would succeed or would give no reason. */
  async refusal(
    contract: Contract,
    method: string,
    args: readonly unknown[] = [],
    options: { from?: Wallet | string } = {},
  ): Promise<string> {
    const from = addressOf(options.from ?? deployer);
    const data = contract.abi.encodeFunctionData(method, args);
    try {
      await this.rpc.call('eth_call', { from, to: contract.address, data }, 'pending');
    } catch (error) {
      if (error instanceof RpcError) return reason(error.data);
      throw error;
    }
    throw new Error(`${method} was not refused`);
  }

  /** At the head. A single value stands for itself. */
  async view(
    contract: Contract,
    method: string,
    args: readonly unknown[] = [],
    options: { from?: Wallet | string; at?: 'latest' | 'pending' } = {},
  ): Promise<unknown> {
    const from = addressOf(options.from ?? deployer);
    const data = contract.abi.encodeFunctionData(method, args);
    const call = { from, to: contract.address, data };
    const result = String(await this.rpc.call('eth_call', call, options.at ?? 'latest'));
    const decoded = contract.abi.decodeFunctionResult(method, result);
    return decoded.length === 1 ? decoded[0] : decoded;
  }

  async deploy(
    artifact: { abi: InterfaceAbi; bytecode: string },
    args: readonly unknown[],
  ): Promise<Contract> {
    const abi = Interface.from(artifact.abi);
    const data = artifact.bytecode + abi.encodeDeploy(args).slice(2);
    const receipt = await this.transact({ data, gas: 6_000_000 });
    if (receipt.contractAddress === null) throw new Error('no contract was deployed');
    return { address: receipt.contractAddress, abi };
  }

  async transact(options: { from?: Wallet; to?: string; data: string; gas?: number }): Promise<RawReceipt> {
    const account = createAccount((options.from ?? deployer).privateKey);
    const nonce = Number(await this.rpc.call('eth_getTransactionCount', account.address, 'pending'));
    const fields = {
      nonce,
      data: options.data,
      gas: options.gas ?? GAS,
      ...(options.to === undefined ? {} : { to: options.to }),
    };
    const hash = await this.rpc.call('eth_sendRawTransaction', account.sign(fields, this.chain.chainId));
    await this.rpc.call('evm_mine');
    return rawReceipt(await this.rpc.call('eth_getTransactionReceipt', hash));
  }

  /** The key of the address is not needed. */
  async sendAs(from: string, contract: Contract, method: string, args: readonly unknown[]): Promise<Receipt> {
    await this.rpc.call('anvil_setBalance', from, '0xde0b6b3a7640000');
    await this.rpc.call('anvil_impersonateAccount', from);
    const data = contract.abi.encodeFunctionData(method, args);
    const hash = await this.rpc.call('eth_sendTransaction', {
      from,
      to: contract.address,
      data,
      gas: '0xf4240',
    });
    await this.rpc.call('evm_mine');
    const receipt = rawReceipt(await this.rpc.call('eth_getTransactionReceipt', hash));
    if (receipt.status !== '0x1') throw new Error(`${method} failed in a block`);
    return this.#read(receipt);
  }

  #read(receipt: RawReceipt): Receipt {
    return {
      block: Number(receipt.blockNumber),
      gasUsed: Number(receipt.gasUsed),
      events: receipt.logs.map((log) => eventText(log)),
      hash: receipt.transactionHash,
    };
  }
}

function rawReceipt(receipt: unknown): RawReceipt {
  if (receipt === null) throw new Error('the transaction was not mined');
  return JSON.parse(JSON.stringify(receipt));
}

function addressOf(account: Wallet | string): string {
  return typeof account === 'string' ? account : account.address;
}

function eventText(log: { topics: string[]; data: string }): string {
  // Equal topics have equal arguments in all contracts here.
  const event = Object.values(abis)
    .map((abi): LogDescription | null => abi.parseLog(log))
    .find((parsed) => parsed !== null);
  return event ? `${event.name}(${event.args.map(argumentText).join(',')})` : `unknown ${log.topics[0]}`;
}

function argumentText(value: unknown): string {
  return value instanceof Result ? JSON.stringify(value.map(String)) : String(value);
}

/** `Name(args)` of a custom error, the text of a string reason, or `Panic(0x11)`. */
function reason(data: unknown): string {
  if (typeof data !== 'string' || data === '0x') throw new Error('reverted with empty data');
  for (const abi of Object.values(abis)) {
    const parsed = abi.parseError(data);
    if (parsed === null) continue;
    if (parsed.name === 'Error') return String(parsed.args[0]);
    if (parsed.name === 'Panic') return `Panic(0x${Number(parsed.args[0]).toString(16)})`;
    return `${parsed.name}(${parsed.args.map(String).join(',')})`;
  }
  throw new Error(`unknown reason ${data}`);
}

/** Resets the network to its start after each test of the file. */
export function useNetwork(
  prepare: (network: Network) => Promise<void> = async () => {},
  options: Partial<LocalChainOptions> = {},
): { readonly current: Network } {
  let network: Network | undefined;
  let snapshot: unknown;
  const holder = {
    get current(): Network {
      if (network === undefined) throw new Error('the network has not been started');
      return network;
    },
  };
  beforeAll(async () => {
    const accounts = [player, second, third].map(({ address }) => ({
      address,
      native: TOKENS,
      tokens: TOKENS,
    }));
    accounts.push({ address: stranger.address, native: TOKENS, tokens: 0n });
    network = new Network(
      await startLocalChain({ networkId: NETWORK_ID, blockTimeMs: 0, accounts, ...options }),
    );
    await prepare(network);
  });
  beforeEach(async () => {
    snapshot = await holder.current.rpc.call('evm_snapshot');
  });
  afterEach(async () => {
    await holder.current.rpc.call('evm_revert', snapshot);
  });
  afterAll(async () => {
    network?.rpc.close();
    await network?.chain.stop();
  });
  return holder;
}
