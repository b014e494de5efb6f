import { EXIT, HarnessError } from '../base/errors.ts';
import { inLine, LONG_LINE_MAX } from '../base/foreign-text.ts';
import { DRIVER_FACTS, type DriverName } from '../places/facts.ts';
import { type ConsoleStyle, paint, renderRun } from '../report/console.ts';
import type { DeterminismCheck, RunResult } from '../report/result.ts';
import { firstDifference } from '../run/replay/determinism.ts';
import { answer, type CommandContext } from './context.ts';

/** @throws HarnessError `USAGE` */
export function expectRepeatable(driver: DriverName): void {
  if (DRIVER_FACTS[driver].simulated) return;
  throw new HarnessError(
    'USAGE',
    `--check-determinism: got driver ${driver}, expected driver simulated: elsewhere no run is repeated to the last frame`,
  );
}

/**
 * @param once reports to this folder
 * @returns exit code: a difference is a finding, like a false condition
 */
export async function runTwice(
  once: (folder: string) => Promise<RunResult>,
  context: CommandContext,
): Promise<number> {
  const runs = [await once('first'), await once('second')] as const;
  const difference = firstDifference(...runs) ?? null;
  const passed = difference === null && runs.every((run) => run.passed);
  const check: DeterminismCheck = { passed, difference, runs };
  answer(context, check, [
    ...renderRun(runs[0], context.style).split('\n'),
    ...renderDifference(check, context.style),
  ]);
  return passed ? EXIT.success : EXIT.checkFailed;
}

function renderDifference({ difference, runs: [{ seed }] }: DeterminismCheck, style: ConsoleStyle): string[] {
  if (difference === null) return [`  ${paint(style, 'green', '✔')} two runs of seed ${seed} are equal`, ''];
  const { what, first, second } = difference;
  return [
    `  ${paint(style, 'red', '✖')} two runs of seed ${seed} differ: ${what}`,
    `      first     ${inLine(first, LONG_LINE_MAX)}`,
    `      second    ${inLine(second, LONG_LINE_MAX)}`,
    '',
  ];
}
