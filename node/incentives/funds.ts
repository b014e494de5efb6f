/** `node-behaviour.md` 9.2. */
import { equalBytes } from '../../formats/crypto/hex.ts';
import { readWords, topicOf } from '../../formats/ethereum/abi.ts';
import type { SendingChain } from '../onchain/chain.ts';
import { toAddress } from '../onchain/contracts.ts';
import type { Receipt } from '../onchain/ports.ts';
import { feesFor } from '../onchain/transactions/fees.ts';

/** That an account must be able to pay before it takes part. */
const TRANSACTIONS_COVERED = 15n;
const GAS_PER_TRANSACTION = 250_000n;
/** Added to the suggested tip: a late transaction loses the round. */
export const TIP_BOOST_PERCENT = 50;

const TRANSFER = topicOf('Transfer(address,address,uint256)');

/** @param account 20 bytes @returns native base units at the current gas price */
export async function fundsToPlay(
  chain: Pick<SendingChain, 'nativeBalance' | 'baseFee' | 'suggestedTip'>,
  account: Uint8Array,
  signal: AbortSignal,
): Promise<{ minimum: bigint; sufficient: boolean }> {
  const [balance, baseFee, suggestedTip] = await Promise.all([
    chain.nativeBalance(toAddress(account), signal),
    chain.baseFee(signal),
    chain.suggestedTip(signal),
  ]);
  const { feeCap } = feesFor({
    baseFee,
    suggestedTip,
    gasPrice: undefined,
    tipBoostPercent: TIP_BOOST_PERCENT,
    minimumTip: 0n,
  });
  const minimum = TRANSACTIONS_COVERED * GAS_PER_TRANSACTION * feeCap;
  return { minimum, sufficient: balance > minimum };
}

/** @param account 20 bytes @returns base units of the token */
export function received(receipt: Receipt, token: string, account: Uint8Array): bigint {
  const transfers = receipt.logs.filter(
    ({ address, topics }) =>
      address === token &&
      topics[0] === TRANSFER &&
      topics[2] !== undefined &&
      equalBytes(readWords(topics[2], 'Transfer').address(0), account),
  );
  return transfers.reduce((sum, { data }) => sum + readWords(data, 'Transfer').uint(0), 0n);
}
