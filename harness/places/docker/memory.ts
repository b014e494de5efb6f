/** The memory that a container may use. */
import { totalmem } from 'node:os';
import type { Engine } from './engine.ts';

/** @param bytes from now on @returns what it was before; without a limit, what the machine has */
export async function limitMemory(engine: Engine, id: string, bytes: number): Promise<number> {
  return engine.ask(async (docker) => {
    const container = docker.getContainer(id);
    const { Memory = 0 } = (await container.inspect()).HostConfig;
    // No swap beside it: a limit that the disk makes up for is none.
    await container.update({ Memory: bytes, MemorySwap: bytes });
    return Memory === 0 ? totalmem() : Memory;
  });
}
