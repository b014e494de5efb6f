/** One line of a log as fields: JSON as our own nodes write it, or quoted pairs as a Bee does. */

export interface LogEntry {
  readonly time: string;
  readonly level: string;
  readonly module: string;
  readonly message: string;
  /** Everything else, in order. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** @returns undefined for a line that is no entry: cut off, of a crash, a greeting */
export function logEntry(line: string): LogEntry | undefined {
  const values = line.startsWith('{') ? jsonOf(line) : pairsOf(line);
  if (values === undefined || !('msg' in values)) return undefined;
  const { time, level, msg, module, logger, node: _node, ...fields } = values;
  return {
    time: text(time),
    level: text(level).replace(/^warning$/, 'warn'),
    module: text(module ?? logger),
    message: text(msg),
    fields,
  };
}

export function logValue(line: string): unknown {
  return (line.startsWith('{') ? jsonOf(line) : pairsOf(line)) ?? line;
}

function jsonOf(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const PAIR = /("(?:[^"\\]|\\.)*")=("(?:[^"\\]|\\.)*"|\S+)/g;

/** `"time"="…" "level"="info" "msg"="…"`; a Bee's first follows its greeting. */
function pairsOf(line: string): Record<string, unknown> | undefined {
  if (!line.includes('"time"=')) return undefined;
  const pairs = [...line.matchAll(PAIR)].map(([, name, value]) => [plain(name), plain(value)] as const);
  return Object.fromEntries(pairs);
}

/** Go's quoting is nearly always JSON. */
function plain(quoted = ''): string {
  if (!quoted.startsWith('"')) return quoted;
  try {
    return JSON.parse(quoted) as string;
  } catch (error) {
    if (error instanceof SyntaxError) return quoted.slice(1, -1);
    throw error;
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
