import type { CommandOptions } from './spec.ts';
import { JSON_OPTION } from './values.ts';

export const report: CommandOptions = {
  arguments: ["folder of the run, its name, or 'last'"],
  options: {
    '--baseline <run>': 'earlier run to compare the headline figures with',
    '--open': 'open the page in the browser',
    ...JSON_OPTION,
  },
  note: `
Examples:
  svcnet report last --open
  svcnet report .svcnet/runs/nightly --baseline last`,
};
