import type { MetricTable } from '../env/metrics.ts';

/** `node-behaviour.md` 12, group chain. */
export const ONCHAIN_METRICS = {
  calls: { kind: 'counter', name: 'eth_backend_total_rpc_calls', help: 'Requests to the chain endpoint.' },
  errors: {
    kind: 'counter',
    name: 'eth_backend_total_rpc_errors',
    help: 'Requests to the chain endpoint that ended in an error.',
  },
} as const satisfies MetricTable;
