/** A JSON object per line: prints, ended iterations, words for people. */

/** An exception that the script does not catch. */
export interface ScriptException {
  readonly scenario: string;
  /** Its message, and the place in the script where k6 names one. */
  readonly message: string;
}

interface LogEntry {
  readonly level?: string;
  readonly msg?: string;
  readonly hint?: string;
  readonly scenario?: string;
  readonly executor?: string;
}

/** Undefined unless an exception ended an iteration. */
export function exceptionOf(line: string): ScriptException | undefined {
  const { level, msg, scenario, executor } = entryOf(line) ?? {};
  if (level !== 'error' || msg === undefined || scenario === undefined || executor === undefined)
    return undefined;
  return { scenario, message: shortened(msg) };
}

export function messageIn(line: string): string {
  return entryOf(line)?.msg ?? line;
}

/** @param log of k6, perhaps with lines of the system or Docker */
export function wordsOf(log: string, linesMax: number): string[] {
  const lines = log.split('\n').flatMap((line) => {
    const entry = entryOf(line);
    if (entry?.msg === undefined) return line.trim() === '' ? [] : [line.trimEnd()];
    const hint = entry.hint === undefined ? [] : [`hint: ${entry.hint}`];
    return [...entry.msg.trimEnd().split('\n'), ...hint].map((text) => text.replaceAll('\t', '  '));
  });
  return lines.slice(-linesMax);
}

/** Its first line and place: `TypeError: … (at file:///…/my.js:5:9(12))`. */
function shortened(stack: string): string {
  const [message = '', ...places] = stack.trim().split('\n');
  const place = places
    .map((line) => line.trim())
    .find((line) => line.startsWith('at ') && line.includes(':'));
  return place === undefined ? message : `${message} (${place})`;
}

function entryOf(line: string): LogEntry | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as LogEntry;
  } catch (error) {
    // The system, or a program in between, may write there too.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
