/** The chain account of the node: `http-api-completion.md` 5.12. */
import type { Wallet } from '../../onchain/wallet.ts';
import { emit, TOKEN_NAMES } from '../dialect.ts';
import { ApiError, type ApiErrorCode, orElse } from '../errors.ts';
import { route } from '../route/route.ts';
import { GAS_HEADERS, gasOf } from '../values/gas.ts';
import { bigInteger, chainAddress, text } from '../values/kinds.ts';
import { length, notNegative, required, strictly } from '../values/params.ts';

interface Coin {
  readonly balance: (wallet: Wallet) => Wallet['tokenBalance'];
  readonly balanceFailed: ApiErrorCode;
  readonly send: (wallet: Wallet) => Wallet['sendTokens'];
  readonly sendFailed: ApiErrorCode;
}

const TOKENS: Coin = {
  balance: (wallet) => wallet.tokenBalance,
  balanceFailed: 'WITHDRAW_TOKEN_BALANCE_FAILED',
  send: (wallet) => wallet.sendTokens,
  sendFailed: 'WITHDRAW_TOKEN_FAILED',
};
const NATIVE: Coin = {
  balance: (wallet) => wallet.nativeBalance,
  balanceFailed: 'WALLET_NATIVE_FAILED',
  send: (wallet) => wallet.sendNative,
  sendFailed: 'WITHDRAW_NATIVE_FAILED',
};
const COINS: ReadonlyMap<string, Coin> = new Map([
  ...TOKEN_NAMES.map((name) => [name, TOKENS] as const),
  ['nativetoken', NATIVE],
]);

export const WALLET_ROUTES = [
  route({
    method: 'GET',
    path: '/wallet',
    port: 'both',
    summary: 'what the chain account owns',
    // Compat: as since Bee 2.8, no chequebook is required.
    gates: ['started', 'chain'],
    success: [200],
    refusals: ['WALLET_NATIVE_FAILED', 'WALLET_TOKEN_FAILED'],
    response: 'Wallet',
    async handle({ services: { wallet, chain, node }, dialect, signal }) {
      const native = await orElse('WALLET_NATIVE_FAILED', () => wallet.nativeBalance(signal));
      const token = await orElse('WALLET_TOKEN_FAILED', () => wallet.tokenBalance(signal));
      return {
        status: 200,
        json: {
          ...emit(dialect.fields.walletBalance, String(token)),
          nativeTokenBalance: String(native),
          chainID: await orElse('WALLET_NATIVE_FAILED', () => chain.chainId(signal)),
          chequebookContractAddress: dialect.chainAddress(wallet.chequebook()),
          walletAddress: dialect.chainAddress(node.ethereum),
        },
      };
    },
  }),
  route({
    method: 'POST',
    path: '/wallet/withdraw/{coin}',
    port: 'both',
    summary: 'send coins of the chain account to an allowed address; answers when the transaction is sent',
    gates: ['started', 'chain'],
    params: { coin: required(text) },
    query: {
      amount: required(bigInteger, { checks: [notNegative] }),
      address: required(chainAddress, { checks: [strictly(length(20))] }),
    },
    headers: GAS_HEADERS,
    headersFirst: true,
    success: [200],
    refusals: [
      'COIN_UNKNOWN',
      'WITHDRAWAL_REFUSED',
      'WITHDRAWAL_TOO_LARGE',
      'WITHDRAW_TOKEN_BALANCE_FAILED',
      'WALLET_NATIVE_FAILED',
    ],
    response: 'TransactionHash',
    serverErrors: ['WITHDRAW_TOKEN_FAILED', 'WITHDRAW_NATIVE_FAILED'],
    async handle({ params, query: { amount, address }, headers, services: { wallet }, signal }) {
      const coin = COINS.get(params.coin.toLowerCase());
      if (coin === undefined) throw new ApiError('COIN_UNKNOWN');
      if (!wallet.mayReceive(address)) throw new ApiError('WITHDRAWAL_REFUSED');
      const balance = await orElse(coin.balanceFailed, () => coin.balance(wallet)(signal));
      if (amount > balance) throw new ApiError('WITHDRAWAL_TOO_LARGE');
      const transactionHash = await orElse(coin.sendFailed, () =>
        coin.send(wallet)(address, amount, gasOf(headers), signal),
      );
      return { status: 200, json: { transactionHash } };
    },
  }),
];
