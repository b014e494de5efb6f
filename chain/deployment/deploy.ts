/**
 * Deploys all contracts on an empty chain. Nothing in the first blocks depends on the clock: the same key, chain id and
 * network id give the same addresses and block hashes in every run.
 *
 *   block 1    the seven contracts
 *   block 2    their roles and limits
 *   block 3    the price, one block after the first one nodes read
 *   block 4-   tokens, native coins, batches and chequebooks of the accounts
 *   then 13 empty blocks at the wall clock: nodes find the history they ask for and old enough batches
 */
import type { Clock } from '../../formats/clock.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import { keccak256 } from '../../formats/crypto/keccak.ts';
import { type AbiValue, encodeCall, encodeWord, selectorOf } from '../../formats/ethereum/abi.ts';
import { type Encoded, text, tuple, word } from '../../formats/ethereum/abi-dynamic.ts';
import { hexText, quantity } from '../../formats/ethereum/hex.ts';
import { type Account, createAccount } from '../account.ts';
import postageStamp from '../artifacts/PostageStamp.json' with { type: 'json' };
import priceOracle from '../artifacts/PriceOracle.json' with { type: 'json' };
import redistribution from '../artifacts/Redistribution.json' with { type: 'json' };
import chequebookFactory from '../artifacts/SimpleSwapFactory.json' with { type: 'json' };
import stakeRegistry from '../artifacts/StakeRegistry.json' with { type: 'json' };
import swapPriceOracle from '../artifacts/SwapPriceOracle.json' with { type: 'json' };
import token from '../artifacts/TestToken.json' with { type: 'json' };
import type { RpcCall, RpcClient } from '../rpc.ts';
import { BlockMiner, type Step } from './block-miner.ts';
import { chequebookAddress, chequebookSalt } from './chequebooks.ts';
import type { Sending } from './deployer.ts';

/** The first that nodes need to read: it deploys PostageStamp. */
export const START_BLOCK = 1;
/** More than the ten after which a batch is usable. */
const SETTLING_BLOCKS = 13;

const BUCKET_DEPTH = 16;
/** Token units per accounting unit of a cheque, and off a peer's first cheque. */
const SWAP_PRICE = 10_000;
const SWAP_DEDUCTION = 0;
/** 10^9 tokens of 10^16 units; the accounts' tokens are minted on top. */
const INITIAL_SUPPLY = 10n ** 25n;
/** Small reserves' samples have large last elements, so the game accepts any. */
const SAMPLE_MAX = 2n ** 256n - 1n;
/** Pays for the deployment and for a lifetime of mints. */
const DEPLOYER_BALANCE_WEI = 10n ** 24n;

/** Upper bounds; a block takes 30 million gas by its transactions' limits. */
const GAS_OF_CALL = 150_000;
const GAS_OF_CREATE_BATCH = 500_000;
const GAS_OF_DEPLOY_CHEQUEBOOK = 175_000;
const GAS_OF_DEPLOYMENT = { base: 600_000, perByte: 216 };
const ROLES = {
  priceOracle: roleId('PRICE_ORACLE_ROLE'),
  redistributor: roleId('REDISTRIBUTOR_ROLE'),
  priceUpdater: roleId('PRICE_UPDATER_ROLE'),
};

export interface ContractAddresses {
  token: string;
  postageStamp: string;
  postagePriceOracle: string;
  stakeRegistry: string;
  redistribution: string;
  chequebookFactory: string;
  swapPriceOracle: string;
}

export interface FundedAccount {
  address: string;
  /** wei */
  native: bigint;
  /** Token units: 10^16 are one token. */
  tokens: bigint;
}

export interface GenesisBatch {
  owner: string;
  /** Token units per chunk. */
  amount: bigint;
  depth: number;
  immutable: boolean;
  /** 32 bytes as hex; the batch's id follows from it and the deployer's address. */
  nonce: string;
}

export interface GenesisChequebook {
  issuer: string;
  /** Token units, minted to it. */
  deposit: bigint;
  /** Place among all chequebooks of the deployer: the address follows from it. Default: its place in the list. */
  place?: number | undefined;
}

export interface Setup {
  accounts: readonly FundedAccount[];
  batches: readonly GenesisBatch[];
  chequebooks: readonly GenesisChequebook[];
}

export interface DeploymentOptions extends Setup {
  chainId: number;
  networkId: bigint;
  minimumValidityBlocks: number;
  /** Price of one chunk and block, in token units. */
  storagePrice: number;
}

export interface Deployment {
  contracts: ContractAddresses;
  batchIds: string[];
  chequebooks: { issuer: string; address: string }[];
}

export interface ChainToSetUp {
  readonly rpc: RpcClient;
  readonly clock: Clock;
}

export function contractAddresses(deployer: Account): ContractAddresses {
  return {
    token: deployer.contractAt(0),
    postageStamp: deployer.contractAt(1),
    postagePriceOracle: deployer.contractAt(2),
    stakeRegistry: deployer.contractAt(3),
    redistribution: deployer.contractAt(4),
    chequebookFactory: deployer.contractAt(5),
    swapPriceOracle: deployer.contractAt(6),
  };
}

/** @param sender the payer, not the owner @param nonce 32 bytes as hex */
export function batchId(sender: string, nonce: string): string {
  return hexText(keccak256(encodeWord(sender), encodeWord(nonce)));
}

export function mintCall(to: string, amount: bigint): { data: string; gas: number } {
  return { data: encodeCall(selectorOf('mint(address,uint256)'), to, amount), gas: GAS_OF_CALL };
}

class Signing {
  readonly #account: Account;
  readonly #chainId: number;
  #nonce = 0;

  constructor(account: Account, chainId: number) {
    this.#account = account;
    this.#chainId = chainId;
  }

  get nonce(): number {
    return this.#nonce;
  }

  step(label: string, fields: { data: string; gas: number; to?: string }): Step {
    const raw = this.#account.sign({ ...fields, nonce: this.#nonce++ }, this.#chainId);
    return { label, raw, ...fields };
  }

  call(...given: Parameters<typeof sending>): Step {
    const { what, ...fields } = sending(...given);
    return this.step(what, fields);
  }
}

function sending(what: string, to: string, gas: number, signature: string, ...values: AbiValue[]): Sending {
  return { what, to, gas, data: encodeCall(selectorOf(signature), ...values) };
}

/** @throws LocalChainError DEPLOYMENT_FAILED, naming step and reason */
export async function deploy(
  { rpc, clock }: ChainToSetUp,
  deployerKey: string,
  options: DeploymentOptions,
): Promise<Deployment> {
  const deployer = createAccount(deployerKey);
  const contracts = contractAddresses(deployer);
  const signing = new Signing(deployer, options.chainId);
  const blocks = [
    contractSteps(signing, contracts, options.networkId),
    wiringSteps(signing, contracts, options.minimumValidityBlocks),
    [
      signing.call(
        'price',
        contracts.postagePriceOracle,
        GAS_OF_CALL,
        'setPrice(uint32)',
        options.storagePrice,
      ),
    ],
    setupCalls(deployer, contracts, options).map(({ what, ...fields }) => signing.step(what, fields)),
  ];

  await rpc.batch([
    balanceCall(deployer.address, DEPLOYER_BALANCE_WEI),
    ...options.accounts.map(({ address, native }) => balanceCall(address, native)),
  ]);
  const miner = new BlockMiner(rpc, deployer.address);
  for (const steps of blocks) if (steps.length > 0) await miner.mine(steps);
  await settle({ rpc, clock });
  return {
    contracts,
    batchIds: options.batches.map(({ nonce }) => batchId(deployer.address, nonce)),
    chequebooks: placed(options.chequebooks, deployer, contracts).map(({ issuer, address }) => ({
      issuer,
      address,
    })),
  };
}

export async function settle({ rpc, clock }: ChainToSetUp): Promise<void> {
  await rpc.call('evm_setTime', Math.floor(clock.now() / 1000));
  await rpc.call('anvil_mine', quantity(SETTLING_BLOCKS), '0x0');
}

function placed(
  chequebooks: readonly GenesisChequebook[],
  deployer: Account,
  { chequebookFactory }: ContractAddresses,
): (GenesisChequebook & { salt: string; address: string })[] {
  return chequebooks.map((chequebook, index) => {
    const salt = chequebookSalt(chequebook.place ?? index);
    const address = chequebookAddress({ factory: chequebookFactory, sender: deployer.address, salt });
    return { ...chequebook, salt, address };
  });
}

export function deployedCode(): string[] {
  const contracts = [token, postageStamp, priceOracle, stakeRegistry, redistribution];
  return [...contracts, chequebookFactory, swapPriceOracle].map(({ bytecode }) => bytecode);
}

export function balanceCall(address: string, wei: bigint): RpcCall {
  return { method: 'anvil_setBalance', params: [address, quantity(wei)] };
}

function contractSteps(signing: Signing, c: ContractAddresses, networkId: bigint): Step[] {
  const contract = (artifact: { contract: string; bytecode: string }, ...words: AbiValue[]): Step =>
    contractStep(signing, artifact, ...words.map(word));
  return [
    contractStep(signing, token, text('Test Token'), text('TEST'), word(INITIAL_SUPPLY)),
    contract(postageStamp, c.token, BUCKET_DEPTH),
    contract(priceOracle, c.postageStamp),
    contract(stakeRegistry, c.token, networkId, c.postagePriceOracle),
    contract(redistribution, c.stakeRegistry, c.postageStamp, c.postagePriceOracle),
    contract(chequebookFactory, c.token),
    contract(swapPriceOracle, SWAP_PRICE, SWAP_DEDUCTION),
  ];
}

function contractStep(
  signing: Signing,
  artifact: { contract: string; bytecode: string },
  ...constructorArguments: readonly Encoded[]
): Step {
  const data = artifact.bytecode + toHex(tuple(...constructorArguments).data);
  const gas = GAS_OF_DEPLOYMENT.base + (GAS_OF_DEPLOYMENT.perByte * (data.length - '0x'.length)) / 2;
  return signing.step(`deployment of ${artifact.contract}`, { data, gas });
}

function wiringSteps(signing: Signing, c: ContractAddresses, minimumValidityBlocks: number): Step[] {
  const grant = (on: string, role: string, to: string): Step =>
    signing.call('role', on, GAS_OF_CALL, 'grantRole(bytes32,address)', role, to);
  const set = (on: string, signature: string, value: AbiValue): Step =>
    signing.call(signature, on, GAS_OF_CALL, signature, value);
  return [
    grant(c.postageStamp, ROLES.priceOracle, c.postagePriceOracle),
    grant(c.postageStamp, ROLES.redistributor, c.redistribution),
    grant(c.stakeRegistry, ROLES.redistributor, c.redistribution),
    grant(c.postagePriceOracle, ROLES.priceUpdater, c.redistribution),
    set(c.postageStamp, 'setMinimumValidityBlocks(uint64)', minimumValidityBlocks),
    set(c.redistribution, 'setSampleMaxValue(uint256)', SAMPLE_MAX),
  ];
}

export function setupCalls(deployer: Account, c: ContractAddresses, setup: Setup): Sending[] {
  return [
    ...setup.accounts
      .filter(({ tokens }) => tokens > 0n)
      .map(({ address, tokens }) => minting(c, `tokens of ${address}`, address, tokens)),
    ...batchCalls(deployer, c, setup.batches),
    ...placed(setup.chequebooks, deployer, c).flatMap((chequebook) => chequebookCalls(c, chequebook)),
  ];
}

function batchCalls(deployer: Account, c: ContractAddresses, batches: readonly GenesisBatch[]): Sending[] {
  if (batches.length === 0) return [];
  const cost = batches.reduce((sum, { amount, depth }) => sum + amount * 2n ** BigInt(depth), 0n);
  const { token: tokens, postageStamp: stamps } = c;
  return [
    minting(c, 'tokens for batches', deployer.address, cost),
    sending('approval of batches', tokens, GAS_OF_CALL, 'approve(address,uint256)', stamps, cost),
    ...batches.map(({ owner, amount, depth, nonce, immutable }) =>
      sending(
        `batch of ${owner} with amount ${amount} and depth ${depth}`,
        stamps,
        GAS_OF_CREATE_BATCH,
        'createBatch(address,uint256,uint8,uint8,bytes32,bool)',
        owner,
        amount,
        depth,
        BUCKET_DEPTH,
        nonce,
        immutable,
      ),
    ),
  ];
}

function chequebookCalls(
  c: ContractAddresses,
  { issuer, deposit, salt, address }: GenesisChequebook & { salt: string; address: string },
): Sending[] {
  const deployed = sending(
    `chequebook of ${issuer}`,
    c.chequebookFactory,
    GAS_OF_DEPLOY_CHEQUEBOOK,
    'deploySimpleSwap(address,uint256,bytes32)',
    issuer,
    0,
    salt,
  );
  return deposit === 0n ? [deployed] : [deployed, minting(c, `deposit of ${issuer}`, address, deposit)];
}

function minting(c: ContractAddresses, what: string, to: string, amount: bigint): Sending {
  return { what, to: c.token, ...mintCall(to, amount) };
}

function roleId(name: string): string {
  return hexText(keccak256(Buffer.from(name, 'ascii')));
}
