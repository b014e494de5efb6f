import type { z } from 'zod';
import type { Clock } from '../../../formats/clock.ts';
import { valueText } from '../../base/arguments.ts';
import { HarnessError, interrupted, messageOf } from '../../base/errors.ts';
import { inLine, LONG_LINE_MAX } from '../../base/foreign-text.ts';
import { suggestion } from '../../base/format.ts';
import { allAtMost, orLate } from '../../base/wait.ts';
import { startedWithout } from '../../places/driver.ts';
import { type ActiveFault, ActiveFaults } from './active.ts';
import { type Breakage, Broken, isSame } from './broken.ts';
import type { Effect, Fault, FaultContext, FaultKind, FaultRequest, FaultStart } from './fault.ts';
import { LINK, type LinkInput } from './links/link.ts';
import { MESSAGE, type MessageInput } from './links/message.ts';
import { ISOLATE, PARTITION } from './links/partition.ts';
import { FAULT_KINDS } from './table.ts';

const BEGIN_WAIT_MS = 10_000;
/** Ending most faults starts a node, which keeps a core busy for a moment. */
const ENDED_AT_ONCE = 8;

/** The faults of a cluster: `cluster.faults`. */
export class Faults {
  readonly #context: FaultContext;
  readonly #active: ActiveFaults;
  readonly #kinds: readonly FaultKind[];
  readonly #broken: Broken;
  readonly #beginning = new Map<Promise<Fault>, AbortController>();
  readonly #ending = new Map<string, Promise<Fault>>();
  readonly #abandoned = new AbortController();
  #begun = 0;

  constructor(context: FaultContext, kinds: readonly FaultKind[] = FAULT_KINDS) {
    this.#context = context;
    this.#broken = new Broken(context.clock);
    this.#active = new ActiveFaults(context.folder);
    this.#kinds = kinds;
    this.watch([...context.nodes, context.chain]);
  }

  /** Records what is done to these parts from now on. @internal */
  watch(parts: readonly { tell(witness: Broken): void }[]): void {
    for (const part of parts) part.tell(this.#broken);
  }

  /** Of their beginnings and ends. */
  get clock(): Clock {
    return this.#context.clock;
  }

  /** Faults begun by this process, oldest first, with the effect at their end or when last observed. */
  get history(): readonly Fault[] {
    return this.#broken.faults;
  }

  /** All that this process has broken, oldest first: its faults, what they did, and what was done without a fault. */
  get broken(): readonly Breakage[] {
    return this.#broken.list;
  }

  /**
   * Breaks something, until `heal`.
   * @param options.signal undoes what was done up to then: a rolling restart brings back the node it took
   * away
   * @throws HarnessError `ARGUMENT_INVALID` naming what was wrong with the request, `FAULT_REFUSED` when it cannot be done
   * to this cluster, `INTERRUPTED` saying what could not be undone, `CLUSTER_GONE` when it is removed meanwhile
   */
  async begin(request: FaultRequest, { signal }: { signal?: AbortSignal } = {}): Promise<Fault> {
    this.#abandoned.signal.throwIfAborted();
    const stop = new AbortController();
    const work = this.#begin(request, { signal, stop: stop.signal });
    this.#beginning.set(work, stop);
    try {
      return await work;
    } finally {
      this.#beginning.delete(work);
    }
  }

  async #begin(
    request: FaultRequest,
    given: { readonly signal: AbortSignal | undefined; readonly stop: AbortSignal },
  ): Promise<Fault> {
    const signal = given.signal === undefined ? given.stop : AbortSignal.any([given.stop, given.signal]);
    const { kind, asked } = this.#parse(request);
    const complete = { kind: kind.name, ...(asked as object) };
    const targets = kind.targets(asked);
    for (const target of targets) if (target !== 'chain') this.#context.node(target);
    this.#expectCapability(kind);
    const note = kind.note?.(this.#context);
    const about = {
      kind: kind.name,
      request: complete,
      text: kind.text(asked),
      targets,
      note,
      at: this.#context.clock.now(),
    };
    const claimed = this.#active.claim(about);
    this.#expectUnset(kind, claimed);
    let active: ActiveFault = claimed;
    const start: FaultStart = {
      signal,
      key: `${claimed.id}-${claimed.at}-${this.#begun++}`,
      hold: (handle) => {
        active = { ...claimed, handle };
        this.#active.write(active);
      },
    };
    try {
      start.hold(await this.#broken.during(claimed, () => kind.begin(this.#context, asked, start)));
      if (kind.momentary !== true) given.signal?.throwIfAborted();
    } catch (error) {
      throw await this.#givenUp(kind, active, signal.aborted ? interrupted(signal) : error);
    }
    const fault = { ...claimed, effect: await this.#effectOf(active) };
    this.#active.note({ event: 'begin', ...fault });
    this.#broken.note(fault);
    return kind.momentary === true ? this.#end(active) : fault;
  }

  async #givenUp(kind: FaultKind, active: ActiveFault, why: unknown): Promise<unknown> {
    const { handle, ...claimed } = active;
    if (handle === undefined) {
      this.#active.remove(active);
      return why;
    }
    if (this.#abandoned.signal.aborted) return why;
    const code = why instanceof HarnessError ? why.code : 'FAULT_REFUSED';
    try {
      this.#active.note({ event: 'begin', ...claimed, effect: await this.#effectOf(active) });
      await this.#end(active);
    } catch (error) {
      if (this.#active.clusterGone) return why;
      this.#broken.note({ ...claimed, effect: await this.#effectOf(active) });
      const message = `${messageOf(why)}; ${active.id} (${active.text}) is not undone: ${messageOf(error)}`;
      const hint = `Undo it with: svcnet heal ${active.id} --name ${this.#context.name}`;
      return new HarnessError(code, message, { cause: why, hint });
    }
    const stays = kind.stays?.(handle);
    const undone = `${active.id} (${active.text}) is undone${stays === undefined ? '' : `, but ${stays}`}`;
    const hint = why instanceof HarnessError ? why.hint : undefined;
    return new HarnessError(code, `${messageOf(why)}; ${undone}`, { cause: why, hint });
  }

  /**
   * Makes links between nodes bad, until `heal`.
   * @param from,to names of nodes, or `all` @param conditions durations in milliseconds or as text such as `200ms`
   * @throws HarnessError as `begin`
   */
  link(from: NodeNames, to: NodeNames, conditions: LinkInput): Promise<Fault> {
    return this.begin({ kind: LINK.name, from: asList(from), to: asList(to), ...conditions });
  }

  /**
   * Separates groups of nodes. @param options.mode `reset` breaks connections at once; default: `drop`,
   * connections stall
   */
  partition(
    groups: readonly NodeNames[],
    options: { oneWay?: true; mode?: 'drop' | 'reset' } = {},
  ): Promise<Fault> {
    return this.begin({ kind: PARTITION.name, groups: groups.map(asList), ...options });
  }

  /** Separates a node from all others. @throws HarnessError `NODE_NOT_FOUND`, `FAULT_REFUSED` */
  isolate(node: string, options: { mode?: 'drop' | 'reset' } = {}): Promise<Fault> {
    return this.begin({ kind: ISOLATE.name, node, ...options });
  }

  /** Drops, delays, repeats or changes single messages, in a cluster with a tap. @throws HarnessError as `begin` */
  message({ from, to, ...selection }: MessageInput): Promise<Fault> {
    const ends = {
      ...(from === undefined ? {} : { from: asList(from) }),
      ...(to === undefined ? {} : { to: asList(to) }),
    };
    return this.begin({ kind: MESSAGE.name, ...ends, ...selection });
  }

  /** All active faults, from any process, with their effect so far. */
  async list(): Promise<Fault[]> {
    return Promise.all(
      this.#active.list().map(async (active) => {
        const fault = { ...withoutHandle(active), effect: await this.#effectOf(active) };
        if (this.history.some(isSame(fault))) this.#broken.note(fault);
        return fault;
      }),
    );
  }

  /** The same without their effect, from disk alone. */
  get active(): readonly Omit<Fault, 'effect'>[] {
    return this.#active.list().map(withoutHandle);
  }

  /**
   * Ends one fault, or all: side by side, but those of one node the latest first, those that start nodes after
   * all others, and arrivals last. One that cannot be ended does not keep the others from ending.
   * @returns what has ended, with its effect @throws HarnessError `ARGUMENT_INVALID` for an id that is not active,
   * `FAULT_REFUSED` naming what could not be ended, `CLUSTER_GONE`
   */
  async heal(id?: string): Promise<Fault[]> {
    const all = this.#active.list();
    const meant = id === undefined ? all.toReversed() : all.filter((fault) => fault.id === id);
    if (id !== undefined && meant.length === 0) {
      const known = all.length === 0 ? 'none is' : `active: ${all.map((fault) => fault.id).join(', ')}`;
      throw new HarnessError('ARGUMENT_INVALID', `no fault '${id}' is active (${known})`);
    }
    return this.#endAll(meant);
  }

  async #endAll(meant: readonly ActiveFault[]): Promise<Fault[]> {
    const failures: string[] = [];
    const ended: Fault[] = [];
    for (const stage of [0, 1, 2]) {
      const due = meant.filter(({ kind }) => this.#stageOf(kind) === stage);
      ended.push(...(await this.#endTogether(due, failures)));
    }
    if (failures.length === 0) return ended;
    this.#active.expectCluster();
    throw new HarnessError('FAULT_REFUSED', `cannot heal ${failures.join('; ')}`);
  }

  /** Later stages end later. Nodes that start need what other faults broke; nodes that leave must have no fault. */
  #stageOf(name: string): 0 | 1 | 2 {
    const kind = this.#kinds.find((one) => one.name === name);
    if (kind?.layer === 'members') return 2;
    return kind?.startsNodes === true ? 1 : 0;
  }

  /** Faults of one target end one after the other, as given. @param failures receives what could not be ended, and why */
  async #endTogether(meant: readonly ActiveFault[], failures: string[]): Promise<Fault[]> {
    const endAfter = async (active: ActiveFault, earlier: readonly unknown[]): Promise<Fault[]> => {
      await Promise.all(earlier);
      try {
        return [await this.#end(active)];
      } catch (error) {
        failures.push(`${active.id} (${active.text}): ${messageOf(error)}`);
        return [];
      }
    };
    const lastOf = new Map<string, Promise<Fault[]>>();
    const endings = meant.map((active) => () => {
      const ending = endAfter(
        active,
        active.targets.map((target) => lastOf.get(target)),
      );
      for (const target of active.targets) lastOf.set(target, ending);
      return ending;
    });
    return (await allAtMost(ENDED_AT_ONCE, endings)).flat();
  }

  /**
   * Ends the faults that this process began and nothing else has ended since, as `heal` does. A fault that is
   * just beginning is stopped half-way and undone.
   * @throws HarnessError `FAULT_REFUSED` naming what could not be ended
   */
  async healOwn(): Promise<Fault[]> {
    this.#stopBeginning(new HarnessError('INTERRUPTED', 'all faults of this process are being healed'));
    const begun = Promise.allSettled(this.#beginning.keys());
    await orLate(begun, { clock: this.#context.clock, ms: BEGIN_WAIT_MS, late: undefined });
    const own = this.#active.list().filter((fault) => this.history.some(isSame(fault)));
    return this.#endAll(own.toReversed());
  }

  /** Before the cluster is removed: stops faults that are beginning, and lets none begin. Undoes nothing. @internal */
  abandon(): void {
    const why = new HarnessError('INTERRUPTED', `cluster '${this.#context.name}' is being removed`);
    this.#abandoned.abort(why);
    this.#stopBeginning(why);
  }

  #stopBeginning(why: HarnessError): void {
    for (const stop of this.#beginning.values()) stop.abort(why);
  }

  #end(active: ActiveFault): Promise<Fault> {
    const key = `${active.id} ${active.at}`;
    const known = this.#ending.get(key);
    if (known !== undefined) return known;
    const ending = this.#endOnce(active).finally(() => this.#ending.delete(key));
    this.#ending.set(key, ending);
    return ending;
  }

  async #endOnce(active: ActiveFault): Promise<Fault> {
    const before = await this.#effectOf(active);
    const { handle } = active;
    if (handle !== undefined && !this.#haveLeft(active.targets))
      await this.#broken.during(active, () => this.#kind(active.kind).end(this.#context, handle));
    const effect = atLeast(before, await this.#effectOf(active));
    const fault = { ...withoutHandle(active), endAt: this.#context.clock.now(), effect };
    this.#active.note({ event: 'end', ...fault });
    this.#active.remove(active);
    this.#broken.note(fault);
    return fault;
  }

  #haveLeft(targets: readonly string[]): boolean {
    const { nodes } = this.#context;
    const isThere = (target: string) => target === 'chain' || nodes.some(({ name }) => name === target);
    return targets.length > 0 && !targets.some(isThere);
  }

  /** So far, or as last known: a fault must be healed even after the proxy's death. */
  async #effectOf(active: ActiveFault): Promise<Effect> {
    const { kind, handle } = active;
    if (handle === undefined) return {};
    try {
      return await this.#kind(kind).effect(this.#context, handle);
    } catch {
      return this.history.find(isSame(active))?.effect ?? {};
    }
  }

  #parse({ kind: name, ...fields }: FaultRequest): { kind: FaultKind; asked: unknown } {
    const kind = this.#kind(name);
    const parsed = kind.schema.safeParse(fields);
    if (parsed.success) return { kind, asked: parsed.data };
    const mistakes = parsed.error.issues.map((issue) => mistakeText(issue, fields));
    throw new HarnessError(
      'ARGUMENT_INVALID',
      `fault ${name}: ${inLine(mistakes.join('; '), LONG_LINE_MAX)}`,
    );
  }

  #kind(name: string): FaultKind {
    const found = this.#kinds.find((kind) => kind.name === name);
    if (found !== undefined) return found;
    const known = this.#kinds.map((kind) => kind.name);
    throw new HarnessError(
      'ARGUMENT_INVALID',
      `no fault '${name}'${suggestion(name, known)} (known: ${known.join(', ')})`,
    );
  }

  /** After the claim: of two that begin at once, the earlier goes on. */
  #expectUnset(kind: FaultKind, claimed: ActiveFault): void {
    const set = kind.sets?.(claimed.request);
    if (set === undefined) return;
    const all = this.#active.list();
    const before = all.slice(
      0,
      all.findIndex(({ id }) => id === claimed.id),
    );
    const other = before.find((fault) => this.#kind(fault.kind).sets?.(fault.request) === set);
    if (other === undefined) return;
    this.#active.remove(claimed);
    throw new HarnessError(
      'FAULT_REFUSED',
      `fault ${kind.name}: ${other.id} (${other.text}) has already changed ${set}`,
      {
        hint: `End it first: svcnet heal ${other.id} --name ${this.#context.name}`,
      },
    );
  }

  #expectCapability({ name, capability }: FaultKind): void {
    const { driver } = this.#context;
    if (capability === undefined || driver.can[capability] !== undefined) return;
    const without = startedWithout(driver.name, capability);
    if (without !== undefined) {
      const why = `fault ${name}: ${without.absent(this.#context.name)}`;
      const hint = `Start one with them: ${without.start}`;
      throw new HarnessError('FAULT_REFUSED', why, { hint });
    }
    throw new HarnessError('FAULT_REFUSED', `fault ${name}: the ${driver.name} driver cannot do that`);
  }
}

/** A restarted node has forgotten its counts. */
function atLeast(before: Effect, after: Effect): Effect {
  const counted = Object.entries(before).map(([what, count]) => [what, Math.max(count, after[what] ?? 0)]);
  return { ...after, ...Object.fromEntries(counted) };
}

function mistakeText(
  { code, message, path }: z.core.$ZodIssue,
  fields: Readonly<Record<string, unknown>>,
): string {
  if (code === 'unrecognized_keys') return message;
  if (path.length === 0) return `expected ${message}`;
  const given = path.reduce<unknown>(
    (value, key) => (value as Readonly<Record<PropertyKey, unknown>> | undefined)?.[key],
    fields,
  );
  return `${path.join('.')}: got ${given === undefined ? 'nothing' : valueText(given)}, expected ${message}`;
}

/** One name, or several. */
export type NodeNames = string | readonly string[];

function asList(names: NodeNames): readonly string[] {
  return typeof names === 'string' ? [names] : names;
}

function withoutHandle(active: ActiveFault): Omit<ActiveFault, 'handle'> {
  const { handle: _handle, ...fault } = active;
  return fault;
}
