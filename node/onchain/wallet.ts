/** Holdings, and transfers to addresses that the operator allows. */
import { encodeTransfer, toAddress, tokenBalance } from './contracts.ts';
import type { Chain, TransactionRequest, Transactions } from './ports.ts';

/** Whatever a request says. */
const TOKEN_TRANSFER_GAS = 90_000n;
/** For any kind of account, unless a request sets one. */
const NATIVE_TRANSFER_GAS = 300_000n;

interface WalletOptions {
  readonly token: string;
  /** 20 bytes. */
  readonly account: Uint8Array;
  /** `0x` and 40 lower-case hex. */
  readonly withdrawalAddresses: readonly string[];
}

interface WalletDeps {
  readonly chain: Pick<Chain, 'call' | 'nativeBalance'>;
  readonly transactions: Pick<Transactions, 'send'>;
}

type GasTerms = Pick<TransactionRequest, 'gasPrice' | 'gasLimit'>;

/** @param to 20 bytes @param amount base units @returns the hash once sent @throws ChainError */
type Transfer = (to: Uint8Array, amount: bigint, gas: GasTerms, signal: AbortSignal) => Promise<string>;

export interface Wallet {
  /** Base units. */
  readonly tokenBalance: (signal: AbortSignal) => Promise<bigint>;
  readonly nativeBalance: (signal: AbortSignal) => Promise<bigint>;
  /** @param address 20 bytes */
  readonly mayReceive: (address: Uint8Array) => boolean;
  /** The gas limit is fixed. */
  readonly sendTokens: Transfer;
  readonly sendNative: Transfer;
}

export function createWallet(
  { token, account, withdrawalAddresses }: WalletOptions,
  { chain, transactions }: WalletDeps,
): Wallet {
  const allowed = new Set(withdrawalAddresses);
  return {
    tokenBalance: (signal) => tokenBalance(chain, token, account, signal),
    nativeBalance: (signal) => chain.nativeBalance(toAddress(account), signal),
    mayReceive: (address) => allowed.has(toAddress(address)),
    sendTokens: (to, amount, { gasPrice }, signal) =>
      transactions.send(
        {
          to: token,
          data: encodeTransfer(to, amount),
          gasLimit: TOKEN_TRANSFER_GAS,
          gasPrice,
          description: 'token transfer',
        },
        signal,
      ),
    sendNative: (to, value, { gasLimit = 0n, ...gas }, signal) =>
      transactions.send(
        {
          to: toAddress(to),
          data: '0x',
          value,
          ...gas,
          gasLimit: gasLimit > 0n ? gasLimit : NATIVE_TRANSFER_GAS,
          description: 'native token withdraw',
        },
        signal,
      ),
  };
}
