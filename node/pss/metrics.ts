import type { MetricTable } from '../env/metrics.ts';

/** `node-behaviour.md` 12. */
export const PSS_METRICS = {
  sent: { kind: 'counter', name: 'pss_total_message_sent', help: 'Messages to send.' },
  mining: {
    kind: 'gauge',
    name: 'pss_mining_duration',
    help: 'Time to seal, mine and stamp the last message, seconds.',
  },
} as const satisfies MetricTable;
