import type { MetricTable } from '../../env/metrics.ts';

/** `node-behaviour.md` 12, misspelling included. Accounting units. */
export const PSEUDOSETTLE_METRICS = {
  receivedAmount: {
    kind: 'counter',
    name: 'pseudosettle_total_received_pseudosettlements',
    help: 'Amount of refreshes accepted from peers, accounting units.',
  },
  sentAmount: {
    kind: 'counter',
    name: 'pseudosettle_total_sent_pseudosettlements',
    help: 'Amount of refreshes accepted by peers, accounting units.',
  },
  received: {
    kind: 'counter',
    name: 'pseudosettle_received_pseudosettlements',
    help: 'Refreshes received.',
  },
  sent: { kind: 'counter', name: 'pseudosettle_sent_pseudosettlements', help: 'Refreshes sent.' },
  receivedErrors: {
    kind: 'counter',
    name: 'pseudosettle_received_pseudosettlements_errors',
    help: 'Refreshes received and refused.',
  },
  sentErrors: {
    kind: 'counter',
    name: 'pseudosettle_sent_pseudosettlements_errorss',
    help: 'Refreshes sent that failed.',
  },
  aboveExpected: {
    kind: 'counter',
    name: 'accounting_refreshment_above_expected',
    help: 'Answers that accepted more than was paid.',
  },
  outOfSyncAlleged: {
    kind: 'counter',
    name: 'accounting_time_out_of_sync_alleged',
    help: 'Answers with a timestamp before the previous one.',
  },
  outOfSyncRecent: {
    kind: 'counter',
    name: 'accounting_time_out_of_sync_recent',
    help: "Answers with a timestamp too far from this node's clock.",
  },
  outOfSyncInterval: {
    kind: 'counter',
    name: 'accounting_time_out_of_sync_interval',
    help: 'Answers whose interval since the previous one differs from that of the local clock.',
  },
} as const satisfies MetricTable;
