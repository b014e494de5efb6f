/** The chain, transactions, postage, and the backing of cheques. */

import type { Transactions } from '../onchain/ports.ts';
import { createRpc, type Rpc } from '../onchain/rpc.ts';
import { withDebugGas } from '../onchain/transactions/debug-mode.ts';
import { createTransactions, type TransactionService } from '../onchain/transactions/transactions.ts';
import { createWallet, type Wallet } from '../onchain/wallet.ts';
import type { NodeOptions } from '../options.ts';
import { createPostage, type PostageService } from '../postage/postage.ts';
import { SwapServices } from '../swap/services.ts';
import type { Foundation } from './foundation.ts';

const MS_PER_SECOND = 1000;

export interface Money {
  readonly chain: Rpc;
  readonly pollMs: number;
  readonly blockTimeMs: number;
  readonly transactions: TransactionService;
  /** Of batches, stakes and the game. */
  readonly contractTransactions: Transactions;
  readonly postage: PostageService;
  readonly wallet: Wallet;
  readonly swap: SwapServices | undefined;
  readonly sendsCheques: boolean;
}

export function openMoney(options: NodeOptions, foundation: Foundation): Money {
  const { platform, clock, signer, workers, store, metrics, module, parts } = foundation;
  const endpoint = platform.chainEndpoint(options['swap-endpoint']);
  const chain = createRpc(endpoint, { clock, log: module('onchain'), metrics });
  parts.defer(() => chain.close());
  const blockTimeMs = Math.round(options['block-time'] * MS_PER_SECOND);
  const pollMs = Math.min(options['chain-poll-interval'], blockTimeMs);
  const transactions = createTransactions(
    {
      pollIntervalMs: pollMs,
      minimumTip: BigInt(options['minimum-gas-tip-cap']),
      gasLimitFallback: BigInt(options['gas-limit-fallback']),
    },
    { rpc: chain, signer, clock, state: store.state('transactions'), log: module('onchain'), metrics },
  );
  parts.defer(() => transactions.stop());
  transactions.start();
  const contractTransactions = options['transaction-debug-mode'] ? withDebugGas(transactions) : transactions;
  const postage = createPostage(
    {
      contract: options['postage-stamp-address'],
      token: options['token-address'],
      startBlock: options['postage-stamp-start-block'],
      foundLabel: options['found-batch-label'],
      usableBlocks: options['usable-blocks'],
      tailBlocks: options['chain-tail-blocks'],
      batchFactor: options['chain-batch-factor'],
      pollIntervalMs: options['chain-poll-interval'],
      blockTimeMs,
      reserveCapacity: foundation.reserveCapacity,
      logBlocks: foundation.platform.limits?.logBlocks,
    },
    {
      chain,
      transactions: contractTransactions,
      state: (subsystem) => store.state(subsystem),
      signer,
      workers,
      clock,
      log: module('postage'),
      metrics,
      onFatal: foundation.onFatal,
    },
  );
  const wallet = createWallet(
    {
      token: options['token-address'],
      account: signer.address,
      withdrawalAddresses: options['withdrawal-addresses-whitelist'].map((one) => one.toLowerCase()),
    },
    { chain, transactions },
  );
  const swap = swapServices(options, { foundation, chain, transactions });
  const sendsCheques = swap !== undefined && options['chequebook-enable'];
  return {
    chain,
    pollMs,
    blockTimeMs,
    transactions,
    contractTransactions,
    postage,
    wallet,
    swap,
    sendsCheques,
  };
}

function swapServices(
  options: NodeOptions,
  {
    foundation,
    chain,
    transactions,
  }: { foundation: Foundation; chain: Rpc; transactions: TransactionService },
): SwapServices | undefined {
  if (!options['swap-enable']) return undefined;
  const { clock, random, signer, store, module } = foundation;
  return new SwapServices(
    {
      factory: options['swap-factory-address'],
      oracle: options['price-oracle-address'],
      oracleIntervalMs: options['price-oracle-interval'],
      token: options['token-address'],
      chequebook: options['chequebook-enable']
        ? { address: options['chequebook-address'], initialDeposit: options['swap-initial-deposit'] }
        : undefined,
    },
    {
      chain,
      head: chain.head,
      transactions,
      state: store.state('swap'),
      signer,
      clock,
      random,
      log: module('swap'),
    },
  );
}
