import type { Terminal } from '../base/terminal/screen.ts';
import { asTyped } from '../base/typed.ts';
import type { ConsoleStyle } from '../report/console.ts';

export interface CommandContext {
  readonly stateDir: string;
  readonly json: boolean;
  readonly style: ConsoleStyle;
  /** Columns per line; infinite when standard output is no terminal. */
  readonly width: number;
  /** For live displays; undefined when standard output is no terminal. */
  readonly terminal?: Terminal | undefined;
  /** Aborts on SIGINT and SIGTERM, and on SIGHUP with a terminal. */
  readonly signal: AbortSignal;
  readonly out: (text: string) => void;
  /** Writes to standard output what is not text. */
  readonly outBytes: (bytes: Uint8Array) => void;
  /** Writes progress and notes to standard error. */
  readonly note: (text: string) => void;
}

/** Options that all commands on one cluster share. */
export interface ClusterFlags {
  readonly name?: string | undefined;
}

/** Prints one JSON document, or lines of text with their commands as typed here. */
export function answer(context: CommandContext, document: unknown, lines: readonly string[]): void {
  context.out(`${context.json ? JSON.stringify(document, null, 2) : asTyped(lines.join('\n'))}\n`);
}
