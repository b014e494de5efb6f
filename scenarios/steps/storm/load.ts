/**
 * Lanes of operations on every node, alongside the faults. Acknowledgements are recorded; a failed operation is counted, and
 * its lane continues.
 */
import { ClientError, type Clock, type ClusterNode, type Fault } from 'svcnet';
import {
  ARRIVAL,
  CHUNK_PAYLOAD_SIZE,
  DISHONEST,
  type Progress,
  pause,
  type ScheduledOperation,
} from 'svcnet/scenario';
import { runningNode, workingNodes } from '../steps.ts';
import { drawOperation, drawPair, type PlannedKill } from './drawn.ts';
import { harmsOf } from './harm.ts';
import { Messages } from './messages.ts';
import { Operations } from './operations.ts';
import { chunksMax, type Outcome, type StormContext } from './parameters.ts';
import { Updates } from './updates.ts';

/** A lane looks again when its node is away. */
const AWAY_PAUSE_MS = 100;
/** Nothing can be read, or the node refuses: saves requests. */
const IDLE_PAUSE_MS = 200;
/** At the start, so that there is something to read. */
const AT_ONCE_CHUNKS = 100;
const MESSAGE_PAUSE_MS = 1000;
const CASH_PAUSE_MS = 5000;
const SEEK_PAUSE_MS = 500;
/** At one address: a batch's bucket has room for few. */
const UPDATES = 5;
const UPDATES_MS = 1000;
/** Before a kill, its node gets many small uploads for so long. */
const RUSH_MS = 500;
const RUSH_PAUSE_MS = 10;
/** A kill waits for earlier faults of its node to end; the rush does not. */
const RUSH_UPLOADS_MAX = 100;

/** In the report. */
const COUNTED: Readonly<Record<ScheduledOperation['do'], string>> = {
  upload: 'uploads',
  download: 'downloads',
  message: 'messages',
  update: 'updates',
  seek: 'requests for what is not there',
  cash: 'cashouts',
};

export class StormLoad {
  readonly operations: Operations;
  readonly messages: Messages;
  readonly updates: Updates;
  /** As they began: the run's schedule. */
  readonly begun: ScheduledOperation[] = [];
  readonly counts = new Map<string, number>();
  readonly #context: StormContext;
  readonly #signal: AbortSignal;
  /** By node. */
  readonly harmed = new Map<string, number>();
  readonly #active = new Map<string, Set<string>>();
  readonly #marked = new Set<string>();
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #durationMs: number;
  readonly #chunksMax: number;
  #offered = 0;

  constructor(
    context: StormContext,
    { durationMs, signal }: { readonly durationMs: number; readonly signal: AbortSignal },
  ) {
    this.#context = context;
    this.#clock = context.cluster.clock;
    this.#startedAt = this.#clock.monotonic();
    this.#durationMs = durationMs;
    const full = workingNodes(context.cluster.nodes).filter(({ mode }) => mode === 'full');
    this.#chunksMax = chunksMax(context.parameters, full.length);
    this.#signal = signal;
    const isHarmed = (name: string) => (this.#active.get(name)?.size ?? 0) > 0;
    this.operations = new Operations(context, () => ![...this.#active.keys()].some(isHarmed));
    this.updates = new Updates(context);
    this.messages = new Messages(context, (node) => isHarmed(node.name));
  }

  get progress(): Progress {
    const { ledger } = this.#context;
    return {
      'chunks acknowledged': ledger.acknowledgedChunks(),
      'uploads acknowledged': ledger.entries.length,
      'bytes acknowledged': ledger.entries.reduce((sum, { size }) => sum + size, 0),
    };
  }

  mark(fault: Fault): void {
    const { id, at, kind, targets, endAt } = fault;
    // An arrival does nothing to the others, unless it breaks rules.
    if (kind === ARRIVAL && fault.request['dishonest'] === undefined) return;
    // Ids are used again.
    const key = `${id} ${at}`;
    const times = this.#marked.has(key) ? 0 : harmsOf(fault);
    this.#marked.add(key);
    const affected = targets.length > 0 ? targets : this.#context.cluster.nodes.map(({ name }) => name);
    for (const target of affected) {
      const active = this.#active.get(target) ?? new Set();
      this.harmed.set(target, (this.harmed.get(target) ?? 0) + times);
      if (endAt === undefined) active.add(key);
      else active.delete(key);
      this.#active.set(target, active);
    }
  }

  async drawn(kills: readonly PlannedKill[]): Promise<void> {
    const nodes = workingNodes(this.#context.cluster.nodes);
    const lanes = nodes.flatMap((node) =>
      Array.from({ length: this.#context.parameters.lanes }, (_, index) =>
        this.#lane(node, `${node.name}/${index}`),
      ),
    );
    const rushes = kills.map((kill) => this.#rush(kill));
    const others = [this.#talk(nodes), this.#renew(nodes, kills), this.#pay(nodes), this.#seek(nodes)];
    await Promise.all([...lanes, ...rushes, ...others]);
  }

  async scheduled(operations: readonly ScheduledOperation[]): Promise<void> {
    const lanes = Map.groupBy(operations, ({ lane }) => lane);
    await Promise.all(
      [...lanes.values()].map(async (lane) => {
        for (const operation of lane) {
          await this.#pause(operation.atMs - (this.#clock.monotonic() - this.#startedAt));
          if (this.#signal.aborted) return;
          await this.#do(operation);
        }
      }),
    );
  }

  async #lane(node: ClusterNode, lane: string): Promise<void> {
    const { parameters } = this.#context;
    const random = this.#context.random(`lane ${lane}`);
    const pace = this.#context.random(`pace ${lane}`);
    for (let turn = 0; !this.#signal.aborted; turn++) {
      if (!node.running) {
        await this.#pause(AWAY_PAUSE_MS);
        continue;
      }
      const uploads = this.operations.readable;
      const drawn = drawOperation(random, {
        sizes: parameters.sizes,
        stream: `${lane}, turn ${turn}`,
        uploads,
        full: this.#offered >= this.#room(),
      });
      if (drawn === undefined) {
        await this.#pause(IDLE_PAUSE_MS);
        continue;
      }
      const nextAt = this.#clock.monotonic() + pace.below(2 * parameters.pace + 1);
      const outcome = await this.#do({ ...drawn, ...this.#place(lane, node) });
      if (outcome !== 'done') await this.#pause(IDLE_PAUSE_MS);
      await this.#pause(nextAt - this.#clock.monotonic());
    }
  }

  /**
   * Deferred uploads until the kill. A chunk is pushed within milliseconds: otherwise hardly any node would die with
   * accepted and unpushed chunks. Being few, they need no room.
   */
  async #rush({ id, node: name, atMs }: PlannedKill): Promise<void> {
    await this.#pause(atMs - RUSH_MS - (this.#clock.monotonic() - this.#startedAt));
    const node = runningNode(this.#context.cluster, name);
    const lane = `before ${id}`;
    for (let turn = 0; turn < RUSH_UPLOADS_MAX; turn++) {
      if (this.#signal.aborted || node?.running !== true) return;
      const data = `${lane}, turn ${turn}`;
      const upload = {
        do: 'upload',
        kind: 'bytes',
        size: CHUNK_PAYLOAD_SIZE,
        mode: 'deferred',
        data,
      } as const;
      await this.#do({ ...upload, ...this.#place(lane, node) });
      await this.#pause(RUSH_PAUSE_MS);
    }
  }

  async #talk(nodes: readonly ClusterNode[]): Promise<void> {
    const random = this.#context.random('messages');
    const full = nodes.filter(({ mode }) => mode === 'full');
    while (!this.#signal.aborted && full.length > 1) {
      await this.#pause(MESSAGE_PAUSE_MS);
      const [from, to] = drawPair(random, full);
      if (this.#signal.aborted || !from.running || !to.running) continue;
      await this.#do({ ...this.#place('messages', from), do: 'message', to: to.name });
    }
  }

  /**
   * New payloads at one address after another, near a node that is soon to be killed, if any: it is away when the last ones
   * come, and back with an older one.
   */
  async #renew(nodes: readonly ClusterNode[], kills: readonly PlannedKill[]): Promise<void> {
    const random = this.#context.random('updates');
    const full = nodes.filter(({ mode }) => mode === 'full');
    for (let address = 0; !this.#signal.aborted && full.length > 1; address++) {
      const now = this.#clock.monotonic() - this.#startedAt;
      const kill = kills.find(({ atMs }) => atMs > now && atMs < now + UPDATES_MS);
      const [any, other] = drawPair(random, full);
      const near = full.find(({ name }) => name === kill?.node) ?? any;
      const from = near === other ? any : other;
      for (let turn = 0; turn < UPDATES && this.#offered < this.#chunksMax; turn++) {
        await this.#pause(random.below((2 * UPDATES_MS) / UPDATES));
        if (this.#signal.aborted) return;
        const data = `updates at address ${address}`;
        await this.#do({ ...this.#place('updates', from), do: 'update', to: near.name, data });
      }
      await this.#pause(random.below(2 * UPDATES_MS));
    }
  }

  async #pay(nodes: readonly ClusterNode[]): Promise<void> {
    const random = this.#context.random('money');
    while (!this.#signal.aborted) {
      await this.#pause(CASH_PAUSE_MS);
      const node = nodes[random.below(nodes.length)] as ClusterNode;
      if (this.#signal.aborted || !node.running) continue;
      await this.#do({ ...this.#place('money', node), do: 'cash' });
    }
  }

  /**
   * One of the first asked nodes mostly has an uploaded chunk. For one that no node has, every node asks closer ones: what a
   * dishonest one tells must go no further.
   */
  async #seek(nodes: readonly ClusterNode[]): Promise<void> {
    if (!this.#context.parameters.faults.includes(DISHONEST)) return;
    const random = this.#context.random('seek');
    for (let turn = 0; !this.#signal.aborted; turn++) {
      await this.#pause(SEEK_PAUSE_MS);
      const node = nodes[random.below(nodes.length)] as ClusterNode;
      if (this.#signal.aborted || !node.running) continue;
      await this.#do({ ...this.#place('seek', node), do: 'seek', data: `sought ${turn}` });
    }
  }

  #place(lane: string, node: ClusterNode): Pick<ScheduledOperation, 'n' | 'lane' | 'atMs' | 'node'> {
    const atMs = Math.round(this.#clock.monotonic() - this.#startedAt);
    return { n: this.begun.length, lane, atMs, node: node.name };
  }

  async #do(operation: ScheduledOperation): Promise<Outcome> {
    this.begun.push(operation);
    const { signal } = this.#context;
    let outcome: Outcome;
    try {
      outcome = await this.#once(operation);
    } catch (error) {
      if (!(error instanceof ClientError) || signal.aborted) throw error;
      outcome = 'failed';
    }
    const key = `${COUNTED[operation.do]} ${outcome}`;
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
    return outcome;
  }

  #once(operation: ScheduledOperation): Promise<Outcome> {
    switch (operation.do) {
      case 'upload':
        this.#offered += Math.ceil(operation.size / 4096) + 1;
        return this.operations.upload(operation);
      case 'download':
        return this.operations.download(operation);
      case 'message':
        return this.messages.send(operation);
      case 'update':
        this.#offered++;
        return this.updates.update(operation);
      case 'seek':
        return this.operations.seek(operation);
      case 'cash':
        return this.operations.cash(operation);
    }
  }

  /** Offered by now: even a fast machine keeps uploading until the end, under every fault. */
  #room(): number {
    const share = (this.#clock.monotonic() - this.#startedAt) / this.#durationMs;
    return Math.max(AT_ONCE_CHUNKS, this.#chunksMax * Math.min(1, share));
  }

  /** Ends with the load. */
  #pause(ms: number): Promise<void> {
    return pause(ms, this.#signal, this.#clock);
  }
}
