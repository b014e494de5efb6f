/** What this process has broken in a cluster, by faults and without them, each entry with its cause. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../../../formats/clock.ts';
import type { BreakWitness } from '../../chain/chain.ts';
import type { Fault } from './fault.ts';

/** The oldest entries are dropped, but no fault that lasts. */
const BROKEN_MAX = 10_000;

/** Something that was broken. */
export interface Breakage {
  /** Ms since the epoch. */
  readonly at: number;
  /** Absent: it took no time, or still lasts. */
  readonly endAt?: number | undefined;
  /** Names of the nodes that it affects, `chain` for the chain; none: the whole cluster. */
  readonly targets: readonly string[];
  /** `node-2 was killed`, or what a fault does: `kills node-2`. */
  readonly text: string;
  /** The fault that this is. */
  readonly fault?: Fault;
  /** The fault that did this, as it was when it began; absent: it was not done by a fault. */
  readonly cause?: Pick<Fault, 'id' | 'at' | 'targets'> | undefined;
}

export function isSame({ id, at }: Pick<Fault, 'id' | 'at'>): (other: Pick<Fault, 'id' | 'at'>) => boolean {
  return (other) => other.id === id && other.at === at;
}

function isLasting({ fault, endAt }: Breakage): boolean {
  return fault !== undefined && endAt === undefined;
}

export class Broken implements BreakWitness {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #list: Breakage[] = [];
  readonly #open = new Map<string, Breakage>();
  readonly #cause = new AsyncLocalStorage<NonNullable<Breakage['cause']>>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** Oldest first. */
  get list(): readonly Breakage[] {
    return [...this.#list];
  }

  get faults(): readonly Fault[] {
    return this.#list.flatMap(({ fault }) => fault ?? []);
  }

  during<T>(cause: NonNullable<Breakage['cause']>, work: () => Promise<T>): Promise<T> {
    return this.#cause.run(cause, work);
  }

  note(fault: Fault): void {
    const { at, endAt, targets, text } = fault;
    const known = this.#list.findIndex((one) => one.fault !== undefined && isSame(fault)(one.fault));
    if (known >= 0) this.#list.splice(known, 1);
    this.#add({ at, endAt, targets, text, fault });
  }

  broke(target: string, text: string, what?: string): void {
    if (what !== undefined) this.mended(target, what);
    const entry = { at: this.#clock.now(), targets: [target], text, cause: this.#cause.getStore() };
    if (what !== undefined) this.#open.set(`${target} ${what}`, entry);
    this.#add(entry);
  }

  mended(target: string, what: string): void {
    const entry = this.#open.get(`${target} ${what}`);
    if (entry === undefined) return;
    this.#open.delete(`${target} ${what}`);
    const place = this.#list.indexOf(entry);
    if (place >= 0) this.#list[place] = { ...entry, endAt: this.#clock.now() };
  }

  /** A fault is added once begun: behind its effects, but before them in time. */
  #add(entry: Breakage): void {
    this.#list.splice(this.#list.findLastIndex(({ at }) => at <= entry.at) + 1, 0, entry);
    if (this.#list.length <= BROKEN_MAX) return;
    const oldest = this.#list.findIndex((one) => !isLasting(one));
    if (oldest >= 0) this.#list.splice(oldest, 1);
  }
}
