import type { MetricTable } from '../env/metrics.ts';

/** `node-behaviour.md` 12. Amounts are accounting units. */
export const ACCOUNTING_METRICS = {
  debited: {
    kind: 'counter',
    name: 'accounting_total_debited_amount',
    help: 'Price of services given, accounting units.',
  },
  credited: {
    kind: 'counter',
    name: 'accounting_total_credited_amount',
    help: 'Price of services used, accounting units.',
  },
  debitEvents: { kind: 'counter', name: 'accounting_debit_events_count', help: 'Services given.' },
  creditEvents: { kind: 'counter', name: 'accounting_credit_events_count', help: 'Services used.' },
  originatedCredited: {
    kind: 'counter',
    name: 'accounting_total_originated_credited_amount',
    help: "Price of services used for this node's own requests, accounting units.",
  },
  originatedCreditEvents: {
    kind: 'counter',
    name: 'accounting_originated_credit_events_count',
    help: "Services used for this node's own requests.",
  },
  blocks: {
    kind: 'counter',
    name: 'accounting_accounting_blocks_count',
    help: 'Requests not sent to a peer because they would overdraw its threshold.',
  },
  creditWait: {
    kind: 'counter',
    name: 'accounting_credit_wait_seconds',
    help: 'Time in which a request waited because no peer that could be asked granted credit.',
  },
  reserves: {
    kind: 'counter',
    name: 'accounting_accounting_reserve_count',
    help: 'Credit reservations requested, granted or not.',
  },
  disconnectsOverdraw: {
    kind: 'counter',
    name: 'accounting_disconnects_overdraw_count',
    help: 'Peers blocklisted for debt above the disconnect limit.',
  },
  disconnectsGhostOverdraw: {
    kind: 'counter',
    name: 'accounting_disconnects_ghost_overdraw_count',
    help: 'Peers blocklisted for abandoning requests before delivery.',
  },
  disconnectsEnforceRefresh: {
    kind: 'counter',
    name: 'accounting_disconnects_enforce_refresh_count',
    help: 'Peers blocklisted for a refused or short refresh.',
  },
  disconnectsReconnect: {
    kind: 'counter',
    name: 'accounting_disconnects_reconnect_count',
    help: 'Peers disconnected.',
  },
  disconnectsLeftBehind: {
    kind: 'counter',
    name: 'accounting_disconnects_left_behind_count',
    help: 'Peers blocklisted for evading debts by reconnecting.',
  },
  refreshAttempts: { kind: 'counter', name: 'accounting_refresh_attempt_count', help: 'Refreshes begun.' },
  refreshesOfLeavers: {
    kind: 'counter',
    name: 'accounting_non_fatal_refresh_fail_count',
    help: 'Refreshes that failed because the peer left.',
  },
  settleErrors: { kind: 'counter', name: 'accounting_settle_error_count', help: 'Refreshes that failed.' },
  paymentErrors: { kind: 'counter', name: 'accounting_payment_error_count', help: 'Payments that failed.' },
  refreshmentBelowExpected: {
    kind: 'counter',
    name: 'accounting_refreshment_below_expected',
    help: 'Refreshes for which the creditor accepted less than time and debt allow.',
  },
} as const satisfies MetricTable;
