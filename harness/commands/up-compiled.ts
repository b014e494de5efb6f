/** `svcnet up`: nodes' code is compiled while this process loads its own. */
import { compile } from '../base/machine/compile.ts';
import { compileCacheDir } from '../cluster/state/compile-cache.ts';
import { svcProgram, tamperedProgram } from '../flavours/svc-program.ts';
import { DRIVER_DEFAULT, DRIVER_FACTS, type DriverName } from '../places/facts.ts';
import type { CommandContext } from './context.ts';
import type { UpFlags } from './up.ts';

interface Compiled {
  readonly driver?: DriverName | undefined;
  readonly machineFaults?: boolean | undefined;
}

export async function up(flags: UpFlags, context: CommandContext): Promise<void> {
  const ended = new AbortController();
  const compileFor = ({ driver = DRIVER_DEFAULT, machineFaults: isTampered = false }: Compiled) => {
    const { local, shared } = DRIVER_FACTS[driver];
    if (flags.nodes === 0 || !local || shared) return;
    void compile(
      isTampered ? tamperedProgram('compile') : svcProgram('compile'),
      compileCacheDir(context.stateDir, isTampered ? 'tampered' : 'nodes'),
      AbortSignal.any([context.signal, ended.signal]),
    );
  };
  // Only what has been read tells which nodes a file, a preset or a snapshot starts.
  const { file, preset, snapshot } = flags;
  const isKnown = [file, preset, snapshot].every((source) => source === undefined);
  if (isKnown) compileFor(flags);
  try {
    const { up: start } = await import('./up.ts');
    await start(flags, context, isKnown || snapshot !== undefined ? undefined : compileFor);
  } finally {
    ended.abort();
  }
}
