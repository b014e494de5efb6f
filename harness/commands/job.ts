import { spawn } from 'node:child_process';
import { messageOf } from '../base/errors.ts';
import { formatMs } from '../base/format.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { programPath } from '../base/machine/programs.ts';
import type { CommandContext } from './context.ts';

/** To end when asked: a job that computes without end hears nothing. */
const END_WITHIN_MS = 12_000;

type Answered = { readonly document: unknown } | { readonly failed: string };

/**
 * @param words with `--json`
 * @returns the printed document, or why there is none; undefined: it was ended
 */
export async function documentOf(
  words: readonly string[],
  {
    limitMs,
    program = programPath('harness/cli'),
    context,
    signal,
  }: {
    readonly limitMs: number;
    /** Default: this program. */
    readonly program?: string | undefined;
    readonly context: CommandContext;
    readonly signal: AbortSignal;
  },
): Promise<Answered | undefined> {
  const child = spawn(process.execPath, [...process.execArgv, program, ...words], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, SVCNET_STATE: context.stateDir },
  });
  let printed = '';
  let isLate = false;
  let kill: Disposable | undefined;
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (printed += piece));
  const { promise: closed, resolve, reject } = Promise.withResolvers<NodeJS.Signals | number | null>();
  child.once('error', reject).once('close', (code, ended) => resolve(ended ?? code));
  using _limit = MACHINE_CLOCK.timer(limitMs, () => {
    isLate = true;
    child.kill('SIGKILL');
  });
  const end = () => {
    child.kill('SIGTERM');
    kill = MACHINE_CLOCK.timer(END_WITHIN_MS, () => child.kill('SIGKILL'));
  };
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  try {
    const ended = await closed;
    if (isLate) return { failed: `hung: no result within ${formatMs(limitMs)}` };
    return signal.aborted ? undefined : parsed(printed, ended);
  } catch (error) {
    return { failed: `its process could not be started: ${messageOf(error)}` };
  } finally {
    signal.removeEventListener('abort', end);
    kill?.[Symbol.dispose]();
  }
}

function parsed(printed: string, ended: NodeJS.Signals | number | null): Answered {
  try {
    return { document: JSON.parse(printed) as unknown };
  } catch {
    return { failed: `crashed: its process ended with ${ended} and without a result` };
  }
}
