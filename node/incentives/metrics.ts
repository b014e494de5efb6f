import type { MetricTable } from '../env/metrics.ts';

/** `node-behaviour.md` 12, group incentives. */
export const GAME_METRICS = {
  phase: {
    kind: 'gauge',
    name: 'storageincentives_current_phase',
    help: 'Phase of the round: 1 commit, 2 reveal, 3 claim.',
  },
  round: { kind: 'gauge', name: 'storageincentives_round', help: 'Round of the last block seen.' },
  sampleDuration: {
    kind: 'gauge',
    name: 'storageincentives_reserve_sample_duration',
    help: 'Duration of the latest reserve sample for a round, seconds.',
  },
  commits: {
    kind: 'counter',
    name: 'storageincentives_commit_phases',
    help: 'Rounds with a commit of this node.',
  },
  reveals: {
    kind: 'counter',
    name: 'storageincentives_reveal_phases',
    help: 'Rounds with a reveal of this node.',
  },
  claims: {
    kind: 'counter',
    name: 'storageincentives_claim_phases',
    help: 'Rounds with a reward to win.',
  },
  won: { kind: 'counter', name: 'storageincentives_winner', help: 'Rounds won.' },
  selected: {
    kind: 'counter',
    name: 'storageincentives_neighborhood_selected',
    help: 'Rounds in which the anchor selected the neighbourhood of this node.',
  },
  withoutFunds: {
    kind: 'counter',
    name: 'storageincentives_insufficient_funds_to_play',
    help: 'Rounds skipped for lack of native coins.',
  },
  commitErrors: {
    kind: 'counter',
    name: 'storageincentives_commit_phase_errors',
    help: 'Commits that failed.',
  },
  revealErrors: {
    kind: 'counter',
    name: 'storageincentives_reveal_phase_errors',
    help: 'Reveals that failed.',
  },
  claimErrors: {
    kind: 'counter',
    name: 'storageincentives_claim_phase_errors',
    help: 'Claims that failed.',
  },
  winErrors: {
    kind: 'counter',
    name: 'storageincentives_win_phase_errors',
    help: 'Queries for the winner that failed.',
  },
  playingErrors: {
    kind: 'counter',
    name: 'storageincentives_is_playing_errors',
    help: 'Queries for the neighbourhood of the next round that failed.',
  },
  backendCalls: {
    kind: 'counter',
    name: 'storageincentives_backend_calls',
    help: 'Block queries to the chain.',
  },
  backendErrors: {
    kind: 'counter',
    name: 'storageincentives_backend_errors',
    help: 'Block queries to the chain that failed.',
  },
} as const satisfies MetricTable;

/** `node-behaviour.md` 12, group localstore. */
export const SAMPLE_METRICS = {
  duration: {
    kind: 'histogram',
    name: 'localstore_reserve_sample_duration_seconds',
    help: 'Duration of reserve samples.',
    labels: ['status'],
    buckets: [0.01, 0.1, 1, 5, 10, 30, 60, 120, 300, 600],
  },
} as const satisfies MetricTable;
