import { inLine } from '../foreign-text.ts';
import { formatMs } from '../format.ts';
import { MACHINE_CLOCK } from '../machine/clock.ts';
import { every } from '../wait.ts';

const NAME_WIDTH = 10;
const DETAIL_WIDTH = 36;
const TELL_MS = 5000;

export interface StepNews {
  readonly step: string;
  readonly done: boolean;
  readonly detail: string;
  /** Duration of the step, when it is done. */
  readonly ms?: number;
}

export interface ProgressView {
  update(news: StepNews): void;
  end(): Promise<void>;
}

function progressLine(progress: StepNews): string {
  const time = progress.ms === undefined ? '' : formatMs(progress.ms).padStart(8);
  return `${progress.step.padEnd(NAME_WIDTH)}${inLine(progress.detail).padEnd(DETAIL_WIDTH)}${time}`.trimEnd();
}

export function lineProgress(write: (text: string) => void): ProgressView {
  const underWay = new Map<string, { news: StepNews; sinceMs: number }>();
  const timer = every(MACHINE_CLOCK, TELL_MS, () => {
    const nowMs = MACHINE_CLOCK.monotonic();
    for (const { news, sinceMs } of underWay.values())
      write(`  … ${progressLine({ ...news, ms: nowMs - sinceMs })}\n`);
  });
  return {
    update(news) {
      const sinceMs = underWay.get(news.step)?.sinceMs ?? MACHINE_CLOCK.monotonic();
      if (!news.done) {
        underWay.set(news.step, { news, sinceMs });
        return;
      }
      underWay.delete(news.step);
      write(`  ✔ ${progressLine(news)}\n`);
    },
    end: () => Promise.resolve(timer[Symbol.dispose]()),
  };
}

export async function liveProgress(steps: readonly string[]): Promise<ProgressView> {
  const { Listr } = await import('listr2');
  const finished = new Map(steps.map((step) => [step, Promise.withResolvers<void>()]));
  // The list awaits steps in order; nobody awaits later ones.
  for (const { promise } of finished.values()) void promise.catch(() => 'told elsewhere');
  const shown = new Map<string, { title: string }>();
  const latest = new Map<string, StepNews>();
  const list = new Listr(
    steps.map((step) => ({
      title: step,
      task: async (_context: unknown, task: { title: string }) => {
        shown.set(step, task);
        show(step);
        await finished.get(step)?.promise;
      },
    })),
    {
      exitOnError: true,
      registerSignalListeners: false,
      rendererOptions: { formatOutput: 'truncate', indentation: 2, showErrorMessage: false },
    },
  );
  const running = list.run();

  function show(step: string): void {
    const task = shown.get(step);
    const progress = latest.get(step);
    if (task !== undefined && progress !== undefined) task.title = progressLine(progress);
  }

  return {
    update(progress) {
      latest.set(progress.step, progress);
      show(progress.step);
      if (progress.done) finished.get(progress.step)?.resolve();
    },
    async end() {
      // Steps not done by now never will be; the error is reported elsewhere.
      for (const { reject } of finished.values()) reject(new Error('not finished'));
      await running.catch(() => 'told elsewhere');
    },
  };
}
