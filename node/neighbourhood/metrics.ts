import type { MetricTable } from '../env/metrics.ts';

export const WARMUP_METRICS = {
  duration: {
    kind: 'histogram',
    name: 'init_warmup_duration_seconds',
    help: 'From the start of the node to the end of its warm-up.',
    buckets: [0.1, 0.5, 1, 5, 10, 20, 30, 60, 120, 300],
  },
} as const satisfies MetricTable;
