/**
 * A chain with a token, a factory, an oracle and chequebooks that do what the contracts do. Many accounts share it, so it
 * answers calls alone: `ChainAccount` and `SentTransactions` send for one.
 */
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { encodeWord, selectorOf } from '../../../formats/ethereum/abi.ts';
import { ChainError } from '../../../formats/ethereum/chain-error.ts';
import { SWAP_FUNCTIONS } from '../../../node/swap/contracts.ts';
import { CHAIN_ID, FACTORY, ORACLE, TOKEN } from '../onchain/addresses.ts';

export interface BookOnChain {
  readonly issuer: Uint8Array;
  balance: bigint;
  /** For others than the beneficiary that asks. */
  hardDeposits: bigint;
  readonly paidOut: Map<string, bigint>;
}

const NAMES = new Map(
  Object.entries(SWAP_FUNCTIONS).map(([name, signature]) => [selectorOf(signature), name]),
);
const BALANCE_OF = selectorOf('balanceOf(address)');

export class SwapChain {
  rates = { exchangeRate: 100_000n, deduction: 100n };
  readonly books = new Map<string, BookOnChain>();
  /** Contracts that look like chequebooks and come from elsewhere. */
  readonly strangers = new Set<string>();
  /** Token balances of accounts by hex. */
  readonly tokens = new Map<string, bigint>();
  isDown = false;
  /** Calls end only with their signal. */
  isSilent = false;
  calls = 0;

  endpoint(): SwapChain {
    const other = Object.create(this) as SwapChain;
    other.isDown = false;
    other.isSilent = false;
    return other;
  }

  deploy(key: Uint8Array, balance: bigint): Uint8Array {
    const issuer = createSigner(key).address;
    const address = new Uint8Array(20).fill(0xcb);
    address.set(issuer.subarray(0, 10));
    address[19] = this.books.size;
    this.books.set(toHex(address), { issuer, balance, hardDeposits: 0n, paidOut: new Map() });
    return address;
  }

  book(address: Uint8Array): BookOnChain {
    const book = this.books.get(toHex(address));
    if (book === undefined) throw new Error('there is no such chequebook');
    return book;
  }

  async chainId(): Promise<bigint> {
    if (this.isDown) throw new ChainError('RPC_UNREACHABLE', 'connection refused');
    return CHAIN_ID;
  }

  async nativeBalance(): Promise<bigint> {
    return 10n ** 18n;
  }

  async call({ to, data }: { to: string; data: string }, signal?: AbortSignal): Promise<string> {
    this.calls++;
    if (this.isSilent) await aborted(signal);
    if (this.isDown) throw new ChainError('RPC_UNREACHABLE', 'connection refused');
    const argument = data.slice(10 + 24, 10 + 64);
    if (to === TOKEN && data.startsWith(BALANCE_OF)) return word(this.tokens.get(argument) ?? 0n);
    const name = NAMES.get(data.slice(0, 10));
    if (to === ORACLE) return word(this.rates.exchangeRate) + word(this.rates.deduction).slice(2);
    if (to === FACTORY) return word(this.books.has(argument) && !this.strangers.has(argument) ? 1n : 0n);
    const book = this.book(fromHex(to));
    if (name === 'issuer') return word(book.issuer);
    if (name === 'balance') return word(book.balance);
    if (name === 'liquidBalanceFor') return word(book.balance - book.hardDeposits);
    if (name === 'paidOut') return word(book.paidOut.get(argument) ?? 0n);
    if (name === 'totalPaidOut')
      return word([...book.paidOut.values()].reduce((sum, paid) => sum + paid, 0n));
    throw new Error(`no such function: ${data}`);
  }
}

export function word(value: bigint | Uint8Array): string {
  return `0x${toHex(encodeWord(value))}`;
}

function aborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    const end = () => reject(signal?.reason as Error);
    if (signal?.aborted === true) end();
    else signal?.addEventListener('abort', end, { once: true });
  });
}
