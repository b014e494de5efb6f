import { EXIT, HarnessError } from '../base/errors.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import type { DialectName } from '../client/dialect.ts';
import { type ChainFlags, chainConformance } from '../conformance/chain/conformance.ts';
import { expectReportFolder, readReport, writePage, writeReport } from '../conformance/files.ts';
import { chosenRows, type Graded, grade } from '../conformance/grade.ts';
import { type HttpOptions, httpConformance } from '../conformance/http/conformance.ts';
import { spokenDialect } from '../conformance/http/probe-target.ts';
import { matrixLines } from '../conformance/matrix.ts';
import { publishedMatrix } from '../conformance/published.ts';
import { isRed, type Level } from '../conformance/row.ts';
import { type WireFlags, wireConformance } from '../conformance/wire/conformance.ts';
import { answer, type CommandContext } from './context.ts';

export interface ConformanceFlags {
  readonly level: Level;
  readonly only?: string;
  readonly list?: boolean;
  readonly output?: string;
}

/** @param flags.dialect default: detected */
export async function conformanceHttp(
  flags: ConformanceFlags & Omit<HttpOptions, 'dialect'> & { readonly dialect?: DialectName },
  context: CommandContext,
): Promise<number> {
  const {
    dialect = flags.list === true
      ? 'svc'
      : await spokenDialect(flags, { clock: MACHINE_CLOCK, signal: context.signal }),
  } = flags;
  return conformance(httpConformance({ ...flags, dialect }), flags, context);
}

export function conformanceWire(
  flags: ConformanceFlags & WireFlags,
  context: CommandContext,
): Promise<number> {
  return conformance(wireConformance(flags), flags, context);
}

export function conformanceChain(
  flags: ConformanceFlags & ChainFlags,
  context: CommandContext,
): Promise<number> {
  return conformance(chainConformance(flags), flags, context);
}

/** @param named `TITLE=conformance.json` @throws HarnessError for a file that is no report */
export function conformanceMatrix(
  named: readonly string[],
  { output }: { readonly output?: string },
  context: CommandContext,
): Promise<void> {
  const columns = named.map((text) => {
    const [, title = '', path = ''] = /^([^=]+)=(.+)$/.exec(text) ?? [];
    if (path === '')
      throw new HarnessError(
        'USAGE',
        `${text}: expected a title and a report, for example ours=report/conformance.json`,
      );
    return { title, report: readReport(path) };
  });
  const page = publishedMatrix(columns);
  if (output === undefined) context.out(page);
  else writePage(output, page);
  return Promise.resolve();
}

/** @returns failed check: a row is red */
async function conformance<Subject>(
  graded: Graded<Subject>,
  { level, only, list, output }: ConformanceFlags,
  context: CommandContext,
): Promise<number> {
  const rows = chosenRows(graded, only);
  if (list === true) {
    const listed = rows.map(({ id, group, about, level }) => ({ id, group, about, level }));
    answer(
      context,
      listed,
      listed.map((row) => `${row.level.padEnd(5)}  ${row.id}: ${row.about}`),
    );
    return EXIT.success;
  }
  if (output !== undefined) expectReportFolder(output);
  const { signal, style, width } = context;
  const report = await grade(
    { ...graded, rows },
    {
      clock: MACHINE_CLOCK,
      level,
      signal,
      onResult: (result, done, total) => {
        if (isRed(result)) context.note(`${done}/${total} ${result.verdict}  ${result.id}\n`);
      },
    },
  );
  if (output !== undefined) writeReport(output, report);
  answer(context, report, [
    ...matrixLines(report, style, width),
    ...(output === undefined ? [] : [`report: ${output}`]),
  ]);
  if (signal.aborted) return EXIT.interrupted;
  return report.rows.some(isRed) ? EXIT.checkFailed : EXIT.success;
}
