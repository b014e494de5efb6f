/** Begins each fault at its time or event, and heals it when its time is over. */
import { once } from 'node:events';
import type { Clock } from '../../../formats/clock.ts';
import { pause } from '../../base/wait.ts';
import type { Fault, FaultRequest } from '../../cluster/faults/fault.ts';
import { FAULT_KINDS } from '../../cluster/faults/table.ts';
import type { FaultTrigger, Milestone, ScheduledFault } from './schedule.ts';

/** Counts of the load so far. */
export type Progress = Readonly<Record<Milestone, number>>;

/** What a schedule acts on. */
export interface ScheduleDeps {
  readonly faults: {
    readonly clock: Clock;
    begin(request: FaultRequest): Promise<Fault>;
    heal(id: string): Promise<Fault[]>;
  };
  /** Faults of one name follow each other as due; those of departed nodes are dropped. */
  readonly targets: () => readonly string[];
  readonly progress: () => Progress;
  /** Called for each fault that has begun, and again when it has ended. */
  readonly onFault?: (fault: Fault) => void;
}

const POLL_MS = 5;

/**
 * @param signal ends the wait for later faults and heals the active ones; the promise waits for that
 * @throws HarnessError as `faults.begin` and `faults.heal` do; the others are healed first
 */
export async function runSchedule(
  schedule: readonly ScheduledFault[],
  { faults, targets, progress, onFault }: ScheduleDeps,
  signal: AbortSignal,
): Promise<void> {
  const { clock } = faults;
  const startedAt = clock.monotonic();
  const failed = new AbortController();
  const over = AbortSignal.any([signal, failed.signal]);
  const before = new Map<string, Promise<void>>();
  const seen = new Set(targets());

  const play = async ({ forMs, request }: ScheduledFault, earlier: readonly Promise<void>[]) => {
    await Promise.all(earlier);
    if (over.aborted) return;
    const there = targets();
    if (namesIn(request, [...seen]).some((name) => !there.includes(name))) return;
    const fault = await faults.begin(request);
    onFault?.(fault);
    if (fault.endAt !== undefined) return;
    if (forMs !== undefined) await pause(clock, forMs, over);
    else if (!over.aborted) await once(over, 'abort');
    for (const ended of await faults.heal(fault.id)) onFault?.(ended);
  };

  const played = schedule.map(async (fault) => {
    if (!(await isDue(fault.when, { clock, startedAt, progress, signal: over }))) return;
    // A fault queues once it is due: one that waits for an event holds up no other.
    for (const name of targets()) seen.add(name);
    const names = affected(fault.request, [...seen]);
    const earlier = names.flatMap((name) => before.get(name) ?? []);
    const work = play(fault, earlier);
    // The work itself reports what went wrong; later faults only wait for it.
    const settled = work.catch((error: unknown) => failed.abort(error));
    for (const name of names) before.set(name, settled);
    await work;
  });
  const outcomes = await Promise.allSettled(played);
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

interface Start {
  readonly clock: Clock;
  readonly startedAt: number;
  readonly progress: () => Progress;
  readonly signal: AbortSignal;
}

async function isDue(when: FaultTrigger, { clock, startedAt, progress, signal }: Start): Promise<boolean> {
  if ('atMs' in when) {
    await pause(clock, startedAt + when.atMs - clock.monotonic(), signal);
    return !signal.aborted;
  }
  while (progress()[when.of] < when.after) {
    await pause(clock, POLL_MS, signal);
    if (signal.aborted) return false;
  }
  await pause(clock, when.delayMs ?? 0, signal);
  return !signal.aborted;
}

/** A fault of machines that names none is one of all: it would meet one that another fault has taken away. */
function affected(request: FaultRequest, targets: readonly string[]): readonly string[] {
  const names = namesIn(request, targets);
  const layer = FAULT_KINDS.find(({ name }) => name === request.kind)?.layer;
  return names.length === 0 && layer === 'machine' ? targets : names;
}

export function namesIn(request: unknown, names: readonly string[]): string[] {
  if (typeof request === 'string') return names.includes(request) ? [request] : [];
  if (typeof request !== 'object' || request === null) return [];
  return [...new Set(Object.values(request).flatMap((value) => namesIn(value, names)))];
}
