/**
 * The chequebook, its factory and the oracle: what a node needs of them. `contracts.md` 8 to 10. Vectors:
 * test/vectors/abi-signatures.json.
 */
import { equalBytes, fromHex, toHex } from '../../formats/crypto/hex.ts';
import { encodeCall, readWords, selectorOf, topicOf } from '../../formats/ethereum/abi.ts';
import { bytes, tuple, word } from '../../formats/ethereum/abi-dynamic.ts';
import { toAddress } from '../onchain/contracts.ts';
import type { Chain, LogEntry, Receipt } from '../onchain/ports.ts';
import type { SignedCheque } from './cheque.ts';

export const SWAP_FUNCTIONS = {
  deploySimpleSwap: 'deploySimpleSwap(address,uint256,bytes32)',
  deployedContracts: 'deployedContracts(address)',
  issuer: 'issuer()',
  balance: 'balance()',
  liquidBalanceFor: 'liquidBalanceFor(address)',
  paidOut: 'paidOut(address)',
  totalPaidOut: 'totalPaidOut()',
  cashChequeBeneficiary: 'cashChequeBeneficiary(address,uint256,bytes)',
  withdraw: 'withdraw(uint256)',
  getPrice: 'getPrice()',
} as const;

export const SWAP_EVENTS = {
  SimpleSwapDeployed: 'SimpleSwapDeployed(address)',
  ChequeCashed: 'ChequeCashed(address,address,address,uint256,uint256,uint256)',
  ChequeBounced: 'ChequeBounced()',
} as const;

type Reader = Pick<Chain, 'call'>;
type FunctionName = keyof typeof SWAP_FUNCTIONS;

const selector = Object.fromEntries(
  Object.entries(SWAP_FUNCTIONS).map(([name, signature]) => [name, selectorOf(signature)]),
) as Readonly<Record<FunctionName, string>>;

const topic = {
  deployed: topicOf(SWAP_EVENTS.SimpleSwapDeployed),
  cashed: topicOf(SWAP_EVENTS.ChequeCashed),
  bounced: topicOf(SWAP_EVENTS.ChequeBounced),
};

// ── oracle ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export async function oracleRates(
  chain: Reader,
  oracle: string,
  signal: AbortSignal,
): Promise<{ exchangeRate: bigint; deduction: bigint }> {
  const words = readWords(await chain.call({ to: oracle, data: selector.getPrice }, signal), 'getPrice');
  return { exchangeRate: words.uint(0), deduction: words.uint(1) };
}

// ── factory ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** @param chequebook 20 bytes */
export async function isDeployed(
  chain: Reader,
  { factory, chequebook }: { factory: string; chequebook: Uint8Array },
  signal: AbortSignal,
): Promise<boolean> {
  const data = encodeCall(selector.deployedContracts, chequebook);
  return readWords(await chain.call({ to: factory, data }, signal), 'deployedContracts').bool(0);
}

/** @param issuer 20 bytes @param salt 32 bytes */
export function encodeDeploy(issuer: Uint8Array, salt: Uint8Array): string {
  return encodeCall(selector.deploySimpleSwap, issuer, 0, salt);
}

export function deployedBy(receipt: Receipt, factory: string): Uint8Array | undefined {
  const entry = eventsOf(receipt, fromHex(factory)).find(({ topics }) => topics[0] === topic.deployed);
  return entry === undefined ? undefined : readWords(entry.data, 'SimpleSwapDeployed').address(0);
}

// ── chequebook ──────────────────────────────────────────────────────────────────────────────────────────────────────

async function view(
  chain: Reader,
  { chequebook, name, args = [] }: { chequebook: Uint8Array; name: FunctionName; args?: Uint8Array[] },
  signal: AbortSignal,
) {
  const data = encodeCall(selector[name], ...args);
  return readWords(await chain.call({ to: toAddress(chequebook), data }, signal), name);
}

export async function issuerOf(
  chain: Reader,
  chequebook: Uint8Array,
  signal: AbortSignal,
): Promise<Uint8Array> {
  return (await view(chain, { chequebook, name: 'issuer' }, signal)).address(0);
}

export async function balanceOf(chain: Reader, chequebook: Uint8Array, signal: AbortSignal): Promise<bigint> {
  return (await view(chain, { chequebook, name: 'balance' }, signal)).uint(0);
}

/** What this beneficiary can draw on, without what is reserved for others. */
export async function liquidBalanceFor(
  chain: Reader,
  { chequebook, beneficiary }: { chequebook: Uint8Array; beneficiary: Uint8Array },
  signal: AbortSignal,
): Promise<bigint> {
  return (await view(chain, { chequebook, name: 'liquidBalanceFor', args: [beneficiary] }, signal)).uint(0);
}

export async function paidOut(
  chain: Reader,
  { chequebook, beneficiary }: { chequebook: Uint8Array; beneficiary: Uint8Array },
  signal: AbortSignal,
): Promise<bigint> {
  return (await view(chain, { chequebook, name: 'paidOut', args: [beneficiary] }, signal)).uint(0);
}

export async function totalPaidOut(
  chain: Reader,
  chequebook: Uint8Array,
  signal: AbortSignal,
): Promise<bigint> {
  return (await view(chain, { chequebook, name: 'totalPaidOut' }, signal)).uint(0);
}

/** Cashes by the beneficiary itself. @param recipient 20 bytes */
export function encodeCash(recipient: Uint8Array, { cumulativePayout, signature }: SignedCheque): string {
  const { data } = tuple(word(recipient), word(cumulativePayout), bytes(signature));
  return selector.cashChequeBeneficiary + toHex(data);
}

export function encodeWithdraw(amount: bigint): string {
  return encodeCall(selector.withdraw, amount);
}

/** Undefined for any other call. */
export function withdrawalOf(data: string): bigint | undefined {
  if (!data.startsWith(selector.withdraw)) return undefined;
  return readWords(`0x${data.slice(selector.withdraw.length)}`, 'withdraw').uint(0);
}

export interface Cashed {
  /** 20 bytes. */
  readonly recipient: Uint8Array;
  readonly totalPayout: bigint;
  readonly cumulativePayout: bigint;
  /** The chequebook held less than the cheque was worth. */
  readonly bounced: boolean;
}

/** @returns undefined without a cashout of this chequebook */
export function cashedBy(receipt: Receipt, chequebook: Uint8Array): Cashed | undefined {
  const events = eventsOf(receipt, chequebook);
  const entry = events.find(({ topics }) => topics[0] === topic.cashed);
  if (entry === undefined) return undefined;
  const words = readWords(entry.data, 'ChequeCashed');
  return {
    recipient: readWords(entry.topics[2] ?? '0x', 'ChequeCashed recipient').address(0),
    totalPayout: words.uint(0),
    cumulativePayout: words.uint(1),
    bounced: events.some(({ topics }) => topics[0] === topic.bounced),
  };
}

function eventsOf({ logs }: Receipt, contract: Uint8Array): LogEntry[] {
  return logs.filter(({ address }) => equalBytes(fromHex(address), contract));
}
