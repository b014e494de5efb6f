/** `svcnet up`: nodes' code is compiled while this process loads its own. */
import { compile } from '../base/machine/compile.ts';
import { compileCacheDir } from '../cluster/state/compile-cache.ts';
import { svcProgram, tamperedProgram } from '../flavours/svc-program.ts';
import type { CommandContext } from './context.ts';
import type { UpFlags } from './up.ts';

export async function up(flags: UpFlags, context: CommandContext): Promise<void> {
  const isTampered = flags.machineFaults === true;
  const failed = new AbortController();
  if (flags.nodes !== 0)
    void compile(
      isTampered ? tamperedProgram('compile') : svcProgram('compile'),
      compileCacheDir(context.stateDir, isTampered ? 'tampered' : 'nodes'),
      AbortSignal.any([context.signal, failed.signal]),
    );
  try {
    await (await import('./up.ts')).up(flags, context);
  } catch (error) {
    failed.abort();
    throw error;
  }
}
