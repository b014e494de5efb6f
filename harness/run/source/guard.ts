/**
 * While code of somebody's file is loaded or runs, it does not end this process: `process.exit` is then an error that names
 * the file, and so is an await that nothing can end any more.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';
import { HarnessError } from '../../base/errors.ts';
import { MACHINE_CLOCK } from '../../base/machine/clock.ts';

interface Guarded {
  readonly file: string;
  readonly fail: (error: HarnessError) => void;
}

const caller = new AsyncLocalStorage<Guarded>();
const running = new Set<Guarded>();
const files = new Set<string>();
const told = new WeakSet<HarnessError>();

/** Those whose code this process has loaded. */
export function guardedFiles(): string[] {
  return [...files];
}

/** @param file whose code `work` is; undefined: of this package @throws HarnessError `USAGE` */
export async function guarded<R>(file: string | undefined, work: () => Promise<R>): Promise<R> {
  if (file === undefined) return work();
  if (files.size === 0) install();
  files.add(file);
  const { promise: failure, reject } = Promise.withResolvers<never>();
  const entry: Guarded = { file, fail: reject };
  running.add(entry);
  try {
    return await Promise.race([caller.run(entry, work), failure]);
  } finally {
    running.delete(entry);
  }
}

function install(): void {
  const exit = process.exit.bind(process);
  process.exit = (code) => {
    const guard = caller.getStore();
    if (guard === undefined) return exit(code);
    const error = new HarnessError(
      'USAGE',
      `${guard.file} called process.exit(${code ?? ''}), which would end svcnet before its verdict`,
      { hint: 'A scenario ends when its run returns: expect() decides whether it has passed.' },
    );
    // Also if the code catches what is thrown.
    guard.fail(error);
    told.add(error);
    ignoreTold();
    throw error;
  };
  // For those that import it by name.
  syncBuiltinESMExports();
  process.on('beforeExit', () => {
    for (const { file, fail } of running)
      fail(new HarnessError('USAGE', `${file} awaits what never happens: nothing is left that could end it`));
  });
}

/** Errors that callbacks throw would end the process: they have been told. */
function ignoreTold(): void {
  const stops = (['uncaughtException', 'unhandledRejection'] as const).map((event) => {
    const ignore = (thrown: unknown) => {
      if (!(thrown instanceof HarnessError && told.has(thrown))) throw thrown;
    };
    process.on(event, ignore);
    return () => process.off(event, ignore);
  });
  MACHINE_CLOCK.timer(0, () => {
    for (const stop of stops) stop();
  });
}
