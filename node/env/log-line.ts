/** One message as a line of JSON: level, time, what belongs to the logger, the fields of the message, its text. */

export type LogMethodName = 'error' | 'warn' | 'info' | 'debug';

interface LogMessage {
  readonly level: LogMethodName;
  readonly at: Date;
  /** As `bindingsText` gives it. */
  readonly bindings: string;
  readonly fields: object;
  readonly message: string;
}

/** Causes of an error that are told; they may form a circle. */
const CAUSES_MAX = 8;

/** Part of the language since ES2025 proposals that Node.js 24 ships; not in the compiler's library yet. */
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };

/** What every line of one logger says, written once. */
export function bindingsText(bindings: Readonly<Record<string, string>>): string {
  return Object.entries(bindings)
    .map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`)
    .join('');
}

/** With its line feed. Whatever the fields are, there is a line: what can not be written is named in its place. */
export function logLine({ level, at, bindings, fields, message }: LogMessage): string {
  let text = `{"level":"${level}","time":"${at.toISOString()}"${bindings}`;
  for (const [name, value] of Object.entries(fields)) {
    const written = valueText(value);
    if (written !== undefined) text += `,${JSON.stringify(name)}:${written}`;
  }
  return `${text},"msg":${JSON.stringify(message)}}\n`;
}

function valueText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, (_name, inner: unknown) => plain(inner));
  } catch (error) {
    return JSON.stringify(`not written: ${(error as Error).message}`);
  }
}

function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return rawJSON(String(value));
  return value instanceof Error ? errorFields(value) : value;
}

/** Its own members too: `code`, and what the message is about. */
function errorFields(error: Error): Record<string, unknown> {
  const { cause: _told, ...members } = error as Error & Record<string, unknown>;
  const chain = causes(error);
  return {
    ...members,
    type: error.name,
    message: chain.map(({ message }) => message).join(': '),
    stack: chain.map(({ stack, message }) => stack ?? message).join('\ncaused by: '),
  };
}

function causes(error: Error): Error[] {
  const chain: Error[] = [];
  let next: unknown = error;
  while (next instanceof Error && chain.length < CAUSES_MAX) {
    chain.push(next);
    next = next.cause;
  }
  return chain;
}
