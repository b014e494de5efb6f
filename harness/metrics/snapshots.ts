import type { Clock } from '../../formats/clock.ts';
import { messageOf } from '../base/errors.ts';
import { allAtMost } from '../base/wait.ts';
import { parseExposition } from './exposition.ts';
import type { ScrapedNode } from './scraper.ts';
import type { MetricsSnapshot } from './summary.ts';

const AT_ONCE = 8;

export interface SnapshotRound {
  readonly snapshots: readonly MetricsSnapshot[];
  /** Without an answer → reason. */
  readonly silent: Readonly<Record<string, string>>;
}

export interface SnapshotLimits {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Of each node's request. */
  readonly limitMs: number;
}

export async function readSnapshots(
  nodes: readonly Pick<ScrapedNode, 'name' | 'client'>[],
  { clock, signal, limitMs }: SnapshotLimits,
): Promise<SnapshotRound> {
  const silent: Record<string, string> = {};
  const snapshots = await allAtMost(
    AT_ONCE,
    nodes.map(({ name, client }) => async () => {
      try {
        using limit = clock.deadline(limitMs, signal);
        const text = await client.metrics(limit.signal);
        return [{ node: name, exposition: parseExposition(text), atMs: clock.monotonic() }];
      } catch (error) {
        silent[name] = messageOf(error);
        return [];
      }
    }),
  );
  return { snapshots: snapshots.flat(), silent };
}
