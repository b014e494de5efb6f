import type { MetricTable } from '../env/metrics.ts';

/** `node-behaviour.md` 12. */
export const NODE_METRICS = {
  info: { kind: 'gauge', name: 'info', help: 'Version of the node; always 1.', labels: ['version'] },
  cacheSize: {
    kind: 'gauge',
    name: 'localstore_cache_size',
    help: 'Chunks in the cache.',
  },
  diskFull: {
    kind: 'gauge',
    name: 'localstore_disk_full',
    help: '1 while the disk is full and the node stores nothing, otherwise 0.',
  },
  chunksDamaged: {
    kind: 'counter',
    name: 'localstore_damaged_count',
    help: 'Stored chunks found to be damaged.',
  },
  chunksHealed: {
    kind: 'counter',
    name: 'localstore_healed_count',
    help: 'Damaged chunks repaired.',
  },
} as const satisfies MetricTable;

export const WORKER_METRICS = {
  threads: {
    kind: 'gauge',
    name: 'workers_threads',
    help: 'Worker threads ready to hash and sign uploads.',
  },
  operations: {
    kind: 'counter',
    name: 'workers_operations_count',
    help: 'Hashes and signatures computed by worker threads.',
  },
} as const satisfies MetricTable;

export const LOG_METRICS = {
  error: {
    kind: 'counter',
    name: 'log_error_count',
    help: 'Log lines at level error: the operator must act.',
  },
  warn: {
    kind: 'counter',
    name: 'log_warn_count',
    help: 'Log lines at level warn: the operator may need to act.',
  },
  info: { kind: 'counter', name: 'log_info_count', help: 'Log lines at level info: rare changes of state.' },
  debug: { kind: 'counter', name: 'log_debug_count', help: 'Log lines at level debug: single requests.' },
  trace: { kind: 'counter', name: 'log_trace_count', help: 'Always 0: there is no level below debug.' },
} as const satisfies MetricTable;
