import { HarnessError } from '../base/errors.ts';
import { loadScenario, scenarioTitle } from '../run/catalogue.ts';
import { findK6 } from '../run/load/k6/find-k6.ts';
import { loadPlan } from '../run/load/parameters.ts';
import { SCRIPT_NAMES } from '../run/load/scripts.ts';
import { parseThreshold } from '../run/load/thresholds.ts';
import { planScenarios } from '../run/runner.ts';
import type { CommandContext } from './context.ts';
import { load as takes } from './options/load.ts';
import { repeatLine } from './repeat-line.ts';
import { runPlanned, titleOf } from './run.ts';
import type { RunFlags } from './run-flags.ts';

/** Options of its cluster are those of `run`. */
export interface LoadFlags extends Omit<RunFlags, 'profile' | 'set' | 'repeat' | 'list'> {
  readonly script?: string;
  readonly profile?: string;
  readonly rate?: string;
  readonly vus?: number;
  readonly duration?: string;
  readonly warmup?: string;
  readonly sizes?: string;
  readonly mode?: string;
  readonly encrypt?: boolean;
  readonly redundancy?: number;
  readonly reads?: string;
  readonly objects?: number;
  readonly readShare?: number;
  readonly files?: number;
  readonly on?: string;
  readonly findLimit?: string;
  readonly threshold: readonly string[];
  readonly k6?: string;
}

const PARAMETERS = [
  ['profile', 'profile'],
  ['rate', 'rate'],
  ['vus', 'vus'],
  ['duration', 'duration'],
  ['warmup', 'warmup'],
  ['sizes', 'sizes'],
  ['mode', 'mode'],
  ['encrypt', 'encrypt'],
  ['redundancy', 'redundancy'],
  ['reads', 'reads'],
  ['objects', 'objects'],
  ['readShare', 'readShare'],
  ['files', 'files'],
  ['findLimit', 'findLimit'],
  ['on', 'node'],
  ['k6', 'k6'],
] as const satisfies readonly (readonly [keyof LoadFlags, string])[];

/**
 * @returns 99: only thresholds failed
 * @throws HarnessError `USAGE`, `BINARY_INVALID` before anything starts
 */
export async function load(
  name: string | undefined,
  flags: LoadFlags,
  context: CommandContext,
): Promise<number> {
  const script = scriptOf(name, flags);
  const scenario = await loadScenario('load');
  const given = new Map<string, string>([['script', script]]);
  for (const [flag, parameter] of PARAMETERS) {
    if (flags[flag] !== undefined) given.set(parameter, givenText(flag, String(flags[flag])));
  }
  // A list would hide an empty one.
  for (const text of flags.threshold.flatMap((list) => list.split(','))) parseThreshold(text);
  if (flags.threshold.length > 0) given.set('thresholds', flags.threshold.join(','));
  const planned = planScenarios([scenario], given);
  for (const { parameters } of planned) loadPlan(parameters as Parameters<typeof loadPlan>[0], 0n);
  await findK6(flags.k6);
  const { profile: _profile, ...others } = flags;
  const words = ['load', ...(name === undefined ? [] : [name])];
  const command = (seed: bigint) => repeatLine(words, takes.options ?? {}, { ...flags, seed });
  const title = titleOf([`load-${flags.script === undefined ? script : scenarioTitle(script)}`]);
  return runPlanned({ planned, title, command }, { ...others, set: [] }, context);
}

/** An unset variable of the shell is an empty text, which would set nothing. */
function givenText(flag: string, text: string): string {
  if (text !== '') return text;
  const name = flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new HarnessError(
    'USAGE',
    `--${name}: got '', expected a value; leave the option out for its default`,
  );
}

function scriptOf(name: string | undefined, { script }: LoadFlags): string {
  if (script !== undefined && name !== undefined) {
    throw new HarnessError('USAGE', `'${name}' and --script ${script}: expected only one of them`);
  }
  // A bare file name is a path, too.
  if (script !== undefined) return /[/\\]/.test(script) ? script : `./${script}`;
  if (name !== undefined) return name;
  throw new HarnessError(
    'USAGE',
    `no load given, expected one of ${SCRIPT_NAMES.join(', ')}, or a file with --script`,
  );
}
