import { Chain } from '../../../../harness/chain/chain.ts';
import { ChequebookClient, StakeClient, WalletClient } from '../../../../harness/client/money.ts';
import { NodeClient } from '../../../../harness/client/node-client.ts';
import { BytesClient } from '../../../../harness/client/transfers.ts';
import { Cluster } from '../../../../harness/cluster/cluster.ts';
import {
  after,
  all,
  answers,
  changes,
  fails,
  type Lie,
  late,
  type Mutation,
  takesAll,
  waits,
} from './lies.ts';

const HASH = `0x${'ab'.repeat(32)}`;

/** The books name a block. */
function view(signature: string, lie: (truth: bigint) => bigint): Lie {
  return changes(Chain.prototype, 'view', (truth, _contract, asked, _values, at) =>
    asked === signature && at === undefined ? lie(truth) : truth,
  );
}
const PAID_OUT = 'paidOut(address)';

function morePaid(): Lie {
  let isOwed = false;
  return all(
    changes(BytesClient.prototype, 'upload', (uploaded, _data, options) => {
      isOwed = options?.deferred === true;
      return uploaded;
    }),
    changes(NodeClient.prototype, 'health', (health) => {
      isOwed = false;
      return { ...health, status: 'nok' };
    }),
    changes(NodeClient.prototype, 'settlements', (rows) => ({
      ...rows,
      settlements: rows.settlements.map((row) => (isOwed ? { ...row, received: row.received + 1n } : row)),
    })),
  );
}
const noDebt = changes(NodeClient.prototype, 'accounting', (accounts) =>
  accounts.map((account) => ({ ...account, balance: 0n })),
);

const paidForNothing = changes(ChequebookClient.prototype, 'cashout', (cashout) => ({
  ...cashout,
  result: cashout.result?.lastPayout === 0n ? { ...cashout.result, lastPayout: 1n } : cashout.result,
}));
/** Once, after a cheque was cashed. */
function paidLess(): Lie {
  let isCashed = false;
  return all(
    changes(ChequebookClient.prototype, 'cash', (hash) => {
      isCashed = true;
      return hash;
    }),
    view(PAID_OUT, (paid) => {
      const answer = isCashed ? paid - 1n : paid;
      isCashed = false;
      return answer;
    }),
  );
}
const otherCashout = changes(ChequebookClient.prototype, 'cashout', (cashout) => ({
  ...cashout,
  uncashedAmount: cashout.uncashedAmount + 1n,
  result: cashout.result && { ...cashout.result, recipient: 'ab'.repeat(20), bounced: true },
}));
const neverBounced = changes(ChequebookClient.prototype, 'cashout', (cashout) => ({
  ...cashout,
  result: cashout.result && { ...cashout.result, bounced: false },
}));
const frozenTokens = answers(Chain.prototype, 'tokenBalance', () => 5n);

/** Each answer has a unit of each coin more. */
function growing(): Lie {
  let gained = 0n;
  return changes(WalletClient.prototype, 'balances', (wallet) => ({
    ...wallet,
    nativeBalance: wallet.nativeBalance + gained,
    tokenBalance: wallet.tokenBalance + gained++,
  }));
}
const noStake = answers(StakeClient.prototype, 'withdrawable', () => 0n);
const otherOverlay = changes(Chain.prototype, 'words', (words, _contract, signature, _values, at) =>
  signature === 'stakes(address)' && at === undefined ? [1n, ...words.slice(1)] : words,
);
const staysStaked = after(
  StakeClient.prototype,
  'migrate',
  changes(StakeClient.prototype, 'staked', () => 1n),
);

const BOUNCED = { beneficiaries: '2', size: '2MiB' };

export const MONEY: readonly Mutation[] = [
  [
    'balances',
    { 'dry-run': 'true', deadline: '1' },
    changes(NodeClient.prototype, 'balances', (rows) =>
      rows.map((row) => ({ ...row, balance: row.balance + 1n })),
    ),
    /both ends of each link count the same/,
    /nothing is lost or made: balances, cheques and tokens add up/,
  ],
  [
    'settlements',
    { size: '4096', 'expect-settlements': 'false' },
    changes(NodeClient.prototype, 'accounting', (accounts) =>
      accounts.map((account) => ({ ...account, thresholdGiven: -1n, thresholdReceived: -1n })),
    ),
    /every balance is within the thresholds of its link/,
  ],
  [
    'balances',
    { size: '4096', deadline: '1' },
    all(
      answers(NodeClient.prototype, 'balances', () => []),
      changes(NodeClient.prototype, 'timeSettlements', (rows) => ({ ...rows, settlements: [] })),
      changes(NodeClient.prototype, 'settlements', (rows) => ({ ...rows, settlements: [] })),
    ),
    /an upload costs something/,
    /a download costs something/,
  ],
  [
    'cheques',
    { 'first-within': '1' },
    changes(ChequebookClient.prototype, 'cheque', (held) => ({ ...held, received: undefined })),
    /node-\d holds the cheque that node-0 has sent/,
    /every peer that was paid holds a cheque/,
    /the first cheque comes soon/,
  ],
  [
    'cheques',
    {},
    all(otherCashout, frozenTokens),
    /: the whole unpaid amount is uncashed/,
    /: the cheque is paid in full/,
    /: nothing is left to cash/,
    /: the money goes to the chequebook or account of/,
    /: the recipient gets exactly this amount/,
    /: the chequebook of node-0 pays exactly this amount/,
  ],
  [
    'cheques',
    {},
    all(paidLess(), paidForNothing),
    /: the contract records the payment/,
    /node-\d gets nothing for cashing the same cheque again/,
    /node-\d is not paid twice/,
  ],
  [
    'settlements',
    { 'dry-run': 'true', deadline: '1' },
    changes(NodeClient.prototype, 'settlements', (rows) => ({
      ...rows,
      settlements: rows.settlements.map((row) => ({ ...row, sent: row.sent + 1n })),
    })),
    /both ends of each link count the same/,
    /nothing is lost or made: balances, cheques and tokens add up/,
  ],
  [
    'withdraw',
    {},
    all(
      growing(),
      changes(Chain.prototype, 'nativeBalance', () => 5n),
    ),
    /native: exactly the amount arrives/,
    /(native|token): the coins of node-0 fall by what was sent and the fee/,
    /(native|token): the tokens of node-0 fall by what was sent/,
    /a refusal costs nothing/,
    /chequebook (deposit|withdraw): total, available and account change by the amount/,
  ],
  [
    'withdraw',
    {},
    takesAll(WalletClient.prototype, 'withdraw', () => HASH),
    /(native|token) to nobody is refused/,
    /(native|token) to an address that is not allowed is refused/,
    /more (native|token) than there is is refused/,
  ],
  [
    'withdraw',
    {},
    all(
      takesAll(ChequebookClient.prototype, 'deposit', () => HASH),
      takesAll(ChequebookClient.prototype, 'withdraw', () => HASH),
    ),
    /a deposit of more than the account has is refused/,
    /a withdrawal of more than is available is refused/,
  ],
  [
    'stake',
    {},
    all(noStake, otherOverlay, staysStaked),
    /withdrawable is what the commitment does not need/,
    /half the price makes about half of the stake withdrawable/,
    /withdrawal: stake and account change by the same amount/,
    /the chain records the overlay of the node/,
    /migration: stake and account change by the same amount/,
    /no stake is left/,
  ],
  [
    'stake',
    {},
    all(
      takesAll(StakeClient.prototype, 'deposit', () => HASH),
      takesAll(StakeClient.prototype, 'withdrawSurplus', () => HASH),
      takesAll(StakeClient.prototype, 'migrate', () => HASH),
    ),
    /a stake below the minimum is refused/,
    /a withdrawal of nothing is refused/,
    /migrating from a contract that runs is refused/,
  ],
  [
    'bounced-cheque',
    { ...BOUNCED, beneficiaries: '9' },
    all(waits(3000), noDebt),
    /enough peers hold a cheque/,
    /what the node buys stays a debt/,
  ],
  [
    'bounced-cheque',
    BOUNCED,
    all(
      morePaid(),
      view(PAID_OUT, (paid) => paid - 1n),
      view('bounced()', () => 0n),
      fails(Cluster.prototype, 'synced', late),
      neverBounced,
    ),
    /node-\d is paid what is left, and learns if that is not all/,
    /the contract agrees on the payment to/,
    /the chain shows the bounced cheque/,
    /no peer accepts another of its cheques/,
    /the node that cannot pay stays healthy/,
    /node-\d is paid in full in the end/,
    /the network serves the node again once its chequebook is funded/,
  ],
];
