import type { Board } from '../board.ts';
import { increase, ofNodes, ofRun, rate, sum } from '../queries.ts';

const byNode = (name: string) => ({ expr: sum(ofNodes(name), 'node'), legend: '{{node}}' });
const perSecond = (name: string) => sum(rate(ofNodes(name)));
const perMinute = (name: string) => `${perSecond(name)} * 60`;

/** Each has its own counter. */
const CALLS = {
  block_number: 'height',
  block_header: 'header',
  eth_call: 'contract call',
  filter_logs: 'events',
  transaction_receipt: 'receipt',
  send_transaction: 'transaction',
  balance: 'balance',
} as const;

export const economics: Board = {
  uid: 'svcnet-economics',
  title: 'svcnet 6: Economics',
  about: 'Cheques, time-based settlements, accounting, batches, the storage game and the chain.',
  rows: [
    {
      title: 'Settlements',
      panels: [
        {
          kind: 'series',
          title: 'Cheques',
          about: 'Cheques that nodes have sent, accepted and refused.',
          unit: 'perMinute',
          queries: [
            { expr: perMinute('swap_cheques_sent'), legend: 'sent' },
            { expr: perMinute('swap_cheques_received'), legend: 'accepted' },
            { expr: perMinute('swap_cheques_rejected'), legend: 'rejected' },
          ],
        },
        {
          kind: 'series',
          title: 'Debt paid',
          about: 'Accounting units per second, by cheque and by the time-based refreshment.',
          unit: 'count',
          queries: [
            { expr: perSecond('swap_total_sent'), legend: 'by cheque' },
            { expr: perSecond('pseudosettle_total_sent_pseudosettlements'), legend: 'by time' },
          ],
        },
        {
          kind: 'series',
          title: 'Debt paid, as the run counts it',
          about: 'Accounting units per second of the whole cluster; goes on when a node starts again.',
          unit: 'count',
          queries: [{ expr: sum(rate(ofRun('settlement_amount_total')), 'kind'), legend: '{{kind}}' }],
        },
        {
          kind: 'series',
          title: 'Available balance of chequebooks',
          about:
            'Base units of the token that are not promised, after the last cheque sent. No cheque can be sent at zero.',
          unit: 'count',
          queries: [byNode('swap_available_balance')],
        },
        {
          kind: 'series',
          title: 'Refreshes',
          about: 'Time-based settlements that were begun, and those that failed.',
          unit: 'perSecond',
          queries: [
            { expr: perSecond('accounting_refresh_attempt_count'), legend: 'begun' },
            { expr: perSecond('accounting_settle_error_count'), legend: 'failed' },
          ],
        },
        {
          kind: 'series',
          title: 'Cheques since the start',
          about: 'All cheques of the cluster, as the run counts them.',
          unit: 'count',
          queries: [{ expr: sum(ofRun('cheque_total'), 'kind'), legend: '{{kind}}' }],
        },
      ],
    },
    {
      title: 'Accounting',
      panels: [
        {
          kind: 'series',
          title: 'Price of services',
          about:
            'Accounting units per second that nodes charged for services given, and paid for services used.',
          unit: 'count',
          queries: [
            { expr: perSecond('accounting_total_debited_amount'), legend: 'given' },
            { expr: perSecond('accounting_total_credited_amount'), legend: 'used' },
            {
              expr: perSecond('accounting_total_originated_credited_amount'),
              legend: 'used for own requests',
            },
          ],
        },
        {
          kind: 'series',
          title: 'Requests without credit',
          about: 'Requests that were not sent to a peer because they would have overdrawn its threshold.',
          unit: 'perSecond',
          queries: [
            { expr: sum(rate(ofNodes('accounting_accounting_blocks_count')), 'node'), legend: '{{node}}' },
          ],
        },
        {
          kind: 'series',
          title: 'Time without credit',
          about:
            'Part of the time in which a request waited because no peer that could be asked granted credit: at 1, a node is as fast as its payments.',
          unit: 'ratio',
          queries: [
            { expr: sum(rate(ofNodes('accounting_credit_wait_seconds')), 'node'), legend: '{{node}}' },
          ],
        },
        {
          kind: 'series',
          title: 'Peers disconnected over money',
          about:
            'Since the start of the nodes. None of these should happen between nodes that keep to the rules.',
          unit: 'count',
          queries: [
            { expr: sum(ofNodes('accounting_disconnects_overdraw_count')), legend: 'overdraft' },
            { expr: sum(ofNodes('accounting_disconnects_ghost_overdraw_count')), legend: 'ghost overdraft' },
            { expr: sum(ofNodes('accounting_disconnects_enforce_refresh_count')), legend: 'refused refresh' },
          ],
        },
      ],
    },
    {
      title: 'Chain',
      panels: [
        {
          kind: 'series',
          title: 'Requests to the chain',
          about: 'By kind, all nodes together.',
          unit: 'requestsPerSecond',
          stacked: true,
          queries: Object.entries(CALLS).map(([name, legend]) => ({
            expr: perSecond(`eth_backend_calls_${name}`),
            legend,
          })),
        },
        {
          kind: 'series',
          title: 'Failed requests to the chain',
          about: 'All kinds together, by node.',
          unit: 'perSecond',
          queries: [{ expr: sum(rate(ofNodes('eth_backend_total_rpc_errors')), 'node'), legend: '{{node}}' }],
        },
        {
          kind: 'series',
          title: 'Events of batches',
          about: 'Postage events that nodes have applied. All nodes apply the same ones.',
          unit: 'count',
          queries: [
            { expr: sum(increase(ofNodes('postage_listener_events_processed')), 'node'), legend: '{{node}}' },
          ],
        },
      ],
    },
    {
      title: 'Storage game',
      panels: [
        {
          kind: 'series',
          title: 'Round',
          about: 'Round of the last block that each node has seen.',
          unit: 'count',
          queries: [byNode('storageincentives_round')],
        },
        {
          kind: 'series',
          title: 'Phase',
          about: 'Phase of the round: 1 commit, 2 reveal, 3 claim.',
          unit: 'count',
          queries: [byNode('storageincentives_current_phase')],
        },
        {
          kind: 'series',
          title: 'Rounds played',
          about: 'Rounds that nodes committed to, revealed in and won, since their start.',
          unit: 'count',
          queries: [
            { expr: sum(ofNodes('storageincentives_commit_phases')), legend: 'committed' },
            { expr: sum(ofNodes('storageincentives_reveal_phases')), legend: 'revealed' },
            { expr: sum(ofNodes('storageincentives_winner')), legend: 'won' },
          ],
        },
      ],
    },
  ],
};
