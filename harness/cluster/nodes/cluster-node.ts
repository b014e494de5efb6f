import type { Clock } from '../../../formats/clock.ts';
import { clusterGone, HarnessError } from '../../base/errors.ts';
import type { LogPosition, PartLog } from '../../base/logs/file-log.ts';
import { type LogEntry, logEntry } from '../../base/logs/log-entry.ts';
import { type Probe, type ProbeResult, until } from '../../base/wait.ts';
import type { BreakWitness } from '../../chain/chain.ts';
import type { Uploaded } from '../../client/types.ts';
import type { Counts } from '../../flavours/tampered/settings.ts';
import {
  type Capabilities,
  type Capability,
  type Driver,
  type Handle,
  type NodePart,
  type Stats,
  type StoredPart,
} from '../../places/driver.ts';
import { DRIVER_FACTS } from '../../places/facts.ts';
import type { NodeRecord, RunRecord } from '../state/state.ts';
import { introduce, introducers } from './introductions.ts';
import { KnownNode } from './known-node.ts';
import {
  endOf,
  isThere,
  NodeRun,
  type NodeRunDeps,
  type NodeSight,
  type NodeState,
  type NodeWait,
} from './node-run.ts';

const READY_TIMEOUT_MS = 60_000;
const READINESS_REQUEST_MS = 2000;
const LOG_LINES_DEFAULT = 200;

export interface ClusterNodeDeps extends NodeRunDeps {
  readonly clock: Clock;
  readonly driver: Driver;
  readonly batch: () => string | undefined;
  readonly onUploaded: (node: ClusterNode, uploaded: Uploaded) => void;
  readonly all: () => readonly ClusterNode[];
  /** Called once the cluster or the node is gone. */
  readonly removed: () => void;
  readonly mayStart: () => HarnessError | undefined;
  readonly mayChange: () => HarnessError | undefined;
}

/** A node of a cluster: its addresses, its API, the operations on its process. From `cluster.nodes` or `cluster.node`. */
export class ClusterNode extends KnownNode {
  readonly #deps: ClusterNodeDeps;
  readonly #run: NodeRun;
  #retired = false;
  #gone = false;
  #wipes = 0;
  #launchedAt: LogPosition | undefined;

  /** @internal */
  constructor(index: number, record: NodeRecord, deps: ClusterNodeDeps) {
    super(index, record, { ...deps, onUploaded: (uploaded) => deps.onUploaded(this, uploaded) });
    this.#deps = deps;
    this.#run = new NodeRun(record.name, deps);
  }

  /** Its default batch: the first one it got. */
  get batch(): string | undefined {
    return this.#deps.batch();
  }

  /** Process on this machine that it runs in, as last seen; undefined when it runs in none. */
  get pid(): number | undefined {
    return this.#run.sight.pid;
  }

  /** As last seen: after every action on it, and several times a second by the cluster. */
  get state(): NodeState {
    return this.#run.sight.state;
  }

  /** Whether it takes part in the network, as last seen. */
  get running(): boolean {
    return this.state === 'running';
  }

  /** @internal */
  observe(): Promise<NodeSight> {
    return this.#run.observe();
  }

  /** The state this process wants it in; undefined while this process changes it, and before anything is known. @internal */
  get wanted(): Pick<NodeSight, 'state' | 'handle'> | undefined {
    return this.#run.wanted;
  }

  /** How often this process has changed its state. @internal */
  get changes(): number {
    return this.#run.changes;
  }

  /** How often this process has removed what it had stored. @internal */
  get wipes(): number {
    return this.#wipes;
  }

  /** Gives it the list of what this process breaks. @internal */
  tell(witness: BreakWitness): void {
    this.#run.tell(witness);
  }

  /** Accepts its present state: only later changes are reported. @internal */
  accept(sight: NodeSight): void {
    this.#run.accept(sight);
  }

  /** Refuses all further starts: the cluster is being stopped. @internal */
  retire(): void {
    this.#retired = true;
  }

  /** Its cluster has been torn down. @internal */
  tornDown(): void {
    this.#gone = true;
    this.#run.tornDown();
  }

  /** Whether its driver has that capability. */
  can(capability: Capability): boolean {
    return this.#deps.driver.can[capability] !== undefined;
  }

  /** Whether what it has stored can be seen without asking it, also while it does not run. */
  get isTransparent(): boolean {
    return this.#deps.driver.holds !== undefined;
  }

  /** Whether a chunk is in its local store. Asks it only where that cannot be seen. @param address 64 hex digits */
  async holds(address: string, signal?: AbortSignal): Promise<boolean> {
    return this.#deps.driver.holds?.(this.name, address) ?? this.chunks.has(address, signal);
  }

  /** Its resource usage since it started; values the driver cannot determine are absent. */
  stats(): Promise<Stats> {
    const run = this.#run.record;
    return run === undefined ? Promise.resolve({}) : this.#deps.driver.stats(run.handle);
  }

  /** Why this process could not start it again once stopped; undefined: it could. */
  get startRefusal(): HarnessError | undefined {
    return this.#deps.mayStart();
  }

  /**
   * Starts it with the data it has, and waits until it is ready.
   * @throws HarnessError `NODE_STATE`, `PROCESS_FAILED`, `PORT_IN_USE`, `WAIT_TIMEOUT`
   */
  start(options: NodeWait = {}): Promise<void> {
    return this.#run.change(async () => {
      this.#expectOurs('start');
      const refused = this.#deps.mayStart();
      if (refused !== undefined) throw refused;
      await this.startInTurn(options);
    });
  }

  /** The caller keeps all others from starting it. @internal */
  startInTurn(options: NodeWait = {}): Promise<void> {
    return this.#run.change(async () => {
      if (isThere(await this.observe())) throw this.#wrongState('start', 'it runs already');
      await this.launch();
      await this.ready(options);
      await this.joined(options);
    });
  }

  /** It has a peer and all that it needs to serve. @throws HarnessError `WAIT_TIMEOUT` @internal */
  async joined(options: NodeWait = {}): Promise<void> {
    await this.#until('takes no part', (signal) => this.#participation(signal), options);
  }

  /** What a node with peers still lacks before it can serve. @internal */
  lacking(signal: AbortSignal): Promise<string | undefined> {
    return this.program.lacking?.(this.client, signal) ?? Promise.resolve(undefined);
  }

  /** Does not wait for `ready`. @internal */
  launch(): Promise<Handle> {
    return this.#run.change(async () => {
      if (this.#retired) throw this.#wrongState('start', 'the cluster is being stopped');
      this.#launchedAt = await this.output.end();
      const { name, binary, dataDir, log } = this;
      const part: NodePart = { kind: 'node', name, flavour: this.program, binary, dataDir, log };
      const { handle } = await this.#deps.driver.start(part);
      // Without a record it could never be found.
      if (this.#retired || !this.#deps.exists() || this.#deps.hasLeft()) {
        await this.#deps.driver.stop(handle, 0);
        this.#deps.removed();
        throw this.#wrongState('start', `it has been removed meanwhile, or cluster '${this.#deps.cluster}'`);
      }
      await this.#run.write({ handle, state: 'running' });
      return handle;
    });
  }

  /** @throws HarnessError `PROCESS_FAILED` when it ended, `PORT_IN_USE` when that was the reason, `WAIT_TIMEOUT` */
  async ready(options: NodeWait = {}): Promise<void> {
    await this.#until('is not ready', (signal) => this.#readiness(signal), options);
  }

  #until(
    what: string,
    probe: Probe<true>,
    { timeoutMs = READY_TIMEOUT_MS, signal }: NodeWait,
  ): Promise<true> {
    const probeRunning = async (limit: AbortSignal) => {
      const { state } = await this.observe();
      if (state === 'paused') return { missing: `${this.name} is paused` };
      if (state !== 'running') throw await this.#ended();
      return probe(limit);
    };
    return until(`${this.name} ${what}`, probeRunning, { clock: this.#deps.clock, timeoutMs, signal });
  }

  /** Undefined: it has a process. @internal */
  async whyEnded(): Promise<HarnessError | undefined> {
    return isThere(await this.observe()) ? undefined : this.#ended();
  }

  /** Asks it to stop and waits. @returns whether it had to be ended by force @throws HarnessError `NODE_STATE` */
  stop(): Promise<{ forced: boolean }> {
    const { driver } = this.#deps;
    return this.#end('stop', 'stopped', (handle) => driver.stop(handle, this.program.stopGraceMs));
  }

  /** Ends it at once: nothing is flushed and no peer is notified. @throws HarnessError `NODE_STATE` */
  async kill(): Promise<void> {
    const driver = this.#able('kill', 'kill');
    return this.#end('kill', 'killed', (handle) => driver.kill(handle));
  }

  /** @returns what its disk has lost @throws HarnessError `NODE_STATE` @internal */
  async cutPower(torn = 0): Promise<Counts> {
    const driver = this.#able('cut the power of', 'power');
    return this.#end('cut the power of', 'killed', (handle) => driver.cutPower(handle, torn));
  }

  #end<T>(action: string, state: 'stopped' | 'killed', end: (handle: Handle) => Promise<T>): Promise<T> {
    return this.#run.change(async () => {
      const { handle } = await this.#requireRunning(action);
      this.#run.intend({ handle, state });
      const ended = await end(handle);
      await this.#run.write({ handle, state });
      return ended;
    });
  }

  /** Freezes it: connections stay open and nothing answers. @throws HarnessError `NODE_STATE` */
  pause(): Promise<void> {
    return this.#run.change(async () => {
      const driver = this.#able('pause', 'pause');
      const { handle } = await this.#requireRunning('pause');
      await driver.pause(handle);
      await this.#run.write({ handle, state: 'paused' });
    });
  }

  /** Lets it go on where it was paused. @throws HarnessError `NODE_STATE` */
  resume(): Promise<void> {
    return this.#run.change(async () => {
      const driver = this.#able('resume', 'pause');
      const { handle } = await this.#requireRunning('resume');
      await driver.resume(handle);
      await this.#run.write({ handle, state: 'running' });
    });
  }

  /** Removes everything that the stopped node has stored; its keys stay. @throws HarnessError `NODE_STATE` */
  async wipe(): Promise<void> {
    const driver = this.#able('wipe', 'data');
    const stored = await this.#stored('wipe');
    this.#wipes++;
    await driver.wipe(stored);
  }

  /**
   * Flips a bit in this many stored chunks of the stopped node.
   * @returns how many chunks were damaged @throws HarnessError `NODE_STATE`
   */
  async damage(chunks: number): Promise<number> {
    const driver = this.#able('damage', 'data');
    return driver.damage(await this.#stored('damage'), chunks);
  }

  /**
   * Works even while it is not running.
   * @param bytes that it may use from now on @returns its previous limit @throws HarnessError `NODE_STATE`
   */
  async limitMemory(bytes: number): Promise<number> {
    const action = 'limit the memory of';
    const driver = this.#able(action, 'memory');
    const run = this.#run.record;
    if (run === undefined) throw this.#wrongState(action, 'it has never run');
    return driver.limitMemory(run.handle, bytes);
  }

  /** Its log, read from where `log` says it is. */
  get output(): PartLog {
    return this.#deps.driver.logs(this);
  }

  /** The last lines of its log, oldest first. @param options.lines how many; default: 200 */
  logs(options: { lines?: number } = {}): Promise<string[]> {
    return this.output.tail(options.lines ?? LOG_LINES_DEFAULT);
  }

  /** Errors it has logged since the position `since` (`said.end()`); by default all. */
  async loggedErrors(since?: LogPosition): Promise<LogEntry[]> {
    return (await this.output.since(since)).flatMap((line) => {
      const entry = logEntry(line);
      return entry?.level === 'error' ? [entry] : [];
    });
  }

  async #readiness(signal: AbortSignal): Promise<ProbeResult<true>> {
    try {
      using limit = this.#deps.clock.deadline(READINESS_REQUEST_MS, signal);
      await this.client.readiness(limit.signal);
      return { done: true };
    } catch (error) {
      return { missing: error instanceof Error ? error.message : String(error) };
    }
  }

  async #participation(signal: AbortSignal): Promise<ProbeResult<true>> {
    const all = this.#deps.all();
    if (introducers(this, all).length === 0) return { done: true };
    const introduced = await introduce(this, all, signal);
    if ('missing' in introduced) return introduced;
    const lacking = await this.lacking(signal);
    return lacking === undefined ? { done: true } : { missing: `${this.name} ${lacking}` };
  }

  #ended(): Promise<HarnessError> {
    return endOf(this, this.#run.sight, this.#launchedAt);
  }

  async #requireRunning(action: string): Promise<RunRecord> {
    this.#expectOurs(action);
    const sight = await this.observe();
    const run = this.#run.record;
    if (run === undefined || !isThere(sight)) throw this.#wrongState(action, `it is ${sight.state}`);
    return run;
  }

  async #stored(action: string): Promise<StoredPart> {
    const sight = await this.observe();
    const run = this.#run.record;
    if (run === undefined || isThere(sight))
      throw this.#wrongState(action, `it is ${sight.state}, expected it to be stopped`);
    const refused = this.#deps.mayChange();
    if (refused !== undefined) throw refused;
    return { name: this.name, dataDir: this.dataDir, flavour: this.program, handle: run.handle };
  }

  #able<C extends Capability>(action: string, needed: C): NonNullable<Capabilities[C]> {
    this.#expectOurs(action);
    const { can, name } = this.#deps.driver;
    if (can[needed] !== undefined) return can[needed];
    throw this.#wrongState(action, `the ${name} driver cannot do that`);
  }

  #expectOurs(action: string): void {
    if (this.#gone) throw clusterGone(this.#deps.cluster);
    if (!DRIVER_FACTS[this.#deps.driver.name].owned)
      throw this.#wrongState(action, 'it was not started here');
  }

  #wrongState(action: string, why: string): HarnessError {
    return new HarnessError('NODE_STATE', `cannot ${action} ${this.name}: ${why}`);
  }
}
