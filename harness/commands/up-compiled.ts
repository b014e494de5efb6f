/** `svcnet up`: nodes' code is compiled while this process loads its own. */
import { compile } from '../base/machine/compile.ts';
import { compileCacheDir } from '../cluster/state/compile-cache.ts';
import { svcProgram, tamperedProgram } from '../flavours/svc-program.ts';
import { DRIVER_DEFAULT, DRIVER_FACTS } from '../places/facts.ts';
import type { CommandContext } from './context.ts';
import type { UpFlags } from './up.ts';

export async function up(flags: UpFlags, context: CommandContext): Promise<void> {
  const isTampered = flags.machineFaults === true;
  const ended = new AbortController();
  // A file may name another driver than the default.
  const { local, shared } = DRIVER_FACTS[flags.driver ?? DRIVER_DEFAULT];
  if (flags.nodes !== 0 && local && !shared)
    void compile(
      isTampered ? tamperedProgram('compile') : svcProgram('compile'),
      compileCacheDir(context.stateDir, isTampered ? 'tampered' : 'nodes'),
      AbortSignal.any([context.signal, ended.signal]),
    );
  try {
    await (await import('./up.ts')).up(flags, context);
  } finally {
    ended.abort();
  }
}
