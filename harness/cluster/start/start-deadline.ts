import { runningTimer } from '../../../formats/clock.ts';
import { HarnessError } from '../../base/errors.ts';
import { formatMs } from '../../base/format.ts';
import { type Flavoured, flavourOf } from '../../flavours/table.ts';
import type { StartContext, StartProgress, StartStep } from './start-context.ts';

/** Limits of single steps: small machines start the nodes one after another. */
const BASE_TIMEOUT_MS = 30_000;
const TIMEOUT_PER_NODE_MS = 1500;

export interface StartDeadline {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: StartProgress) => void;
  readonly end: () => void;
}

export function startDeadline({ clock, timeoutMs, onProgress }: StartContext): StartDeadline {
  const controller = new AbortController();
  const running = new Map<StartStep, StartProgress>();
  const expire = (limitMs: number) => {
    const steps = [...running.values()].map(
      ({ step, detail, missing }) => `${step}: ${detail}${missing === undefined ? '' : `, ${missing}`}`,
    );
    controller.abort(
      new HarnessError(
        'START_TIMEOUT',
        `the cluster has not started within ${formatMs(limitMs)}: ${steps.length === 0 ? 'nothing has started yet' : steps.join('; ')}`,
        { hint: 'Give it more time with --timeout, or start fewer nodes.' },
      ),
    );
  };
  const timer = timeoutMs === undefined ? undefined : runningTimer(clock, timeoutMs, () => expire(timeoutMs));
  return {
    signal: controller.signal,
    onProgress(progress) {
      if (progress.done) running.delete(progress.step);
      else running.set(progress.step, progress);
      onProgress(progress);
    },
    end: () => timer?.[Symbol.dispose](),
  };
}

export function timeoutFor(nodes: number): number {
  return BASE_TIMEOUT_MS + nodes * TIMEOUT_PER_NODE_MS;
}

/** A node dialled before it listened waits for the next dial. */
export function meshTimeoutFor(nodes: readonly Flavoured[]): number {
  const redials = nodes.map((node) => flavourOf(node).redialMs ?? 0);
  return timeoutFor(nodes.length) + Math.max(0, ...redials);
}
