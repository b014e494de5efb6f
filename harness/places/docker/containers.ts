import { totalmem } from 'node:os';
import { HarnessError, messageOf } from '../../base/errors.ts';
import type { PlannedFile } from '../../flavours/flavour.ts';
import { DATA_FOLDER } from '../../flavours/inside-image.ts';
import type { Handle } from '../driver.ts';
import { archiveOf } from './archive.ts';
import type { Container } from './engine/docker.ts';
import type { ContainerSpec } from './engine/documents.ts';
import { type Engine, statusOf, unless } from './engine/engine.ts';
import { type Owner, partName } from './names.ts';

const KILLED = 137;

export async function createContainer(
  engine: Engine,
  spec: ContainerSpec & { readonly name: string },
  { files, keepsData }: { readonly files: readonly PlannedFile[]; readonly keepsData: boolean },
): Promise<void> {
  const archive = await archiveOf(files);
  await engine.ask(async (docker) => {
    const create = () => docker.createContainer(spec);
    const container = await create().catch(async (error: unknown) => {
      if (statusOf(error) !== 409) throw error;
      await unless([404], docker.container(spec.name).remove());
      if (!keepsData) await unless([404], docker.removeVolume(spec.name));
      return create();
    });
    await container.putArchive(archive, DATA_FOLDER);
  });
}

export async function startContainer(engine: Engine, owner: Owner, part: string): Promise<Handle> {
  const name = partName(owner, part);
  try {
    return await engine.ask(async (docker) => {
      const container = docker.container(name);
      await unless([304], container.start());
      const { Id, State } = await container.inspect();
      return { container: Id, startedAt: State.StartedAt };
    });
  } catch (error) {
    throw startError(error, part, name);
  }
}

function startError(error: unknown, part: string, container: string): HarnessError {
  const message = messageOf(error);
  if (/port is already allocated|address already in use/.test(message)) {
    const port = /:(\d+)(?: failed|: bind)/.exec(message)?.[1];
    return new HarnessError(
      'PORT_IN_USE',
      `${port === undefined ? 'a port' : `port ${port}`} that ${part} is to be published on is in use`,
      { cause: error, hint: message },
    );
  }
  if (statusOf(error) === undefined && error instanceof HarnessError) return error;
  return new HarnessError('PROCESS_FAILED', `${container} cannot be started: ${message}`, { cause: error });
}

/** A paused container is resumed first. */
export function stopContainer(
  engine: Engine,
  id: string,
  graceMs: number,
): Promise<{ readonly forced: boolean }> {
  return engine.ask(async (docker) => {
    const container = docker.container(id);
    // 304: not running. 404, 409: removed, or being removed, by others.
    if (!(await unless([304, 404, 409], container.stop(Math.ceil(graceMs / 1000))))) return { forced: false };
    try {
      return { forced: (await container.inspect()).State.ExitCode === KILLED };
    } catch (error) {
      if (statusOf(error) === 404) return { forced: false };
      throw error;
    }
  });
}

export async function limitMemory(container: Container, bytes: number): Promise<number> {
  const { Memory = 0 } = (await container.inspect()).HostConfig;
  // Swap would make up for the limit.
  await container.limit({ Memory: bytes, MemorySwap: bytes });
  return Memory === 0 ? totalmem() : Memory;
}
