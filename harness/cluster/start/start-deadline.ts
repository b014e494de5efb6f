/**
 * The time limit of a whole start: when it expires, the error says which steps were in progress and what was
 * missing.
 */
import { HarnessError } from '../../base/errors.ts';
import { formatMs } from '../../base/format.ts';
import type { StartContext, StartProgress, StartStep } from './start-context.ts';

export interface StartDeadline {
  /** Aborts with the error. */
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
        `the cluster has not started within ${formatMs(limitMs)}: ${steps.length === 0 ? 'nothing has begun yet' : steps.join('; ')}`,
        { hint: 'Give it more time with --timeout, or start fewer nodes.' },
      ),
    );
  };
  const timer = timeoutMs === undefined ? undefined : clock.timer(timeoutMs, () => expire(timeoutMs));
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
