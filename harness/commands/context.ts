/** What every command is given, and how it answers. */
import type { ConsoleStyle } from '../report/console.ts';
import type { Terminal } from '../terminal/screen.ts';

export interface CommandContext {
  readonly stateDir: string;
  readonly json: boolean;
  readonly style: ConsoleStyle;
  /** Columns that lines may have; infinite when nobody sees them on a terminal. */
  readonly width: number;
  /** Where a picture can be drawn; undefined when standard output is no terminal. */
  readonly terminal?: Terminal | undefined;
  /** Aborts on Ctrl-C and the like. */
  readonly signal: AbortSignal;
  readonly out: (text: string) => void;
  /** Progress and remarks: standard error. */
  readonly note: (text: string) => void;
}

/** Options that all commands about one cluster have. */
export interface ClusterFlags {
  readonly name?: string;
}

/** One JSON document, or the lines for people. */
export function answer(context: CommandContext, document: unknown, lines: readonly string[]): void {
  context.out(context.json ? `${JSON.stringify(document, null, 2)}\n` : `${lines.join('\n')}\n`);
}
