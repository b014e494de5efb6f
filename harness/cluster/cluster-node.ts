/** One node of a cluster: what it is called and where it is, its client, and what can be done to its process. */

import { HarnessError, logFailure } from '../base/errors.ts';
import { type Seen, until } from '../base/wait.ts';
import { NodeClient } from '../client/node-client.ts';
import type { Uploaded } from '../client/types.ts';
import type { Flavour, FlavourName, NodeMode } from '../flavours/flavour.ts';
import { FLAVOURS } from '../flavours/table.ts';
import { type LogEntry, logEntry } from '../logs/log-entry.ts';
import { linesSince, logSize, tail } from '../logs/logs.ts';
import type { ProcessId } from '../machine/processes.ts';
import type { Driver, Exit, Running } from '../places/driver.ts';
import { type NodeRecord, type RunRecord, type RunState, readRun, writeRun } from '../state/state.ts';
import { introduce, introducers } from './introductions.ts';

const READY_TIMEOUT_MS = 60_000;
/** One look at a node that does not answer yet. */
const READINESS_REQUEST_MS = 2000;
const LOG_LINES_DEFAULT = 200;
const LOG_LINES_SHOWN = 15;

/** `crashed`: it should run, but its process is gone. */
export type NodeState = RunState | 'crashed' | 'new';

export interface ClusterNodeDeps {
  readonly driver: Driver;
  readonly stateDir: string;
  readonly cluster: string;
  /** Default batch of uploads. */
  readonly batch: () => string | undefined;
  readonly onUploaded: (node: ClusterNode, uploaded: Uploaded) => void;
  /** All nodes of the cluster. */
  readonly all: () => readonly ClusterNode[];
  /** Why this process must not start nodes, if so. */
  readonly mayStart: () => HarnessError | undefined;
}

export class ClusterNode {
  readonly index: number;
  readonly name: string;
  readonly flavour: FlavourName;
  readonly mode: NodeMode;
  /** Path of its program, of flavours that need one. */
  readonly binary: string | undefined;
  /** 64 hex digits. */
  readonly overlay: string;
  /** 40 hex digits. */
  readonly ethereum: string;
  /** URLs. */
  readonly api: string;
  readonly debug: string;
  /** Multiaddress with peer id. */
  readonly p2p: string;
  readonly dataDir: string;
  /** Path of the log file. */
  readonly log: string;
  readonly client: NodeClient;
  readonly #deps: ClusterNodeDeps;
  readonly #flavour: Flavour;
  #exit: Exit | undefined;

  constructor(index: number, record: NodeRecord, deps: ClusterNodeDeps) {
    const url = (port: number) => `http://${deps.driver.host}:${port}`;
    this.index = index;
    this.name = record.name;
    this.flavour = record.flavour;
    this.mode = record.mode;
    this.binary = record.binary;
    this.overlay = record.overlay;
    this.ethereum = record.ethereum;
    this.api = url(record.ports.api);
    this.debug = url(record.ports.debug);
    this.p2p = record.p2p;
    this.dataDir = record.dataDir;
    this.log = record.log;
    this.#deps = deps;
    this.#flavour = FLAVOURS[record.flavour];
    this.client = new NodeClient({
      node: record.name,
      api: this.api,
      debug: this.debug,
      dialect: this.#flavour.dialect,
      defaultBatch: deps.batch,
      onUploaded: (uploaded) => deps.onUploaded(this, uploaded),
    });
  }

  get bytes(): NodeClient['bytes'] {
    return this.client.bytes;
  }
  get chunks(): NodeClient['chunks'] {
    return this.client.chunks;
  }
  get files(): NodeClient['files'] {
    return this.client.files;
  }
  get soc(): NodeClient['soc'] {
    return this.client.soc;
  }
  get feeds(): NodeClient['feeds'] {
    return this.client.feeds;
  }
  get messages(): NodeClient['messages'] {
    return this.client.messages;
  }
  get grantees(): NodeClient['grantees'] {
    return this.client.grantees;
  }
  get stamps(): NodeClient['stamps'] {
    return this.client.stamps;
  }
  get tags(): NodeClient['tags'] {
    return this.client.tags;
  }
  get pins(): NodeClient['pins'] {
    return this.client.pins;
  }
  get stewardship(): NodeClient['stewardship'] {
    return this.client.stewardship;
  }
  get chequebook(): NodeClient['chequebook'] {
    return this.client.chequebook;
  }
  get wallet(): NodeClient['wallet'] {
    return this.client.wallet;
  }
  get stake(): NodeClient['stake'] {
    return this.client.stake;
  }
  get redistribution(): NodeClient['redistribution'] {
    return this.client.redistribution;
  }
  get transactions(): NodeClient['transactions'] {
    return this.client.transactions;
  }
  /** The batch it got when the cluster started. */
  get batch(): string | undefined {
    return this.#deps.batch();
  }

  /** Undefined when no process of it runs. */
  get pid(): number | undefined {
    const run = this.#run();
    return run !== undefined && this.#deps.driver.alive(run.process) ? run.process.pid : undefined;
  }

  get state(): NodeState {
    const run = this.#run();
    if (run === undefined) return 'new';
    const expected = run.state === 'running' || run.state === 'paused';
    return expected && !this.#deps.driver.alive(run.process) ? 'crashed' : run.state;
  }

  /** Whether it takes part in the network now. */
  get running(): boolean {
    return this.state === 'running';
  }

  /** Starts it where it was left, and waits until it is ready. @throws HarnessError */
  async start(options: { timeoutMs?: number; signal?: AbortSignal } = {}): Promise<void> {
    const refused = this.#deps.mayStart();
    if (refused !== undefined) throw refused;
    if (this.pid !== undefined) throw this.#wrongState('start', 'it runs already');
    await this.launch();
    await this.ready(options);
    await until<true>(`${this.name} takes no part`, (signal) => this.#participation(signal), {
      timeoutMs: options.timeoutMs ?? READY_TIMEOUT_MS,
      signal: options.signal,
    });
  }

  /** What a node with peers still lacks before it serves; undefined when nothing. */
  lacking(signal: AbortSignal): Promise<string | undefined> {
    return this.#flavour.lacking?.(this.client, signal) ?? Promise.resolve(undefined);
  }

  /** Starts its process and returns it; `ready` waits for the rest. */
  async launch(): Promise<ProcessId> {
    const running: Running = await this.#deps.driver.start({
      flavour: this.#flavour,
      binary: this.binary,
      dataDir: this.dataDir,
      log: this.log,
    });
    this.#exit = undefined;
    void this.#noteExit(running);
    this.#write({ process: running.id, state: 'running' });
    return running.id;
  }

  /** @throws HarnessError `PROCESS_FAILED` when it ended, `PORT_IN_USE` when that was why, `WAIT_TIMEOUT` */
  async ready(options: { timeoutMs?: number; signal?: AbortSignal | undefined } = {}): Promise<void> {
    await until<true>(`${this.name} is not ready`, (signal) => this.#readiness(signal), {
      timeoutMs: options.timeoutMs ?? READY_TIMEOUT_MS,
      signal: options.signal,
    });
  }

  /** Asks it to stop and waits until it has. @returns whether it had to be ended by force */
  async stop(): Promise<{ forced: boolean }> {
    const run = this.#alive('stop');
    const ended = await this.#deps.driver.stop(run.process, this.#flavour.stopGraceMs);
    this.#write({ process: run.process, state: 'stopped' });
    return ended;
  }

  /** Ends it at once, as a power cut would: nothing is flushed, no peer is told. */
  async kill(): Promise<void> {
    const run = this.#alive('kill');
    await this.#deps.driver.kill(run.process);
    this.#write({ process: run.process, state: 'killed' });
  }

  /** Freezes its process: connections stay open and nothing answers. */
  async pause(): Promise<void> {
    const run = this.#alive('pause');
    await this.#deps.driver.pause(run.process);
    this.#write({ process: run.process, state: 'paused' });
  }

  async resume(): Promise<void> {
    const run = this.#alive('resume');
    await this.#deps.driver.resume(run.process);
    this.#write({ process: run.process, state: 'running' });
  }

  /** Last lines of its log, oldest first. */
  logs(options: { lines?: number } = {}): string[] {
    return tail(this.log, options.lines ?? LOG_LINES_DEFAULT);
  }

  /** Where its log ends now, for `loggedErrors`. */
  get logEnd(): number {
    return logSize(this.log);
  }

  /** What it has complained about since its log ended at `since`; by default ever. */
  loggedErrors(since = 0): LogEntry[] {
    return linesSince(this.log, since).flatMap((line) => {
      const entry = logEntry(line);
      return entry?.level === 'error' ? [entry] : [];
    });
  }

  async #readiness(signal: AbortSignal): Promise<Seen<true>> {
    if (this.state !== 'running') throw this.#ended();
    try {
      await this.client.readiness(AbortSignal.any([signal, AbortSignal.timeout(READINESS_REQUEST_MS)]));
      return { done: true };
    } catch (error) {
      return { missing: error instanceof Error ? error.message : String(error) };
    }
  }

  /** Only among others can it take part. */
  async #participation(signal: AbortSignal): Promise<Seen<true>> {
    if (this.state !== 'running') throw this.#ended();
    const all = this.#deps.all();
    if (introducers(this, all).length === 0) return { done: true };
    const introduced = await introduce(this, all, signal);
    if ('missing' in introduced) return introduced;
    const lacking = await this.lacking(signal);
    return lacking === undefined ? { done: true } : { missing: `${this.name} ${lacking}` };
  }

  async #noteExit(running: Running): Promise<void> {
    this.#exit = await running.exited;
  }

  #ended(): HarnessError {
    const unwritten = logFailure(this.log);
    if (unwritten !== undefined) return unwritten;
    const lines = this.logs({ lines: LOG_LINES_SHOWN });
    const how = this.#exit === undefined ? '' : ` (${this.#exit.signal ?? `exit code ${this.#exit.code}`})`;
    const inUse = lines.some((line) => line.includes('address already in use'));
    return new HarnessError(
      inUse ? 'PORT_IN_USE' : 'PROCESS_FAILED',
      `${this.name}${this.#programText()} has ended${how}`,
      {
        hint: [`${this.log}:`, ...lines.map((line) => `  ${line}`)].join('\n'),
      },
    );
  }

  #programText(): string {
    return this.binary === undefined ? '' : ` (${this.flavour}, ${this.binary})`;
  }

  #alive(action: string): RunRecord {
    const run = this.#run();
    if (run === undefined || !this.#deps.driver.alive(run.process)) {
      throw this.#wrongState(action, `it is ${this.state}`);
    }
    return run;
  }

  #wrongState(action: string, why: string): HarnessError {
    return new HarnessError('NODE_STATE', `cannot ${action} ${this.name}: ${why}`);
  }

  #run(): RunRecord | undefined {
    return readRun(this.#deps.stateDir, this.#deps.cluster, this.name);
  }

  #write(run: RunRecord): void {
    writeRun(this.#deps.stateDir, this.#deps.cluster, this.name, run);
  }
}
