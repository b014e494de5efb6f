/** What a command takes, as data for the parser and for the line that repeats a run. */
import type { FlagSpec } from '../../cluster/plan/options/flag.ts';

/** Flag as in the help → its help, or all about it. */
export type Options = Readonly<Record<string, string | FlagSpec>>;

export interface CommandOptions {
  /** In the order of the usage: what each is, or all about it. */
  readonly arguments?: readonly (string | Pick<FlagSpec, 'help' | 'parse' | 'default'>)[];
  readonly options?: Options;
  /** Follows the options in the help. */
  readonly note?: string;
}
