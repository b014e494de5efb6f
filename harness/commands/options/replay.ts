import { whole } from '../../cluster/plan/options/flag.ts';
import { clusterOptions } from './cluster.ts';
import type { CommandOptions } from './spec.ts';
import { JSON_OPTION, limit } from './values.ts';

const TIMES_MAX = 10_000;
const ATTEMPTS = { default: 60, max: 10_000 } as const;
/** Of one minimised run. */
export const BUDGET = { defaultMs: 1_800_000, text: '30m' } as const;

export const replay: CommandOptions = {
  arguments: ["folder of the run, its name, or 'last'"],
  options: {
    '--times <count>': { help: 'number of runs', parse: whole(1, TIMES_MAX), default: 1 },
    ...clusterOptions(['trust']),
    ...JSON_OPTION,
  },
  note: `
Two failures are the same when the same condition of the same scenario is false, or the same kind of error
ended the scenario.
Exits with 2 when the run cannot be repeated on this machine. Example:
  svcnet replay last --times 10`,
};

export const minimise: CommandOptions = {
  arguments: ["folder of a failed run, its name, or 'last'"],
  options: {
    '--attempts <count>': {
      help: 'total number of runs',
      parse: whole(1, ATTEMPTS.max),
      default: ATTEMPTS.default,
    },
    '--budget <duration>': {
      help: 'total time',
      parse: limit,
      default: BUDGET.defaultMs,
      shown: BUDGET.text,
    },
    '--out <folder>': "folder for the smallest run (default: minimised, in the run's folder)",
    ...clusterOptions(['trust']),
    ...JSON_OPTION,
  },
  note: `
Ctrl-C keeps the smallest run so far. Run the resulting file with svcnet run FILE.`,
};
