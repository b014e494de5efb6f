/** All observations share one listing by label: fifty containers cost as much as one. */
import { constants } from 'node:os';
import type { Clock } from '../../../formats/clock.ts';
import { sizeText } from '../../../formats/units.ts';
import type { DriverOptions, Exit, Observed } from '../driver.ts';
import type { ContainerEntry, ContainerState } from './engine/documents.ts';
import { type Engine, statusOf } from './engine/engine.ts';
import { ownedBy } from './names.ts';

const FRESH_MS = 100;
/** A shell adds this to a signal's number. */
const SIGNALLED = 128;

const REMOVED: Exit = { code: null, signal: null, reason: 'its container was removed' };

export class ContainerObserver {
  readonly #engine: Engine;
  readonly #token: string;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #exits = new Map<string, Promise<Exit>>();
  #latest: { readonly at: number; readonly listing: Promise<readonly ContainerEntry[]> } | undefined;

  constructor(engine: Engine, { token, clock }: Pick<DriverOptions, 'token' | 'clock'>) {
    this.#engine = engine;
    this.#token = token;
    this.#clock = clock;
  }

  async observe(container: string): Promise<Observed> {
    const found = (await this.#listing()).find(({ Id }) => Id === container);
    if (found === undefined) return { state: 'gone', exit: REMOVED };
    if (found.State === 'paused') return { state: 'paused' };
    if (found.State === 'running' || found.State === 'restarting') {
      this.#exits.delete(container);
      return { state: 'running' };
    }
    const asked = this.#exits.get(container) ?? this.#exitOf(container);
    this.#exits.set(container, asked);
    return { state: 'gone', exit: await asked };
  }

  forget(): void {
    this.#latest = undefined;
  }

  async #listing(): Promise<readonly ContainerEntry[]> {
    const now = this.#clock.monotonic();
    if (this.#latest !== undefined && now - this.#latest.at < FRESH_MS) return this.#latest.listing;
    const latest = { at: now, listing: listContainers(this.#engine, this.#token) };
    this.#latest = latest;
    try {
      return await latest.listing;
    } catch (error) {
      if (this.#latest === latest) this.#latest = undefined;
      throw error;
    }
  }

  async #exitOf(container: string): Promise<Exit> {
    try {
      return exitOf(await this.#engine.ask((docker) => docker.container(container).inspect()));
    } catch (error) {
      this.#exits.delete(container);
      if (statusOf(error) === 404) return REMOVED;
      throw error;
    }
  }
}

export function listContainers(engine: Engine, token: string): Promise<readonly ContainerEntry[]> {
  return engine.ask((docker) => docker.containers(ownedBy(token)));
}

export function exitOf({
  State: { ExitCode, OOMKilled, Error: failure },
  HostConfig: { Memory = 0 },
}: {
  State: Pick<ContainerState['State'], 'ExitCode' | 'OOMKilled' | 'Error'>;
  HostConfig: ContainerState['HostConfig'];
}): Exit {
  const signal =
    Object.entries(constants.signals).find(([, number]) => SIGNALLED + number === ExitCode)?.[0] ?? null;
  const exit = { code: signal === null ? ExitCode : null, signal };
  if (OOMKilled) {
    const limit = Memory === 0 ? '' : ` (limit ${sizeText(Memory)})`;
    return { ...exit, reason: `out of memory${limit}`, outOfMemory: true };
  }
  return failure === '' ? exit : { ...exit, reason: failure };
}
