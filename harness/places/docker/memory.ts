/** The memory that a container may use. */
import { totalmem } from 'node:os';
import type { Engine } from './engine/engine.ts';

/** @param bytes from now on @returns the previous limit; if there was none, the machine's memory */
export async function limitMemory(engine: Engine, id: string, bytes: number): Promise<number> {
  return engine.ask(async (docker) => {
    const container = docker.container(id);
    const { Memory = 0 } = (await container.inspect()).HostConfig;
    // No swap on top: a limit that swap makes up for is none.
    await container.limit({ Memory: bytes, MemorySwap: bytes });
    return Memory === 0 ? totalmem() : Memory;
  });
}
