/** Both engines get what nodes, testbed and tools send, and must answer alike but for what is named here. */
import { Interface, Wallet } from 'ethers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAccount } from '../../../chain/account.ts';
import chequebookArtifact from '../../../chain/artifacts/ERC20SimpleSwap.json' with { type: 'json' };
import swapPriceOracle from '../../../chain/artifacts/SwapPriceOracle.json' with { type: 'json' };
import { ENGINE_NAMES, type EngineName } from '../../../chain/engine/engine.ts';
import { type LocalChain, startLocalChain } from '../../../chain/local-chain.ts';
import { createRpcClient, type RpcClient, RpcError } from '../../../chain/rpc.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { type AbiValue, encodeCall, selectorOf } from '../../../formats/ethereum/abi.ts';
import { hexBytes, hexText } from '../../../formats/ethereum/hex.ts';
import { decodeRevert } from '../../../formats/ethereum/revert.ts';
import { FUNCTIONS, POSTAGE_TOPICS } from '../../../node/onchain/contracts.ts';
import {
  GAME_FUNCTIONS,
  STAKE_FUNCTIONS,
  WITHDRAW_STAKE,
} from '../../../node/onchain/incentive-contracts.ts';
import { signCheque } from '../../../node/swap/cheque.ts';
import { SWAP_FUNCTIONS } from '../../../node/swap/contracts.ts';

const CHAIN_ID = 31_337;
/** Of a contract's storage, compared one by one: the engines hash it differently. */
const SLOTS = 12;
const buyer = new Wallet(`0x${'11'.repeat(32)}`);
const payee = new Wallet(`0x${'22'.repeat(32)}`);
const accounts = [buyer, payee].map(({ address }) => ({ address, native: 10n ** 20n, tokens: 10n ** 20n }));
const batch = { owner: buyer.address, amount: 10n ** 9n, depth: 17, immutable: false };
const options = {
  networkId: 4020n,
  blockTimeMs: 0,
  accounts,
  batches: [{ ...batch, nonce: word(1) }],
  chequebooks: [{ issuer: buyer.address, deposit: 10n ** 17n }],
};

const OWN: ReadonlySet<string> = new Set([
  // They begin with other states, and draw other random words.
  'stateRoot',
  'mixHash',
  'parentBeaconBlockRoot',
  'blockHash',
  'parentHash',
  // Told by one of them alone.
  'blockTimestamp',
  'blobGasPrice',
  'baseFeePerBlobGas',
  'blobGasUsedRatio',
  'totalDifficulty',
  'yParity',
  'size',
]);

interface Side {
  readonly chain: LocalChain;
  readonly rpc: RpcClient;
}
const sides = new Map<EngineName, Side>();
let timeS = 1_900_000_000;
const nonces = new Map<string, number>();

beforeAll(async () => {
  for (const engine of ENGINE_NAMES) {
    const chain = await startLocalChain({ ...options, engine });
    const rpc = createRpcClient(chain.rpc, () => ({ authorization: `Bearer ${chain.token}` }));
    sides.set(engine, { chain, rpc });
  }
});
afterAll(async () => {
  for (const { chain, rpc } of sides.values()) {
    rpc.close();
    await chain.stop();
  }
});

function word(n: number): string {
  return `0x${n.toString(16).padStart(64, '0')}`;
}

const contracts = () => (sides.get('anvil') as Side).chain.contracts;
const chequebook = () => String((sides.get('anvil') as Side).chain.chequebooks[0]?.address);

function data(signature: string, ...values: readonly AbiValue[]): string {
  return encodeCall(selectorOf(signature), ...values);
}

/** Of a refused call: its code and the contract's words. */
async function answers(method: string, ...params: readonly unknown[]): Promise<Record<EngineName, unknown>> {
  const told = async ({ rpc }: Side) => {
    try {
      return plain(await rpc.call(method, ...params));
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return typeof error.data === 'string'
        ? { code: error.code, ...decodeRevert(error.data, '') }
        : { refused: true };
    }
  };
  return {
    anvil: await told(sides.get('anvil') as Side),
    'in-process': await told(sides.get('in-process') as Side),
  };
}

/** Without a block's hash, and the price of what is in no block: Anvil names that of the next one. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  // One divides in another order.
  if (typeof value === 'number') return Number(value.toPrecision(12));
  if (typeof value !== 'object' || value === null) return value;
  const own =
    'parentHash' in value ? 'hash' : 'blockNumber' in value && value.blockNumber === null ? 'gasPrice' : '';
  const kept = Object.entries(value).filter(([key, of]) => !OWN.has(key) && key !== own && of !== null);
  return Object.fromEntries(kept.map(([key, of]) => [key, plain(of)]));
}

async function both(method: string, ...params: readonly unknown[]): Promise<unknown> {
  const { anvil, 'in-process': here } = await answers(method, ...params);
  expect(here, `${method} ${JSON.stringify(params)}`).toEqual(anvil);
  return here;
}

async function mine(): Promise<void> {
  await both('evm_setNextBlockTimestamp', ++timeS);
  await both('evm_mine');
}

async function transact(
  from: Wallet,
  to: string | undefined,
  call: string,
  gas = 1_000_000,
): Promise<unknown> {
  const nonce = nonces.get(from.address) ?? 0;
  nonces.set(from.address, nonce + 1);
  const fields = { nonce, gas, data: call, ...(to === undefined ? {} : { to }) };
  const hash = await both('eth_sendRawTransaction', createAccount(from.privateKey).sign(fields, CHAIN_ID));
  await both('eth_getTransactionByHash', hash);
  await both('eth_getTransactionCount', from.address, 'pending');
  await mine();
  const receipt = await both('eth_getTransactionReceipt', hash);
  await both('eth_getTransactionByHash', hash);
  await both('eth_getRawTransactionByHash', hash);
  return receipt;
}

type Sent = readonly [from: Wallet, to: string | undefined, data: string, gas?: number];
const batchId = () => String((sides.get('anvil') as Side).chain.batches[0]?.id);
const newBatch = (amount: bigint, nonce: number) =>
  data(FUNCTIONS.createBatch, buyer.address, amount, 17, 16, word(nonce), false);

function cashing(cumulativePayout: bigint): string {
  const beneficiary = hexBytes(payee.address, 'payee');
  const cheque = { chequebook: hexBytes(chequebook(), 'chequebook'), beneficiary, cumulativePayout };
  const { signature } = signCheque(cheque, createSigner(hexBytes(buyer.privateKey, 'key')), BigInt(CHAIN_ID));
  const args = [payee.address, cumulativePayout, hexText(signature)];
  return Interface.from(chequebookArtifact.abi).encodeFunctionData('cashChequeBeneficiary', args);
}

const SENT: readonly [what: string, expected: 'succeeds' | 'fails', () => Sent][] = [
  [
    'an approval',
    'succeeds',
    () => [buyer, contracts().token, data(FUNCTIONS.approve, contracts().postageStamp, 10n ** 19n)],
  ],
  ['a batch', 'succeeds', () => [buyer, contracts().postageStamp, newBatch(10n ** 9n, 7)]],
  ['the same batch again', 'fails', () => [buyer, contracts().postageStamp, newBatch(10n ** 9n, 7)]],
  ['a batch for too little', 'fails', () => [buyer, contracts().postageStamp, newBatch(1n, 8)]],
  [
    'a top-up',
    'succeeds',
    () => [buyer, contracts().postageStamp, data(FUNCTIONS.topUp, batchId(), 10n ** 6n)],
  ],
  [
    'a top-up of no batch',
    'fails',
    () => [buyer, contracts().postageStamp, data(FUNCTIONS.topUp, word(1), 5n)],
  ],
  [
    'a dilution',
    'succeeds',
    () => [buyer, contracts().postageStamp, data(FUNCTIONS.increaseDepth, batchId(), 18)],
  ],
  [
    'a dilution by another',
    'fails',
    () => [payee, contracts().postageStamp, data(FUNCTIONS.increaseDepth, batchId(), 19)],
  ],
  [
    'the end of batches',
    'succeeds',
    () => [payee, contracts().postageStamp, data(FUNCTIONS.expireLimited, 5n)],
  ],
  [
    'a transfer of tokens',
    'succeeds',
    () => [buyer, contracts().token, data(FUNCTIONS.transfer, payee.address, 5n)],
  ],
  [
    'a transfer of too many',
    'fails',
    () => [buyer, contracts().token, data(FUNCTIONS.transfer, payee.address, 10n ** 30n)],
  ],
  [
    'a transfer with too little gas',
    'fails',
    () => [buyer, contracts().token, data(FUNCTIONS.transfer, payee.address, 5n), 30_000],
  ],
  ['a transfer of coins', 'succeeds', () => [payee, buyer.address, '0x', 21_000]],
  [
    'a chequebook',
    'succeeds',
    () => [
      payee,
      contracts().chequebookFactory,
      data(SWAP_FUNCTIONS.deploySimpleSwap, payee.address, 0n, word(9)),
    ],
  ],
  ['a withdrawal', 'succeeds', () => [buyer, chequebook(), data(SWAP_FUNCTIONS.withdraw, 10n ** 16n)]],
  ['a cashed cheque', 'succeeds', () => [payee, chequebook(), cashing(10n ** 15n)]],
  ['a cheque that bounces', 'succeeds', () => [payee, chequebook(), cashing(10n ** 18n)]],
  ['a cheque of less than was paid', 'fails', () => [payee, chequebook(), cashing(1n)]],
  [
    'the approval of a stake',
    'succeeds',
    () => [buyer, contracts().token, data(FUNCTIONS.approve, contracts().stakeRegistry, 10n ** 19n)],
  ],
  [
    'a stake',
    'succeeds',
    () => [buyer, contracts().stakeRegistry, data(STAKE_FUNCTIONS.manageStake, word(3), 10n ** 18n, 0)],
  ],
  [
    'a stake without an approval',
    'fails',
    () => [payee, contracts().stakeRegistry, data(STAKE_FUNCTIONS.manageStake, word(3), 10n ** 18n, 0)],
  ],
  ['the withdrawal of a stake', 'succeeds', () => [buyer, contracts().stakeRegistry, WITHDRAW_STAKE]],
  [
    'a commitment',
    'fails',
    () => [payee, contracts().redistribution, data(GAME_FUNCTIONS.commit, word(4), 1n)],
  ],
  [
    'a contract',
    'succeeds',
    () => [payee, undefined, `${swapPriceOracle.bytecode}${word(5).slice(2)}${word(0).slice(2)}`],
  ],
];

test.each(SENT)(
  'both mine %s, which %s, with the same receipt, events and balances',
  async (what, expected, sent) => {
    const [from, to, call, gas] = sent();
    const asked = { from: from.address, data: call, ...(to === undefined ? {} : { to }) };
    await both('eth_call', asked, 'latest');
    await expectEstimates(asked);
    const { status } = (await transact(from, to, call, gas)) as { status: string };
    expect(status, what).toBe(expected === 'succeeds' ? '0x1' : '0x0');
    await expectAlike();
  },
);

/** Both search for the limit, and end within a hundredth. */
async function expectEstimates(asked: object): Promise<void> {
  const { anvil, 'in-process': here } = await answers('eth_estimateGas', asked);
  if (typeof anvil !== 'string') expect(here).toEqual(anvil);
  else expect(Math.abs(Number(here) / Number(anvil) - 1)).toBeLessThan(0.01);
}

async function expectAlike(): Promise<void> {
  const head = String(await both('eth_blockNumber'));
  await both('eth_getBlockByNumber', 'latest', false);
  await both('eth_getLogs', { fromBlock: '0x1', toBlock: 'latest' });
  const places = [...accounts.map(({ address }) => address), ...Object.values(contracts()), chequebook()];
  for (const address of places) {
    await both('eth_getBalance', address, 'latest');
    await both('eth_getTransactionCount', address, head);
    await both('eth_call', { to: contracts().token, data: data(FUNCTIONS.balanceOf, address) }, 'latest');
    await both('eth_getCode', address, 'latest');
    for (let slot = 0; slot < SLOTS; slot++) await both('eth_getStorageAt', address, word(slot), 'latest');
  }
}

test('both answer alike what clients ask of the chain', async () => {
  for (const [method, ...params] of [
    ['eth_chainId'],
    ['net_version'],
    ['eth_syncing'],
    ['eth_accounts'],
    ['eth_gasPrice'],
    ['eth_maxPriorityFeePerGas'],
    ['eth_getBlockByNumber', '0x4', true],
    ['eth_getBlockByNumber', '0xffff', false],
    ['eth_getTransactionByHash', word(1)],
    ['eth_getTransactionReceipt', word(1)],
    ['eth_getRawTransactionByHash', word(1)],
    ['eth_getTransactionCount', buyer.address, '0xffff'],
    ['eth_getLogs', { fromBlock: '0x2', toBlock: '0x4', address: contracts().postageStamp }],
    ['eth_getLogs', { fromBlock: '0x1', toBlock: '0xffff', topics: [POSTAGE_TOPICS] }],
    ['eth_noSuchMethod'],
    ['txpool_status'],
  ] as const) {
    await both(method, ...params);
  }
});

test.each([
  ['with too little gas', () => account.sign({ ...transfer(), gas: 20_000 }, CHAIN_ID)],
  ['for another chain', () => account.sign(transfer(), 5)],
  ['without money', () => createAccount(word(77)).sign({ ...transfer(), nonce: 0 }, CHAIN_ID)],
  ['with a nonce that was used', () => account.sign({ ...transfer(), nonce: 0 }, CHAIN_ID)],
  ['with more gas than a block has', () => account.sign({ ...transfer(), gas: 31_000_000 }, CHAIN_ID)],
  ['that is none', () => '0x1234'],
])('both refuse a transaction %s', async (_what, raw) => {
  expect(await both('eth_sendRawTransaction', raw())).toEqual({ refused: true });
});

test('a transaction waits until a block takes it, is refused twice, and replaced for a higher price only', async () => {
  await both('eth_sendRawTransaction', account.sign(transfer(), CHAIN_ID));
  await both('txpool_status');
  expect(await both('eth_sendRawTransaction', account.sign(transfer(), CHAIN_ID))).toEqual({ refused: true });
  expect(
    await both('eth_sendRawTransaction', account.sign({ ...transfer(), gas: 22_000 }, CHAIN_ID)),
  ).toEqual({ refused: true });
  await both('eth_getTransactionCount', buyer.address, 'latest');
  await both('eth_getTransactionCount', buyer.address, 'pending');
  await mine();
  nonces.set(buyer.address, transfer().nonce + 1);
  await expectAlike();
});

test('blocks, time, balances and code are set alike, and snapshots taken back', async () => {
  const snapshot = await sided('evm_snapshot');
  const head = Number(await both('eth_blockNumber'));
  await both('anvil_mine', '0x5', '0x0');
  await both('evm_setNextBlockTimestamp', timeS + 1000);
  await both('evm_mine');
  await both('anvil_setBalance', payee.address, '0x5');
  await both('anvil_setCode', word(1).slice(0, 42), '0x6001');
  await both('anvil_setStorageAt', contracts().token, word(40), word(41));
  await both('eth_getStorageAt', contracts().token, word(40), 'latest');
  await expectAlike();
  expect(Number(await both('eth_blockNumber'))).toBe(head + 6);
  for (const [engine, id] of snapshot) expect(await sides.get(engine)?.rpc.call('evm_revert', id)).toBe(true);
  expect(Number(await both('eth_blockNumber'))).toBe(head);
  // Anvil goes on with the price of the block that was taken back.
  await expectAlike();
});

test('replaced blocks lose their transactions, and are as many', async () => {
  const [nonce, head] = [transfer().nonce, Number(await both('eth_blockNumber'))];
  await both('eth_sendRawTransaction', account.sign(transfer(), CHAIN_ID));
  await mine();
  await both('anvil_reorg', 1, []);
  expect(Number(await both('eth_blockNumber'))).toBe(head + 1);
  expect(Number(await both('eth_getTransactionCount', buyer.address, 'latest'))).toBe(nonce);
});

async function sided(method: string): Promise<[EngineName, unknown][]> {
  return Promise.all(
    Array.from(sides, async ([name, { rpc }]) => [name, await rpc.call(method)] as [EngineName, unknown]),
  );
}

const account = createAccount(buyer.privateKey);
const transfer = () => ({
  nonce: nonces.get(buyer.address) ?? 0,
  gas: 21_000,
  data: '0x',
  to: payee.address,
});
