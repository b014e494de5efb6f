import type { MetricTable } from '../../env/metrics.ts';

export const PRICING_METRICS = {
  received: {
    kind: 'counter',
    name: 'pricing_thresholds_received_total',
    help: 'Thresholds announced by peers.',
  },
  tooLow: {
    kind: 'counter',
    name: 'pricing_thresholds_too_low_total',
    help: 'Peers disconnected for their threshold.',
  },
  tooMany: {
    kind: 'counter',
    name: 'pricing_thresholds_too_many_total',
    help: 'Peers disconnected for announcing thresholds too often.',
  },
} as const satisfies MetricTable;
