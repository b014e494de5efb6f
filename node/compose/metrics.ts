import type { MetricTable } from '../env/metrics.ts';

/** `node-behaviour.md` 12: what a node says of itself as a whole. */
export const NODE_METRICS = {
  info: { kind: 'gauge', name: 'info', help: 'Version of the node; always 1.', labels: ['version'] },
  cacheSize: {
    kind: 'gauge',
    name: 'localstore_cache_size',
    help: 'Chunks that are kept for repeated reads.',
  },
  diskFull: {
    kind: 'gauge',
    name: 'localstore_disk_full',
    help: '1 while the disk is full and the node stores nothing, else 0.',
  },
  chunksDamaged: {
    kind: 'counter',
    name: 'localstore_damaged_count',
    help: 'Stored chunks whose bytes were found to be wrong.',
  },
  chunksHealed: {
    kind: 'counter',
    name: 'localstore_healed_count',
    help: 'Damaged chunks that have been written again.',
  },
} as const satisfies MetricTable;

/** Lines of the log by level, those below the verbosity left out. */
export const LOG_METRICS = {
  error: { kind: 'counter', name: 'log_error_count', help: 'Lines logged: the operator must act.' },
  warn: { kind: 'counter', name: 'log_warn_count', help: 'Lines logged: the operator may need to act.' },
  info: { kind: 'counter', name: 'log_info_count', help: 'Lines logged: rare changes of state.' },
  debug: { kind: 'counter', name: 'log_debug_count', help: 'Lines logged: single requests.' },
  trace: { kind: 'counter', name: 'log_trace_count', help: 'Lines logged: none is finer than debug, so 0.' },
} as const satisfies MetricTable;
