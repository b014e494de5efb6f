/** The node's code, loaded on demand: commands that embed no nodes must not pay for it. */
import type { NodeOptions } from '../../../node/options.ts';
import type { MemoryPlatform } from '../../../node/platform/memory.ts';
import { tamperedOf } from '../../flavours/tampered/settings.ts';
import type { TamperedPlatform } from '../../flavours/tampered/tamper.ts';

export type Programs = Awaited<ReturnType<typeof loadPrograms>>;

/** Hardly any cluster has such nodes. @returns undefined when the node is none */
export async function tamperedWith(
  platform: MemoryPlatform,
  dataDir: string,
  options: () => NodeOptions,
): Promise<TamperedPlatform | undefined> {
  const tampered = tamperedOf(dataDir);
  if (tampered === undefined) return undefined;
  const { tamper } = await import('../../flavours/tampered/tamper.ts');
  return tamper(platform, { dataDir, tampered, options: options() });
}

/** What all nodes of a host share; loading it takes most of the time of the first start. */
export async function loadPrograms() {
  const [{ startNode }, memory, { MemoryDisk }, { resolveOptions }, { ownIdentity }] = await Promise.all([
    import('../../../node/compose.ts'),
    import('../../../node/platform/memory.ts'),
    import('../../../node/store/memory-store.ts'),
    import('../../../node/option-sources.ts'),
    import('../../../node/p2p/address/identity-key.ts'),
  ]);
  return {
    startNode,
    MemoryDisk,
    ownIdentity,
    memoryNetwork: memory.memoryNetwork,
    memoryPlatform: memory.memoryPlatform,
    sharedResults: memory.sharedResults,
    containCrashes: memory.containCrashes,
    optionsOf: (options: Readonly<Record<string, unknown>>) =>
      resolveOptions(['--config', 'node.json'], {}, () => options),
  };
}
