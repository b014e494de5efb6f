/** Balances and settlements: `http-api-completion.md` 5.11. */

import { toHex } from '../../../formats/crypto/hex.ts';
import type { PeerAccount } from '../../accounting/ports.ts';
import { type Dialect, emit } from '../dialect.ts';
import { ApiError } from '../errors.ts';
import type { Answer } from '../exchange/answer.ts';
import { route } from '../route/route.ts';
import { hex } from '../values/kinds.ts';
import { ONE_HASH, required } from '../values/params.ts';
import { settlementsBody } from './settlements.ts';

const PATH = { address: required(hex, { ...ONE_HASH, field: 'peer' }) } as const;

/** Debt less prepayment, and the bare ledger. */
const VIEWS = [
  {
    path: '/balances',
    summary: 'balances with all peers',
    one: 'balance with a peer',
    amountOf: (a: PeerAccount) => a.balance,
  },
  {
    path: '/consumed',
    summary: 'past due consumption of all peers',
    one: 'past due consumption of a peer',
    amountOf: (a: PeerAccount) => a.consumedBalance,
  },
] as const;

export const ACCOUNTING_ROUTES = [
  ...VIEWS.flatMap(({ path, summary, one, amountOf }) => [
    route({
      method: 'GET',
      path,
      port: 'both',
      summary,
      gates: ['started'],
      success: [200],
      response: 'Balances',
      failure: 'BALANCES_FAILED',
      handle: ({ services: { accounting }, dialect }) => balances(accounting.balances(), amountOf, dialect),
    }),
    route({
      method: 'GET',
      path: `${path}/{address}`,
      port: 'both',
      summary: one,
      gates: ['started'],
      params: PATH,
      success: [200],
      refusals: ['BALANCE_NOT_FOUND'],
      response: 'Balance',
      failure: 'BALANCE_FAILED',
      handle({ params, services: { accounting }, dialect }) {
        const account = accounting.balance(toHex(params.address));
        if (account === undefined) throw new ApiError('BALANCE_NOT_FOUND');
        return { status: 200, json: balanceBody(account, amountOf, dialect) };
      },
    }),
  ]),
  route({
    method: 'GET',
    path: '/accounting',
    port: 'both',
    summary: 'accounts of all peers',
    gates: ['started'],
    success: [200],
    response: 'Accounting',
    failure: 'ACCOUNTING_FAILED',
    handle: ({ services: { accounting } }) => ({
      status: 200,
      json: { peerData: byPeer(accounting.balances(), ({ balance }) => balance) },
    }),
  }),
  route({
    method: 'GET',
    path: '/timesettlements',
    port: 'both',
    summary: 'what was settled by time',
    gates: ['started'],
    success: [200],
    response: 'Settlements',
    failure: 'SETTLEMENTS_FAILED',
    handle: ({ services: { timeSettlements }, dialect }) => ({
      status: 200,
      json: settlementsBody(timeSettlements.settlements(), dialect),
    }),
  }),
];

type AmountOf = (account: PeerAccount) => bigint;

function balances(accounts: readonly PeerAccount[], amountOf: AmountOf, dialect: Dialect): Answer {
  return {
    status: 200,
    json: {
      ...emit(dialect.fields.balancesByPeer, byPeer(accounts, amountOf)),
      balances: accounts.map((account) => balanceBody(account, amountOf, dialect)),
    },
  };
}

function balanceBody(
  account: PeerAccount,
  amountOf: AmountOf,
  { balanceThresholds }: Dialect,
): Record<string, unknown> {
  return {
    peer: account.peer,
    balance: String(amountOf(account)),
    // Compat: part of the shape, but only `/accounting` fills them.
    ...(balanceThresholds ? { thresholdreceived: null, thresholdgiven: null } : {}),
  };
}

function byPeer(accounts: readonly PeerAccount[], amountOf: AmountOf): Record<string, unknown> {
  return Object.fromEntries(
    accounts.map((account) => [
      account.peer,
      {
        balance: String(amountOf(account)),
        consumedBalance: String(account.consumedBalance),
        thresholdReceived: String(account.thresholdReceived),
        thresholdGiven: String(account.thresholdGiven),
        currentThresholdReceived: String(account.currentThresholdReceived),
        currentThresholdGiven: String(account.currentThresholdGiven),
        surplusBalance: String(account.surplusBalance),
        reservedBalance: String(account.reservedBalance),
        shadowReservedBalance: String(account.shadowReservedBalance),
        ghostBalance: String(account.ghostBalance),
      },
    ]),
  );
}
