import { CommanderError } from 'commander';
import { withShownUrls } from '../../formats/shown-url.ts';
import { EXIT, exitCodeOf, HarnessError, messageOf } from '../base/errors.ts';
import { forTerminal, withPlainWords } from '../base/foreign-text.ts';
import type { Terminal } from '../base/terminal/screen.ts';
import { asTyped } from '../base/typed.ts';
import { consoleStyle, paint } from '../report/console.ts';
import { guardedFiles } from '../run/source/guard.ts';
import { commandLine } from './command-line.ts';
import type { CommandContext } from './context.ts';
import { failureDocument, hintOf, usageDocument } from './failure.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Stream = { write(data: string | Uint8Array): unknown } & (
  | { readonly isTTY?: false }
  | (Terminal & { readonly isTTY: true })
);

export interface Surroundings {
  readonly stateDir: () => string;
  readonly stdout: Stream;
  readonly stderr: Stream;
  readonly env: Environment;
  readonly signal: AbortSignal;
}

/** @returns undefined: interrupted, which the caller handles */
export async function runLine(words: readonly string[], around: Surroundings): Promise<number | undefined> {
  let code: number = EXIT.success;
  const write = { writeOut: writerOf(around.stdout), writeErr: writerOf(around.stderr) };
  try {
    const program = await commandLine(
      async (flags, command) => {
        const verdict = await command(contextOf(flags, around));
        if (typeof verdict === 'number') code = verdict;
      },
      words,
      write,
    );
    await program.parseAsync(words, { from: 'user' });
    return code;
  } catch (error) {
    return tellFailure(error, words, around);
  }
}

const writerOf = (stream: Stream) => (text: string) => void stream.write(forTerminal(text));

function contextOf(flags: object, { stateDir, stdout, stderr, env, signal }: Surroundings): CommandContext {
  const style = consoleStyle(stdout, env);
  expectCurrentFolder();
  return {
    stateDir: stateDir(),
    json: 'json' in flags && flags.json === true,
    style,
    width: stdout.isTTY === true ? style.width : Number.POSITIVE_INFINITY,
    terminal: stdout.isTTY === true ? stdout : undefined,
    signal,
    out: writerOf(stdout),
    outBytes: (bytes) => void stdout.write(bytes),
    note: (text) => writerOf(stderr)(asTyped(text)),
  };
}

/** Files and programs that a command starts would fail one by one, each in its own words. @throws HarnessError `CANNOT_READ` */
function expectCurrentFolder(): void {
  try {
    process.cwd();
  } catch (error) {
    throw new HarnessError('CANNOT_READ', messageOf(error), { cause: error });
  }
}

/** A process that ends before it has a result has not succeeded. @returns as `runLine` */
export function tellEarlyEnd(words: readonly string[], around: Surroundings): number | undefined {
  const files = guardedFiles();
  const by = files.length === 0 ? '' : `: code of ${files.join(', ')} has ended it`;
  const what = `this process ended before the command had a result${by}`;
  return tellFailure(new HarnessError('PROCESS_FAILED', what), words, around);
}

/** With --json the error is a document too; text always goes to standard error. @returns as `runLine` */
function tellFailure(
  error: unknown,
  words: readonly string[],
  { stdout, stderr, env, signal }: Surroundings,
): number | undefined {
  const print = (document: object) => {
    if (words.includes('--json')) writerOf(stdout)(`${JSON.stringify(document)}\n`);
  };
  // Commander has printed: help and version are code 0, wrong usage 1.
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return EXIT.success;
    print(usageDocument(withShownUrls(error.message)));
    return EXIT.usage;
  }
  // What the interruption left behind says more than the signal.
  const isLeft = error instanceof HarnessError && error.code === 'INTERRUPTED';
  const told: unknown = signal.aborted && !isLeft ? signal.reason : error;
  print(failureDocument(told));
  const begin = signal.aborted ? '' : `${paint(consoleStyle(stderr, env), 'red', 'error')}: `;
  const write = writerOf(stderr);
  write(`${begin}${withPlainWords(messageOf(told), words)}\n`);
  const hint = hintOf(told);
  if (hint !== undefined) write(`${withPlainWords(asTyped(hint), words)}\n`);
  return signal.aborted ? undefined : exitCodeOf(told);
}
