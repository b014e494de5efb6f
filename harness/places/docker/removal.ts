/** Removes all with a cluster's label. The guard does so once its owner has ended. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { HarnessError } from '../../base/errors.ts';
import { programPath } from '../../base/machine/programs.ts';
import type { Disposed } from '../driver.ts';
import { stopContainer } from './containers.ts';
import type { ContainerEntry } from './engine/documents.ts';
import { type Engine, unless } from './engine/engine.ts';
import { type Owner, ownedBy, partName, partOf } from './names.ts';
import { listContainers } from './observer.ts';

const GONE = [404, 409];
/** Objects being created or removed remain for a moment. */
const ROUNDS_MAX = 100;
const ROUND_PAUSE_MS = 100;
const GUARD = 'harness/places/docker/guard';
const EXIT_REMOVAL_MS = 60_000;

/** @param graceMs for running containers to stop; 0: none @throws HarnessError `ENGINE_FAILED` */
export async function removeAll(engine: Engine, token: string, graceMs: number): Promise<Disposed> {
  const running = await runningContainers(engine, token);
  const forced = graceMs > 0 ? await stopEach(engine, running, graceMs) : [];
  for (let round = 0; !(await removeOnce(engine, token)); round++) {
    if (round === ROUNDS_MAX) {
      throw new HarnessError(
        'ENGINE_FAILED',
        'the Docker engine does not remove what belongs to the cluster',
        {
          hint: `It is listed by: docker ps -a --filter label=${ownedBy(token).label[0]}`,
        },
      );
    }
    await sleep(ROUND_PAUSE_MS);
  }
  return { stopped: partsOf(running), forced: partsOf(forced) };
}

export async function removePart(engine: Engine, owner: Owner, part: string): Promise<void> {
  const name = partName(owner, part);
  await engine.ask(async (docker) => {
    await unless(GONE, docker.container(name).remove());
    await unless([404], docker.removeVolume(name));
    const others = await docker.containers(ownedBy(owner.token));
    const connected = others.filter(({ NetworkSettings: { Networks } }) => name in Networks);
    await Promise.all(connected.map(({ Id }) => unless([404], docker.disconnectNetwork(name, Id))));
    await unless([404], docker.removeNetwork(name));
  });
}

function partsOf(containers: readonly ContainerEntry[]): string[] {
  return containers
    .map(({ Labels }) => partOf(Labels))
    .filter((part) => part !== '')
    .toSorted();
}

export async function stopAll(engine: Engine, token: string, graceMs: number): Promise<Disposed> {
  const running = await runningContainers(engine, token);
  const forced = await stopEach(engine, running, graceMs);
  return { stopped: partsOf(running), forced: partsOf(forced) };
}

async function runningContainers(engine: Engine, token: string): Promise<readonly ContainerEntry[]> {
  const containers = await listContainers(engine, token);
  return containers.filter(({ State }) => ['running', 'paused', 'restarting'].includes(State));
}

async function stopEach(
  engine: Engine,
  containers: readonly ContainerEntry[],
  graceMs: number,
): Promise<ContainerEntry[]> {
  const forced = await Promise.all(
    containers.map(async (container) =>
      (await stopContainer(engine, container.Id, graceMs)).forced ? [container] : [],
    ),
  );
  return forced.flat();
}

async function removeOnce(engine: Engine, token: string): Promise<boolean> {
  const containers = await listContainers(engine, token);
  await engine.ask((docker) =>
    Promise.all(containers.map(({ Id }) => unless(GONE, docker.container(Id).remove()))),
  );
  const filters = ownedBy(token);
  const [networks, volumes] = await engine.ask((docker) =>
    Promise.all([docker.networks(filters), docker.volumes(filters)]),
  );
  await engine.ask((docker) =>
    Promise.all([
      // 403: a container is still on it.
      ...networks.map(({ Id }) => unless([403, ...GONE], docker.removeNetwork(Id))),
      ...volumes.map(({ Name }) => unless(GONE, docker.removeVolume(Name))),
    ]),
  );
  return containers.length + networks.length + volumes.length === 0;
}

export function removeNow(token: string): void {
  spawnSync(process.execPath, [programPath(GUARD), '1'], {
    env: guardEnvironment(token),
    input: '',
    timeout: EXIT_REMOVAL_MS,
  });
}

/** Its standard input closes when this process ends. */
export function spawnGuard(token: string): ChildProcess {
  const guard = spawn(process.execPath, [programPath(GUARD)], {
    env: guardEnvironment(token),
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.on('error', () => guard.stdin?.destroy());
  guard.stdin?.on('error', () => guard.stdin?.destroy());
  guard.unref();
  return guard;
}

/** All users of the machine can read a process's arguments, but not its environment. */
function guardEnvironment(token: string): NodeJS.ProcessEnv {
  return { ...process.env, SVC_GUARD_TOKEN: token };
}
