/** Loaded on demand: other commands must not pay for it. */
import type { NodeOptions } from '../../../node/options.ts';
import type { MemoryPlatform } from '../../../node/platform/memory.ts';
import { type ServeControl, tamperedOf } from '../../flavours/tampered/settings.ts';
import type { TamperedPlatform, Tampering } from '../../flavours/tampered/tamper.ts';

export type Programs = Awaited<ReturnType<typeof loadPrograms>>;

/** @param serve how others reach it; default: a socket @returns undefined for an untampered node */
export async function tamperedWith(
  platform: MemoryPlatform,
  dataDir: string,
  {
    options,
    serve,
    disk,
  }: Pick<Tampering, 'disk'> & {
    readonly options: () => NodeOptions;
    readonly serve: ServeControl | undefined;
  },
): Promise<TamperedPlatform | undefined> {
  const tampered = tamperedOf(dataDir);
  if (tampered === undefined) return undefined;
  const { tamper, serveControl } = await loadTampering();
  return tamper(platform, { dataDir, tampered, options: options(), serve: serve ?? serveControl, disk });
}

export async function loadTampering() {
  const [{ tamper }, { serveControl }, { flipInMemory }] = await Promise.all([
    import('../../flavours/tampered/tamper.ts'),
    import('../../flavours/tampered/serve.ts'),
    import('../../flavours/tampered/flip.ts'),
    import('../../flavours/dishonest/host.ts'),
  ]);
  return { tamper, serveControl, flipInMemory };
}

/** What all nodes of a host share: most of the time of the first start. */
export async function loadPrograms() {
  const [{ startNode }, memory, { MemoryDisk }, { resolveOptions }, { ownIdentity }, { MemoryTap }] =
    await Promise.all([
      import('../../../node/compose.ts'),
      import('../../../node/platform/memory.ts'),
      import('../../../node/store/memory-store.ts'),
      import('../../../node/option-sources.ts'),
      import('../../../node/p2p/address/identity-key.ts'),
      import('./memory-tap.ts'),
    ]);
  return {
    startNode,
    MemoryDisk,
    MemoryTap,
    ownIdentity,
    memoryNetwork: memory.memoryNetwork,
    memoryPlatform: memory.memoryPlatform,
    sharedResults: memory.sharedResults,
    containCrashes: memory.containCrashes,
    optionsOf: (options: Readonly<Record<string, unknown>>) =>
      resolveOptions(['--config', 'node.json'], {}, () => options),
  };
}
