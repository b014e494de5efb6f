import type { Dialect } from '../../dialect.ts';
import {
  amount,
  byName,
  chainAddress,
  either,
  flag,
  hex,
  hex32,
  integer,
  list,
  named,
  nothing,
  object,
  txHash,
  uint,
} from './json-schema.ts';

const peerData = byName(
  '^[a-f0-9]{64}$',
  object({
    balance: amount,
    consumedBalance: amount,
    thresholdReceived: amount,
    thresholdGiven: amount,
    currentThresholdReceived: amount,
    currentThresholdGiven: amount,
    surplusBalance: amount,
    reservedBalance: amount,
    shadowReservedBalance: amount,
    ghostBalance: amount,
  }),
);
const cheque = object({ beneficiary: chainAddress, chequebook: chainAddress, payout: amount });

export function moneyShapes({ fields, missesCheques, settlementAmount, balanceThresholds }: Dialect) {
  const thresholds = balanceThresholds ? { thresholdreceived: nothing, thresholdgiven: nothing } : {};
  const balance = object({ peer: hex32, balance: amount, ...thresholds });
  const settled = typeof settlementAmount(0n) === 'string' ? amount : integer;
  const settlement = object({ peer: hex32, received: settled, sent: settled });
  const cheques = object({
    // Without an error, an unknown peer is named as in the request.
    peer: missesCheques ? hex32 : hex,
    lastreceived: either(cheque, nothing),
    lastsent: either(cheque, nothing),
  });
  return {
    Balance: balance,
    Balances: object({ ...named(fields.balancesByPeer, peerData), balances: list(balance) }),
    Accounting: object({ peerData }),
    Settlement: settlement,
    Settlements: object({ totalReceived: settled, totalSent: settled, settlements: list(settlement) }),
    ChequebookAddress: object({ chequebookAddress: chainAddress }),
    ChequebookBalance: object({ totalBalance: amount, availableBalance: amount }),
    Cheques: cheques,
    AllCheques: object({ lastcheques: list(cheques) }),
    CashoutStatus: object({
      peer: hex32,
      lastCashedCheque: either(cheque, nothing),
      transactionHash: either(txHash, nothing),
      result: either(object({ recipient: chainAddress, lastPayout: amount, bounced: flag }), nothing),
      uncashedAmount: amount,
    }),
    Wallet: object({
      ...named(fields.walletBalance, amount),
      nativeTokenBalance: amount,
      chainID: uint,
      chequebookContractAddress: chainAddress,
      walletAddress: chainAddress,
    }),
  };
}
