/** What a page shows: a cluster that is asked, or one in virtual time. */
import type { DriverName } from '../../places/facts.ts';
import {
  type ClusterView,
  type Delta,
  type LogAnswer,
  PACE_RATES,
  type Snapshot,
} from '../../web/picture/live.ts';

export interface Told {
  readonly tell: (delta: Delta) => void;
  readonly renewed: () => void;
}

export interface Watcher {
  readonly snapshot: Snapshot | undefined;
  watch(isWatched: boolean): void;
  /** @throws HarnessError `NODE_NOT_FOUND` */
  log(part: string, after: string | undefined): Promise<LogAnswer>;
  /** What a person asks for; absent: the page only looks. @returns false: unknown */
  readonly control?: (action: string) => boolean;
  close(): Promise<void>;
}

export function firstView(
  {
    name,
    driver,
    seed,
    startedAt,
  }: {
    readonly name: string;
    readonly driver: DriverName;
    readonly seed?: bigint | undefined;
    readonly startedAt: number;
  },
  how: Pick<ClusterView, 'hasChain' | 'logged' | 'intervalMs' | 'chunkSight' | 'isAsked'>,
): ClusterView {
  return {
    name,
    driver,
    seed: seed === undefined ? null : String(seed),
    startedAt,
    phase: 'here',
    height: null,
    lookedAt: null,
    record: null,
    ...how,
  };
}

/** @returns the pace, its rate undefined: as fast as possible; undefined: another action */
export function paceIn(action: string): { readonly rate: number | undefined } | undefined {
  if (action === 'pace-fast') return { rate: undefined };
  const rate = PACE_RATES.find((one) => action === `pace-${one}`);
  return rate === undefined ? undefined : { rate };
}
