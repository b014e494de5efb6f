/** A command's arguments and options, for the parser and the line that repeats a run. */
import type { FlagSpec } from '../../cluster/plan/options/flag.ts';

/** Flag as in the help → its help, or all about it. */
export type Options = Readonly<Record<string, string | FlagSpec>>;

export interface CommandOptions {
  /** In the usage's order: what each is, or all about it. */
  readonly arguments?: readonly (string | Pick<FlagSpec, 'help' | 'parse' | 'default'>)[];
  readonly options?: Options;
  /** After the options. */
  readonly note?: string;
}
