import { oneLine } from '../base/foreign-text.ts';
import type { Terminal } from '../base/terminal/screen.ts';
import { asTyped } from '../base/typed.ts';
import type { ConsoleStyle } from '../report/console.ts';

export interface CommandContext {
  readonly stateDir: string;
  readonly json: boolean;
  readonly style: ConsoleStyle;
  /** Infinite: standard output is no terminal. */
  readonly width: number;
  /** Undefined: standard output is no terminal. */
  readonly terminal?: Terminal | undefined;
  /** On SIGINT and SIGTERM, and on SIGHUP with a terminal. */
  readonly signal: AbortSignal;
  readonly out: (text: string) => void;
  /** To standard output. */
  readonly outBytes: (bytes: Uint8Array) => void;
  /** To standard error. */
  readonly note: (text: string) => void;
}

export interface ClusterFlags {
  readonly name?: string | undefined;
}

/** One JSON document, or lines with commands as typed here; each is one line, whatever it tells. */
export function answer(context: CommandContext, document: unknown, lines: readonly string[]): void {
  context.out(
    `${context.json ? JSON.stringify(document, null, 2) : asTyped(lines.map(oneLine).join('\n'))}\n`,
  );
}
