/** What a page shows, whatever it comes from: a cluster that is asked, or one in virtual time. */
import type { DriverName } from '../../places/facts.ts';
import {
  type ClusterView,
  type Delta,
  type LogAnswer,
  PACE_RATES,
  type Snapshot,
} from '../../web/picture/live.ts';

/** Where a watcher tells its changes. */
export interface Told {
  readonly tell: (delta: Delta) => void;
  /** The snapshot is another one, in a way that no delta tells. */
  readonly renewed: () => void;
}

export interface Watcher {
  /** Undefined: there is nothing to see yet. */
  readonly snapshot: Snapshot | undefined;
  /** Whether any page is open. */
  watch(isWatched: boolean): void;
  /** @throws HarnessError `NODE_NOT_FOUND` */
  log(part: string, after: string | undefined): Promise<LogAnswer>;
  /** What a person has asked for on the page; absent: the page only looks. @returns false when it is unknown */
  readonly control?: (action: string) => boolean;
  close(): Promise<void>;
}

/** A cluster of which nothing is known yet but what it is, and how it is watched. */
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

/** @returns the pace that is asked for, its rate undefined: as fast as possible; undefined: it asks for something else */
export function paceIn(action: string): { readonly rate: number | undefined } | undefined {
  if (action === 'pace-fast') return { rate: undefined };
  const rate = PACE_RATES.find((one) => action === `pace-${one}`);
  return rate === undefined ? undefined : { rate };
}
