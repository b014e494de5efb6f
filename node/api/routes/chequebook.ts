/** Cheques, cashing and chequebook: `http-api-completion.md` 5.11, 5.12. */
import { toHex } from '../../../formats/crypto/hex.ts';
import type { CashoutStatus } from '../../swap/cashout.ts';
import type { SignedCheque } from '../../swap/cheque.ts';
import type { LastCheques } from '../../swap/services.ts';
import type { Dialect } from '../dialect.ts';
import { ApiError, orElse } from '../errors.ts';
import { route } from '../route/route.ts';
import type { NodeServices } from '../services.ts';
import { GAS_HEADERS, type Gas, gasOf } from '../values/gas.ts';
import { bigInteger, hex } from '../values/kinds.ts';
import { notNegative, ONE_HASH, required } from '../values/params.ts';
import { settlementBody, settlementsBody } from './settlements.ts';

const ADDRESS = { address: required(hex, { ...ONE_HASH, field: 'peer' }) } as const;
const PEER = { 'peer-id': required(hex, { ...ONE_HASH, field: 'peer' }) } as const;
const AMOUNT = { amount: required(bigInteger, { checks: [notNegative] }) } as const;
const SWAP = ['started', 'swap'] as const;
const CHEQUEBOOK = ['started', 'chequebook'] as const;

/** The two directions between account and chequebook. */
const MOVES = [
  { name: 'deposit', summary: 'move tokens into the chequebook', failure: 'DEPOSIT_FAILED' },
  { name: 'withdraw', summary: 'move tokens out of the chequebook', failure: 'WITHDRAW_FAILED' },
] as const;

export const CHEQUEBOOK_ROUTES = [
  route({
    method: 'GET',
    path: '/settlements',
    port: 'both',
    summary: 'what was settled by cheques',
    gates: SWAP,
    success: [200],
    response: 'Settlements',
    failure: 'SETTLEMENTS_FAILED',
    handle: ({ services, dialect }) => ({
      status: 200,
      json: settlementsBody(swapOf(services).settlements(), dialect),
    }),
  }),
  route({
    method: 'GET',
    path: '/settlements/{address}',
    port: 'both',
    summary: 'what was settled by cheques with a peer',
    gates: SWAP,
    params: ADDRESS,
    success: [200],
    refusals: ['SETTLEMENT_NOT_FOUND'],
    response: 'Settlement',
    failure: 'SETTLEMENT_FAILED',
    handle({ params: { address }, services, dialect }) {
      const settlement = swapOf(services).settlement(toHex(address));
      if (settlement === undefined) throw new ApiError('SETTLEMENT_NOT_FOUND');
      return { status: 200, json: settlementBody(settlement, dialect) };
    },
  }),
  route({
    method: 'GET',
    path: '/chequebook/address',
    port: 'both',
    summary: 'contract that cheques are paid from',
    gates: CHEQUEBOOK,
    success: [200],
    refusals: ['CHEQUEBOOK_DISABLED'],
    response: 'ChequebookAddress',
    handle: ({ services, dialect }) => ({
      status: 200,
      json: { chequebookAddress: dialect.checksummedAddress(chequebookOf(services).address) },
    }),
  }),
  route({
    method: 'GET',
    path: '/chequebook/balance',
    port: 'both',
    summary: 'tokens in the chequebook, and what of them is not promised',
    gates: CHEQUEBOOK,
    success: [200],
    response: 'ChequebookBalance',
    failure: 'CHEQUEBOOK_BALANCE_FAILED',
    async handle({ services, signal }) {
      const chequebook = chequebookOf(services);
      const [total, available] = await Promise.all([
        chequebook.balance(signal),
        chequebook.availableBalance(signal),
      ]);
      return { status: 200, json: { totalBalance: String(total), availableBalance: String(available) } };
    },
  }),
  ...MOVES.map(({ name, summary, failure }) =>
    route({
      method: 'POST',
      path: `/chequebook/${name}`,
      port: 'both',
      summary,
      gates: CHEQUEBOOK,
      headers: GAS_HEADERS,
      headersFirst: true,
      query: AMOUNT,
      success: [200, 201],
      successIn: ({ paidStatus }) => [paidStatus],
      refusals: ['INSUFFICIENT_FUNDS'],
      response: 'TransactionHash',
      failure,
      serverErrors: [failure],
      async handle({ query: { amount }, headers, services, dialect, signal }) {
        const transactionHash = await chequebookOf(services)[name](amount, gasOf(headers), signal);
        return { status: dialect.paidStatus, json: { transactionHash } };
      },
    }),
  ),
  route({
    method: 'GET',
    path: '/chequebook/cheque',
    port: 'both',
    summary: 'last cheques with all peers',
    gates: SWAP,
    success: [200],
    response: 'AllCheques',
    failure: 'CHEQUES_FAILED',
    handle: ({ services, dialect }) => ({
      status: 200,
      json: {
        lastcheques: swapOf(services)
          .lastCheques()
          .map((cheques) => chequesBody(cheques, dialect)),
      },
    }),
  }),
  route({
    method: 'GET',
    path: '/chequebook/cheque/{peer-id}',
    port: 'both',
    summary: 'last cheques with a peer',
    gates: SWAP,
    params: PEER,
    success: [200],
    refusals: ['NO_PRIOR_CHEQUE'],
    response: 'Cheques',
    failure: 'CHEQUE_FAILED',
    handle({ params, services, dialect }) {
      const peer = toHex(params['peer-id']);
      const cheques = swapOf(services).lastChequesWith(peer);
      if (cheques === undefined && dialect.missesCheques) throw new ApiError('NO_PRIOR_CHEQUE');
      const none = { peer, received: undefined, sent: undefined };
      return { status: 200, json: chequesBody(cheques ?? none, dialect) };
    },
  }),
  route({
    method: 'GET',
    path: '/chequebook/cashout/{peer-id}',
    port: 'both',
    summary: 'what became of the last cashing of the cheques of a peer',
    gates: SWAP,
    params: PEER,
    success: [200],
    refusals: ['NO_PRIOR_CHEQUE'],
    response: 'CashoutStatus',
    failure: 'CASHOUT_STATUS_FAILED',
    async handle({ params, services, dialect, signal }) {
      const peer = toHex(params['peer-id']);
      const status = await swapOf(services).cashout.status(peer, signal);
      return { status: 200, json: { peer, ...cashoutBody(status, dialect) } };
    },
  }),
  route({
    method: 'POST',
    path: '/chequebook/cashout/{peer-id}',
    port: 'both',
    summary: 'cash the last cheque of a peer; answers when the transaction is sent',
    gates: SWAP,
    params: PEER,
    headers: GAS_HEADERS,
    headersFirst: true,
    success: [200, 201],
    successIn: ({ paidStatus }) => [paidStatus],
    refusals: ['NO_PRIOR_CHEQUE', 'ONCHAIN_BUSY'],
    response: 'TransactionHash',
    failure: 'CASHOUT_FAILED',
    serverErrors: ['CASHOUT_FAILED'],
    async handle({ params, headers, services, dialect, takeSlot, signal }) {
      using _slot = takeSlot('cashoutSlot');
      const transactionHash = await cash(
        services,
        { peer: toHex(params['peer-id']), gas: gasOf(headers), dialect },
        signal,
      );
      return { status: dialect.paidStatus, json: { transactionHash } };
    },
  }),
];

function cash(
  services: NodeServices,
  { peer, gas, dialect }: { peer: string; gas: Gas; dialect: Dialect },
  signal: AbortSignal,
): Promise<string> {
  const wording = dialect.missesCheques ? {} : ({ NO_CHEQUE: 'CASHOUT_FAILED' } as const);
  return orElse('CASHOUT_FAILED', () => swapOf(services).cashout.cash(peer, gas, signal), wording);
}

function swapOf({ swap }: NodeServices): NonNullable<NodeServices['swap']> {
  if (swap === undefined) throw new ApiError('SWAP_DISABLED');
  return swap;
}

function chequebookOf(services: NodeServices) {
  const chequebook = services.swap?.chequebook;
  if (chequebook === undefined) throw new ApiError('CHEQUEBOOK_DISABLED');
  return chequebook;
}

function chequesBody({ peer, received, sent }: LastCheques, dialect: Dialect): Record<string, unknown> {
  return { peer, lastreceived: chequeBody(received, dialect), lastsent: chequeBody(sent, dialect) };
}

function chequeBody(cheque: SignedCheque | undefined, { checksummedAddress }: Dialect) {
  if (cheque === undefined) return null;
  return {
    beneficiary: checksummedAddress(cheque.beneficiary),
    chequebook: checksummedAddress(cheque.chequebook),
    payout: String(cheque.cumulativePayout),
  };
}

function cashoutBody({ last, uncashedAmount }: CashoutStatus, dialect: Dialect): Record<string, unknown> {
  const result = last?.result;
  return {
    lastCashedCheque: chequeBody(last?.cheque, dialect),
    transactionHash: last?.transactionHash ?? null,
    result:
      result === undefined
        ? null
        : {
            recipient: dialect.chainAddress(result.recipient),
            lastPayout: String(result.totalPayout),
            bounced: result.bounced,
          },
    uncashedAmount: String(uncashedAmount),
  };
}
