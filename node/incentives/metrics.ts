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
    help: 'Time that the last sample of a round took, seconds.',
  },
  commits: { kind: 'counter', name: 'storageincentives_commit_phases', help: 'Rounds committed to.' },
  reveals: { kind: 'counter', name: 'storageincentives_reveal_phases', help: 'Rounds revealed in.' },
  claims: {
    kind: 'counter',
    name: 'storageincentives_claim_phases',
    help: 'Rounds in which there was something to win.',
  },
  won: { kind: 'counter', name: 'storageincentives_winner', help: 'Rounds won.' },
  selected: {
    kind: 'counter',
    name: 'storageincentives_neighborhood_selected',
    help: 'Rounds for which the anchor chose the neighbourhood.',
  },
  withoutFunds: {
    kind: 'counter',
    name: 'storageincentives_insufficient_funds_to_play',
    help: 'Rounds not played for lack of native coin.',
  },
  commitErrors: {
    kind: 'counter',
    name: 'storageincentives_commit_phase_errors',
    help: 'Attempts to commit that failed.',
  },
  revealErrors: {
    kind: 'counter',
    name: 'storageincentives_reveal_phase_errors',
    help: 'Attempts to reveal that failed.',
  },
  claimErrors: {
    kind: 'counter',
    name: 'storageincentives_claim_phase_errors',
    help: 'Attempts to claim that failed.',
  },
  winErrors: {
    kind: 'counter',
    name: 'storageincentives_win_phase_errors',
    help: 'Questions for the winner that failed.',
  },
  playingErrors: {
    kind: 'counter',
    name: 'storageincentives_is_playing_errors',
    help: 'Questions for the neighbourhood of the next round that failed.',
  },
  backendCalls: {
    kind: 'counter',
    name: 'storageincentives_backend_calls',
    help: 'Looks at blocks of the chain.',
  },
  backendErrors: {
    kind: 'counter',
    name: 'storageincentives_backend_errors',
    help: 'Looks at blocks of the chain that failed.',
  },
} as const satisfies MetricTable;

/** `node-behaviour.md` 12, what group localstore says of samples. */
export const SAMPLE_METRICS = {
  duration: {
    kind: 'histogram',
    name: 'localstore_reserve_sample_duration_seconds',
    help: 'Time that samples of the reserve took.',
    labels: ['status'],
    buckets: [0.01, 0.1, 1, 5, 10, 30, 60, 120, 300, 600],
  },
} as const satisfies MetricTable;
