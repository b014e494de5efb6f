import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { EXIT, HarnessError } from '../base/errors.ts';
import { oneLine } from '../base/foreign-text.ts';
import { markedPath } from '../cluster/state/state-folder.ts';
import { newRunFolder, runMoment } from '../report/new-run-folder.ts';
import { findRun } from '../report/read-run.ts';
import { readRecipe } from '../run/recipe.ts';
import { minimiseLines, minimise as minimiseRun, progressText } from '../run/replay/minimise.ts';
import { ENDING_TEXTS, replayLines, replay as replayRun } from '../run/replay/replay.ts';
import { expectTrustedRun } from '../run/replay/trust.ts';
import { answer, type CommandContext } from './context.ts';

export interface ReplayFlags {
  readonly trust?: boolean;
  readonly times: number;
}

export interface MinimiseFlags {
  readonly trust?: boolean;
  readonly attempts: number;
  /** Milliseconds. */
  readonly budget: number;
  readonly out?: string;
}

/** @returns failed the same way, never did, or could not run */
export async function replay(
  name: string,
  { times, trust }: ReplayFlags,
  context: CommandContext,
): Promise<number> {
  const { stateDir, signal } = context;
  const folder = findRun(name, stateDir);
  // Before a new folder becomes the last run.
  expectTrustedRun({ folder, recipe: readRecipe(folder), trust });
  const document = await replayRun({
    folder,
    times,
    trust,
    reports: newRunFolder(markedPath(stateDir, 'runs'), `${runMoment()}-replay`),
    stateDir,
    signal,
    onRun({ ending, report, signatures, error }, number) {
      const why = error ?? (ending === 'otherwise' ? signatures[0] : undefined);
      context.note(
        `${oneLine(`  ${number} of ${times}  ${ENDING_TEXTS[ending]}${why === undefined ? '' : `: ${why}`}  ${report}`)}\n`,
      );
    },
  });
  answer(context, document, replayLines(document));
  const { counts } = document;
  if (counts['not-run'] === times) return EXIT.usage;
  return counts.same > 0 ? EXIT.checkFailed : EXIT.success;
}

/** @returns success, or interrupted with the best so far */
export async function minimise(name: string, flags: MinimiseFlags, context: CommandContext): Promise<number> {
  const { stateDir, signal } = context;
  const folder = findRun(name, stateDir);
  const out = resolve(flags.out ?? join(folder, 'minimised'));
  if (existsSync(out) && readdirSync(out).length > 0) {
    throw new HarnessError('CANNOT_WRITE', `${out} is not empty`, {
      hint: 'Choose an empty folder with --out.',
    });
  }
  const document = await minimiseRun({
    folder,
    out,
    attempts: flags.attempts,
    trust: flags.trust,
    budgetMs: flags.budget,
    stateDir,
    signal,
    onProgress: (progress) => context.note(`  ${progressText(progress)}\n`),
  });
  answer(context, document, minimiseLines(document));
  return document.stopped === 'interrupted' ? EXIT.interrupted : EXIT.success;
}
