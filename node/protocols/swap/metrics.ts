import type { MetricTable } from '../../env/metrics.ts';

/** `node-behaviour.md` 12. */
export const SWAP_METRICS = {
  receivedAmount: {
    kind: 'counter',
    name: 'swap_total_received',
    help: 'Payout of cheques received, base units of the token.',
  },
  sentAmount: {
    kind: 'counter',
    name: 'swap_total_sent',
    help: 'Debt paid by cheques, accounting units.',
  },
  received: { kind: 'counter', name: 'swap_cheques_received', help: 'Cheques received and accepted.' },
  sent: { kind: 'counter', name: 'swap_cheques_sent', help: 'Cheques sent.' },
  rejected: { kind: 'counter', name: 'swap_cheques_rejected', help: 'Cheques received and refused.' },
  availableBalance: {
    kind: 'gauge',
    name: 'swap_available_balance',
    help: 'Uncommitted balance of the chequebook after the latest cheque sent, base units.',
  },
} as const satisfies MetricTable;
