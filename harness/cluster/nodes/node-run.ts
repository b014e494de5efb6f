import { endHint, HarnessError } from '../../base/errors.ts';
import type { LogPosition, PartLog } from '../../base/logs/file-log.ts';
import type { BreakWitness } from '../../chain/chain.ts';
import { type Driver, type Exit, exitText, type Handle, type Observed } from '../../places/driver.ts';
import { type NodeRecord, type RunRecord, type RunState, readRun, writeRun } from '../state/state.ts';

const LOG_LINES_SHOWN = 15;

const BROKEN: Readonly<Partial<Record<RunState, string>>> = {
  killed: 'was killed',
  paused: 'was paused',
  stopped: 'was stopped',
};

/** `crashed`: it should run, but does not. `silent`: svcnet did not start it, and it does not answer. */
export type NodeState = RunState | 'crashed' | 'silent' | 'new';

export interface NodeSight {
  readonly state: NodeState;
  /** Identifies the current start; undefined before the first. */
  readonly handle: Handle | undefined;
  readonly pid: number | undefined;
  /** Known only to the process that started it. */
  readonly exit: Exit | undefined;
  readonly silence?: string | undefined;
}

/** How long a node is waited for. */
export interface NodeWait {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const NEVER_STARTED: NodeSight = { state: 'new', handle: undefined, pid: undefined, exit: undefined };

export interface NodeRunDeps {
  readonly driver: Pick<Driver, 'observe'>;
  readonly stateDir: string;
  readonly cluster: string;
  readonly exists: () => boolean;
  readonly hasLeft: () => boolean;
}

export class NodeRun {
  readonly #name: string;
  readonly #deps: NodeRunDeps;
  #sight: NodeSight = NEVER_STARTED;
  #wanted: Pick<NodeSight, 'state' | 'handle'> | undefined;
  #witness: BreakWitness | undefined;
  #done: { readonly state: RunState | undefined; readonly changes: number } = {
    state: undefined,
    changes: 0,
  };
  #changing = 0;

  constructor(name: string, deps: NodeRunDeps) {
    this.#name = name;
    this.#deps = deps;
  }

  get sight(): NodeSight {
    return this.#sight;
  }

  get record(): RunRecord | undefined {
    return readRun(this.#deps.stateDir, this.#deps.cluster, this.#name);
  }

  async observe(): Promise<NodeSight> {
    const run = this.record;
    this.#sight =
      run === undefined ? NEVER_STARTED : sightOf(run, await this.#deps.driver.observe(run.handle));
    return this.#sight;
  }

  /** Undefined while this process changes it, and before anything is known. */
  get wanted(): Pick<NodeSight, 'state' | 'handle'> | undefined {
    return this.#changing > 0 ? undefined : this.#wanted;
  }

  get changes(): number {
    return this.#done.changes;
  }

  tell(witness: BreakWitness): void {
    this.#witness = witness;
  }

  accept({ state, handle }: NodeSight): void {
    this.#wanted = { state, handle };
  }

  tornDown(): void {
    this.#sight = { ...this.#sight, state: 'stopped', pid: undefined };
  }

  /** State changes observed meanwhile are our own doing. */
  async change<T>(work: () => Promise<T>): Promise<T> {
    this.#changing++;
    try {
      return await work();
    } finally {
      this.#changing--;
    }
  }

  /** Recorded before it happens: another process that looks meanwhile must not take it for the node's death. */
  intend(run: RunRecord): void {
    this.#record(run);
    this.#changed(run.state);
  }

  /** From here on also the state this process wants. */
  async write(run: RunRecord): Promise<void> {
    this.#record(run);
    this.#wanted = run;
    this.#changed(run.state);
    await this.observe();
  }

  /**
   * Writes nothing of a cluster that is gone: its folder would be there again, or is another cluster's.
   * @throws HarnessError `NODE_STATE`
   */
  #record(run: RunRecord): void {
    const { stateDir, cluster, exists } = this.#deps;
    if (!exists()) {
      throw new HarnessError(
        'NODE_STATE',
        `${this.#name} is gone: cluster '${cluster}' has been removed meanwhile`,
      );
    }
    writeRun(stateDir, cluster, this.#name, run);
  }

  #changed(state: RunState): void {
    if (this.#done.state === state) return;
    this.#done = { state, changes: this.#done.changes + 1 };
    const broken = BROKEN[state];
    if (broken === undefined) this.#witness?.mended(this.#name, 'state');
    else this.#witness?.broke(this.#name, `${this.#name} ${broken}`, 'state');
  }
}

export function isThere({ state }: NodeSight): boolean {
  return state === 'running' || state === 'paused';
}

function sightOf({ handle, state: recorded }: RunRecord, { state, pid, exit, silence }: Observed): NodeSight {
  const expected = recorded === 'running' || recorded === 'paused';
  const seen = state === 'gone' ? (expected ? 'crashed' : recorded) : state;
  return { state: seen, handle, pid, exit, silence };
}

export async function endOf(
  node: Pick<NodeRecord, 'name' | 'flavour' | 'binary' | 'image' | 'log'> & { readonly output: PartLog },
  { exit }: NodeSight,
  launchedAt: LogPosition | undefined,
): Promise<HarnessError> {
  const unwritten = node.output.failure();
  if (unwritten !== undefined) return unwritten;
  const lines = await node.output.tail(LOG_LINES_SHOWN);
  const how = exit === undefined ? '' : ` (${exitText(exit)})`;
  const latest = await node.output.since(launchedAt);
  const inUse = latest.some((line) => line.includes('address already in use'));
  const why = endHint([how, ...lines]);
  const hint = [
    `${node.log}:`,
    ...lines.map((line) => `  ${line}`),
    ...(why === undefined ? [] : [why]),
  ].join('\n');
  const code = inUse ? 'PORT_IN_USE' : 'PROCESS_FAILED';
  const program = node.binary ?? node.image;
  const what = program === undefined ? node.name : `${node.name} (${node.flavour}, ${program})`;
  return new HarnessError(code, `${what} has ended${how}`, { hint });
}
