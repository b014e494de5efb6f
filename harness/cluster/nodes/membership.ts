/**
 * Changes of members that this process did not make: deaths, pauses, restarts, the chain's end. It keeps `node.state`
 * current.
 */
import type { Clock } from '../../../formats/clock.ts';
import { messageOf } from '../../base/errors.ts';
import {
  type Driver,
  type Exit,
  exitText,
  type Handle,
  LINK_PROXY,
  type Observed,
  type PartState,
} from '../../places/driver.ts';
import type { ClusterNode } from './cluster-node.ts';
import type { NodeSight } from './node-run.ts';

/** Short enough to notice a death while the requests that it broke still fail. */
const OBSERVE_PAUSE_MS = 200;
/** Of drivers that tell of changes: what nobody tells, such as a lost record, is still seen. */
const TOLD_PAUSE_MS = 5000;
const UNTOLD_MAX = 100;

/** An unrequested change to a node or the chain. */
export interface Incident {
  /** Name of a node, `chain` or `link-proxy`. */
  readonly part: string;
  /** What happened to it. */
  readonly what:
    | 'died'
    | 'was removed'
    | 'was stopped'
    | 'was paused'
    | 'was resumed'
    | 'was started'
    | 'was restarted'
    | 'stopped answering'
    | 'answers again'
    | 'cannot be seen';
  /** How it ended, if known, or why it cannot be seen or does not answer. */
  readonly how?: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

export function incidentText({ part, what, how }: Incident): string {
  return `${part} ${what}${how === undefined ? '' : ` (${how})`}`;
}

export interface MembershipDeps {
  readonly driver: Pick<Driver, 'observe' | 'onChange'>;
  readonly clock: Pick<Clock, 'now' | 'timer'>;
  readonly chain?: () => Handle | undefined;
  readonly linkProxy?: () => Handle | undefined;
  readonly refresh?: () => Promise<void>;
}

type Watched = Pick<ClusterNode, 'name' | 'wanted' | 'observe' | 'accept'>;

/** Watches the members of a cluster: `cluster.membership`. */
export class Membership {
  readonly #nodes: readonly Watched[];
  readonly #deps: MembershipDeps;
  readonly #listeners = new Set<(incident: Incident) => void>();
  readonly #unseen = new Set<string>();
  #untold: Incident[] = [];
  readonly #others = new Map<string, PartState>();
  readonly #telling: Disposable | undefined;
  #timer: Disposable | undefined;
  /** The next observation comes soon. */
  #isSoon = false;
  #observing: Promise<void> | undefined;
  #closed = false;

  /** @internal */
  constructor(nodes: readonly Watched[], deps: MembershipDeps) {
    this.#nodes = nodes;
    this.#deps = deps;
    this.#telling = deps.driver.onChange?.(() => this.#soon());
    this.#schedule(OBSERVE_PAUSE_MS);
  }

  /** Also reports incidents from before there was a listener. @returns removes the listener */
  onIncident(listener: (incident: Incident) => void): () => void {
    this.#listeners.add(listener);
    for (const incident of this.#untold.splice(0)) listener(incident);
    return () => void this.#listeners.delete(listener);
  }

  /** Observes all members now; when it resolves, every incident until then has been reported. */
  async observe(): Promise<void> {
    await this.#observing;
    await this.#observeOnce();
  }

  /** @internal */
  close(): void {
    this.#closed = true;
    this.#telling?.[Symbol.dispose]();
    this.#timer?.[Symbol.dispose]();
  }

  #schedule(pauseMs: number): void {
    if (this.#closed) return;
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#deps.clock.timer(pauseMs, () => void this.#look(), true);
  }

  async #look(): Promise<void> {
    this.#isSoon = false;
    // One that has begun may have passed what was told since.
    await this.observe();
    // What was told meanwhile has set the timer.
    if (!this.#isSoon) this.#schedule(this.#telling === undefined ? OBSERVE_PAUSE_MS : TOLD_PAUSE_MS);
  }

  #soon(): void {
    if (this.#isSoon) return;
    this.#isSoon = true;
    this.#schedule(OBSERVE_PAUSE_MS);
  }

  #observeOnce(): Promise<void> {
    this.#observing ??= this.#observeAll().finally(() => {
      this.#observing = undefined;
    });
    return this.#observing;
  }

  async #observeAll(): Promise<void> {
    await this.#guarded('the record', async () => this.#deps.refresh?.());
    await Promise.all([
      ...this.#nodes.map((node) => this.#guarded(node.name, () => this.#observeNode(node))),
      this.#guarded('chain', () => this.#observeOther('chain', this.#deps.chain)),
      this.#guarded(LINK_PROXY, () => this.#observeOther(LINK_PROXY, this.#deps.linkProxy)),
    ]);
  }

  async #guarded(part: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#unseen.delete(part);
    } catch (error) {
      if (this.#unseen.has(part)) return;
      this.#unseen.add(part);
      this.#tell({ part, what: 'cannot be seen', how: messageOf(error), at: this.#deps.clock.now() });
    }
  }

  async #observeNode(node: Watched): Promise<void> {
    const before = node.wanted;
    const seen = await node.observe();
    // This process changed it: no conclusion yet.
    if (before === undefined || node.wanted !== before) return;
    const what = incidentOf(before, seen);
    if (what === undefined) return;
    // One that left for good was stopped on purpose.
    await this.#deps.refresh?.();
    if (!this.#nodes.includes(node)) return;
    node.accept(seen);
    const how = what === 'stopped answering' ? seen.silence : endOf(what === 'died' ? seen.exit : undefined);
    this.#tell({ part: node.name, what, ...howText(how), at: this.#deps.clock.now() });
  }

  async #observeOther(part: string, find: (() => Handle | undefined) | undefined): Promise<void> {
    if (find === undefined) return;
    const handle = find();
    const { state, exit, silence }: Observed =
      handle === undefined ? { state: 'gone' } : await this.#deps.driver.observe(handle);
    const before = this.#others.get(part) ?? 'running';
    this.#others.set(part, state);
    if (before === state) return;
    const what = otherIncident(before, state, handle !== undefined);
    const how = state === 'silent' ? silence : endOf(state === 'gone' ? exit : undefined);
    this.#tell({ part, what, ...howText(how), at: this.#deps.clock.now() });
  }

  #tell(incident: Incident): void {
    if (this.#closed) return;
    if (this.#listeners.size === 0) this.#untold = [...this.#untold, incident].slice(-UNTOLD_MAX);
    for (const listener of this.#listeners) listener(incident);
  }
}

function incidentOf(
  before: Pick<NodeSight, 'state' | 'handle'>,
  { state, handle }: NodeSight,
): Incident['what'] | undefined {
  // Several times a second and node: mostly the very same one.
  const same = before.handle === handle || JSON.stringify(before.handle) === JSON.stringify(handle);
  const ran = before.state === 'running' || before.state === 'paused';
  if (!same && state === 'running') return ran ? 'was restarted' : 'was started';
  if (state === before.state) return same ? undefined : 'was restarted';
  if (state === 'new') return 'was removed';
  if (state === 'silent') return 'stopped answering';
  if (before.state === 'silent') return 'answers again';
  if (state === 'crashed' || state === 'killed') return ran ? 'died' : undefined;
  if (state === 'stopped') return ran ? 'was stopped' : undefined;
  if (state === 'paused') return 'was paused';
  return before.state === 'paused' ? 'was resumed' : 'was started';
}

function otherIncident(before: PartState, now: PartState, isKnown: boolean): Incident['what'] {
  if (now === 'gone') return isKnown ? 'died' : 'was removed';
  if (now === 'silent') return 'stopped answering';
  if (before === 'silent') return 'answers again';
  return now === 'paused' ? 'was paused' : 'was resumed';
}

function endOf(exit: Exit | undefined): string | undefined {
  return exit === undefined ? undefined : exitText(exit);
}

function howText(how: string | undefined): { how?: string } {
  return how === undefined ? {} : { how };
}
