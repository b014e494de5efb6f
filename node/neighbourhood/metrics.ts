import type { MetricTable } from '../env/metrics.ts';

export const WARMUP_METRICS = {
  duration: {
    kind: 'histogram',
    name: 'init_warmup_duration_seconds',
    help: 'Time from the start of the node to the end of its warm-up.',
    buckets: [0.1, 0.5, 1, 5, 10, 20, 30, 60, 120, 300],
  },
} as const satisfies MetricTable;

/** `node-behaviour.md` 12, group localstore. */
export const RESERVE_METRICS = {
  size: { kind: 'gauge', name: 'localstore_reserve_size', help: 'Chunks in the reserve, per stamp.' },
  withinRadius: {
    kind: 'gauge',
    name: 'localstore_reserve_size_within_radius',
    help: 'Chunks in the reserve within the storage radius, per stamp.',
  },
  radius: { kind: 'gauge', name: 'localstore_storage_radius', help: 'Storage radius.' },
  evicted: {
    kind: 'counter',
    name: 'localstore_evicted_count',
    help: 'Chunks evicted because the reserve was over capacity.',
  },
  expired: {
    kind: 'counter',
    name: 'localstore_expired_count',
    help: 'Chunks evicted because their batch had expired.',
  },
  expiredBatches: {
    kind: 'counter',
    name: 'localstore_expired_batch_count',
    help: 'Expired batches with chunks in the reserve.',
  },
  overCapacity: {
    kind: 'counter',
    name: 'localstore_over_cap_trigger_count',
    help: 'Evictions that brought the reserve back to its capacity.',
  },
  missing: {
    kind: 'gauge',
    name: 'localstore_reserve_missing_batch',
    help: 'Chunks without a batch at the latest check.',
  },
} as const satisfies MetricTable;

export const HAND_OVER_METRICS = {
  handedOver: {
    kind: 'counter',
    name: 'localstore_handed_over_count',
    help: 'Chunks below the radius evicted because responsible nodes hold them: held already, or pushed.',
    labels: ['how'],
  },
  refused: {
    kind: 'counter',
    name: 'localstore_hand_over_refused_count',
    help: 'Chunks below the radius that no responsible node accepted.',
  },
} as const satisfies MetricTable;

/** `node-behaviour.md` 12. */
export const PULLER_METRICS = {
  fullSync: {
    kind: 'histogram',
    name: 'init_full_sync_duration_minutes',
    help: 'Time from the end of the warm-up to the end of the first historical pull syncing.',
    buckets: [0.01, 0.1, 1, 5, 15, 30, 60, 120, 240, 480],
  },
  worker: {
    kind: 'gauge',
    name: 'puller_worker',
    help: 'Bins being pulled, historical and live counted separately.',
  },
  iterations: { kind: 'counter', name: 'puller_worker_iterations', help: 'Pages requested.' },
  errors: {
    kind: 'counter',
    name: 'puller_worker_errors',
    help: 'Pages that failed, completely or in part.',
  },
  maxUintErrors: {
    kind: 'counter',
    name: 'puller_max_uint_errors',
    help: 'Pages of peers whose bin ids are exhausted.',
  },
  synced: {
    kind: 'counter',
    name: 'puller_synced_chunks',
    help: 'Chunks pulled: historical, which the peer had when it connected, or live.',
    labels: ['type'],
  },
} as const satisfies MetricTable;

/** `node-behaviour.md` 12, group salud. */
export const SALUD_METRICS = {
  networkRadius: {
    kind: 'gauge',
    name: 'salud_network_radius',
    help: 'Most frequent depth of the full peers.',
  },
  neighbourhoodRadius: {
    kind: 'gauge',
    name: 'salud_neighborhood_radius',
    help: 'Most frequent depth of the neighbours.',
  },
  commitment: {
    kind: 'gauge',
    name: 'salud_batch_commitment',
    help: 'Most frequent batch commitment of the full peers.',
  },
  duration: { kind: 'gauge', name: 'salud_dur', help: 'Mean response time of peers, seconds.' },
  durationMax: {
    kind: 'gauge',
    name: 'salud_pdur',
    help: 'Longest response time of a healthy peer, seconds.',
  },
  connectionsMin: {
    kind: 'gauge',
    name: 'salud_pconns',
    help: 'Smallest number of connections of a healthy peer.',
  },
  neighbourhoodDuration: {
    kind: 'gauge',
    name: 'salud_neighborhood_dur',
    help: 'Mean response time of neighbours, seconds.',
  },
  reserveError: {
    kind: 'gauge',
    name: 'salud_reserve_size_percentage_err',
    help: "Deviation of this node's reserve within the radius from the neighbours' mean, percent of the mean.",
  },
  neighbours: { kind: 'gauge', name: 'salud_neighbors', help: 'Neighbours that answered.' },
  healthy: { kind: 'counter', name: 'salud_healthy', help: 'Peers rated healthy.' },
  unhealthy: { kind: 'counter', name: 'salud_unhealthy', help: 'Peers rated unhealthy.' },
} as const satisfies MetricTable;
