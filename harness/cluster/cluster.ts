/**
 * A whole network on this machine, as an object.
 *
 *     await using net = await Cluster.start({ nodes: 4, seed: 7 });
 *     const { reference } = await net.node(0).bytes.upload(data);
 *     await net.synced(reference);
 */

import { resolve } from 'node:path';
import type { Clock } from '../../formats/clock.ts';
import { HarnessError } from '../base/errors.ts';
import { suggestion } from '../base/format.ts';
import type { PartLog } from '../base/logs/file-log.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { until, type WaitOptions } from '../base/wait.ts';
import type { Chain } from '../chain/chain.ts';
import type { Tag } from '../client/types.ts';
import type { Profile } from '../flavours/profiles.ts';
import { type Capability, capabilitiesOf, LINK_PROXY, type SimulationView } from '../places/driver.ts';
import { DRIVER_FACTS, type DriverName } from '../places/facts.ts';
import type { TapEvent } from '../places/links/tap/events.ts';
import type { NetworkInput } from './attached/network-input.ts';
import { type AttachOptions, recordNetwork } from './attached/record-network.ts';
import type { NodeBooks } from './books/books.ts';
import { probeLinks } from './books/node-books.ts';
import { type ClusterDocument, clusterDocument } from './cluster-document.ts';
import { Faults } from './faults/faults.ts';
import { accountsBeside } from './growth/accounts.ts';
import { type AddInput, type AddOptions, addNodes, type GrowthContext } from './growth/add.ts';
import { expectElastic } from './growth/refused.ts';
import { type RemoveOptions, removeNode } from './growth/remove.ts';
import { type UpgradeInput, type UpgradeOptions, upgradeNode } from './growth/upgrade.ts';
import { partLog, type TapOptions, tapped } from './heard.ts';
import { tearDown } from './lifecycle/teardown.ts';
import { awaitBlock } from './nodes/block-readers.ts';
import type { ClusterNode } from './nodes/cluster-node.ts';
import { awaitSynced, awaitUsable } from './nodes/conditions.ts';
import { Membership } from './nodes/membership.ts';
import { type Mesh, probeMesh, probeNetwork, unlistedPeers } from './nodes/mesh.ts';
import { acceptAll } from './nodes/open-nodes.ts';
import { RecordedNodes } from './nodes/recorded-nodes.ts';
import {
  type AgainOptions,
  type ClusterOptions,
  type ClusterParts,
  openAgain,
  openNew,
  openRunning,
} from './opening.ts';
import { readDefinition } from './plan/schema.ts';
import { saveSnapshot } from './snapshots/save.ts';
import type { SnapshotRecord } from './snapshots/snapshot.ts';
import { meshTimeoutFor, timeoutFor } from './start/start-deadline.ts';
import { changeRecord } from './state/change.ts';
import {
  type BatchRecord,
  type ClusterRecord,
  clusterFolder,
  type PreparedRecord,
  readRun,
  type Timings,
} from './state/state.ts';
import { defaultStateDir } from './state/state-folder.ts';

const USABLE_TIMEOUT_MS = 60_000;
/** Blocks that a node may want after a new batch, its purchase included (contracts.md 11.3). */
const USABLE_BLOCKS_MAX = 30;
/** Most blocks left unread behind the head with production values: four, and up to four of a group of five. */
const UNREAD_BLOCKS = 8;
const SETTLED_TIMEOUT_MS = 30_000;

/** Both default to a limit that suits the wait; the signal ends it early. */
export interface WaitLimits {
  /** Milliseconds. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Options of `cluster.synced`. */
export interface SyncedLimits extends WaitLimits {
  /**
   * Called at every poll with how many chunks have reached their neighbourhood, how many the upload has and, if it stands
   * still, what else the node pushes.
   */
  readonly onProgress?: ((synced: number, split: number, others?: string) => void) | undefined;
}

/** Options of `cluster.saveSnapshot`. */
export interface SaveOptions extends WaitLimits {
  /** Replace a snapshot of that name. */
  readonly force?: boolean;
  /** Called with what happens to the cluster meanwhile. */
  readonly onProgress?: (text: string) => void;
}

/** A network that runs. Made by `Cluster.start`, `Cluster.attach` or `Cluster.attachNetwork`; `stop`, or the end of an `await using` block, removes it. */
export class Cluster implements AsyncDisposable {
  readonly name: string;
  /** Undefined: it does not come from a seed, because svcnet did not start it. */
  readonly seed: bigint | undefined;
  readonly driver: DriverName;
  readonly profile: Profile;
  /** Nodes that join are put into it, and those that leave for good are taken out, whichever process adds or removes them. */
  readonly nodes: readonly ClusterNode[];
  readonly chain: Chain;
  /** What the start has prepared as the definition asks: uploads with their references. */
  readonly prepared: PreparedRecord;
  /** How long the phases of its start took; zeros when svcnet did not start it. */
  readonly timings: Timings;
  /** When it began, or was attached to, ms since the epoch: reports, `tap` and `trace` show times since then. */
  readonly startedAt: number;
  /** The time of its waits, faults and records. */
  readonly clock: Clock;
  /** What happens to its nodes and its chain, other than by this process. */
  readonly membership: Membership;
  /** Breaks it on purpose, and heals it. */
  readonly faults: Faults;
  /** @internal */
  readonly simulation: SimulationView | undefined;
  readonly #parts: ClusterParts;
  readonly #isOwned: boolean;
  readonly #members: RecordedNodes<ClusterParts['record']>;
  #stopped: Promise<void> | undefined;

  private constructor(parts: ClusterParts) {
    this.name = parts.record.name;
    this.seed = parts.record.seed === undefined ? undefined : BigInt(parts.record.seed);
    this.driver = parts.record.driver;
    this.profile = parts.record.profile;
    this.prepared = parts.record.prepared ?? { uploads: [] };
    this.timings = parts.record.timings;
    this.startedAt = parts.record.began ?? parts.record.createdAt;
    this.clock = parts.clock;
    this.chain = parts.chain;
    this.nodes = parts.nodes;
    this.simulation = parts.driver.simulation;
    this.#isOwned = DRIVER_FACTS[this.driver].owned;
    this.#parts = parts;
    const lag = this.profile === 'fast' ? 0 : UNREAD_BLOCKS;
    const { clock } = parts;
    this.chain.readBy((height, isCutOff) => awaitBlock(this.nodes, { height, lag, isCutOff, clock }));
    const chain = () => readRun(parts.stateDir, this.name, 'chain')?.handle;
    const proxy = () => readRun(parts.stateDir, this.name, LINK_PROXY)?.handle;
    const watched = {
      ...(this.chain.rpc === '' ? {} : { chain }),
      ...(proxy() === undefined ? {} : { linkProxy: proxy }),
    };
    this.faults = new Faults({
      name: this.name,
      /** Folder of logs, keys and data. */
      folder: this.folder,
      clock,
      seed: parts.record.seed,
      nodes: this.nodes,
      chain: this.chain,
      driver: parts.driver,
      linkProxy: proxy,
      node: (name) => this.node(name),
      members: this,
    });
    this.#members = new RecordedNodes(parts.record, {
      nodes: parts.nodes,
      stateDir: parts.stateDir,
      context: () => this.#growing,
      onNew: (nodes) => this.faults.watch(nodes),
    });
    const refresh = DRIVER_FACTS[this.driver].simulated ? {} : { refresh: () => this.#members.look() };
    this.membership = new Membership(this.nodes, { driver: parts.driver, clock, ...watched, ...refresh });
  }

  /**
   * Starts a cluster and waits until it is meshed and every batch is usable.
   * @throws HarnessError; nothing is left behind then
   */
  static async start(options: ClusterOptions = {}): Promise<Cluster> {
    return new Cluster(await openNew(options));
  }

  /**
   * Starts a detached cluster that has nothing running any more, for example after a reboot: chain and nodes go on with
   * their keys, chunks, batches and balances. Their ports are those of before, or others where something has taken these.
   * It is detached again, and faults that were active have ended.
   * @param name may be left out when there is only one
   * @throws HarnessError `CLUSTER_NOT_FOUND`, `CLUSTER_EXISTS` when it runs, `STATE_INVALID` when something of it is
   * missing, `PORT_IN_USE` for ports that its definition names; what it keeps is as it was then
   */
  static async startAgain(name?: string, options: AgainOptions = {}): Promise<Cluster> {
    return new Cluster(await openAgain(name, options));
  }

  /**
   * A cluster that another process started.
   * @param name may be left out when there is only one @throws HarnessError `CLUSTER_NOT_FOUND`
   */
  static async attach(name?: string, options: { stateDir?: string; clock?: Clock } = {}): Promise<Cluster> {
    return new Cluster(await openRunning(name, options));
  }

  /**
   * Makes a cluster from a network that svcnet did not start, so that its nodes can be driven. Nothing in it
   * is changed, and `stop` only forgets it.
   * @param network path of a network file, or the content of one
   * @throws HarnessError `DEFINITION_INVALID` with every mistake of the document, `NETWORK_INVALID` with everything that
   * does not answer or does not belong together, `CLUSTER_EXISTS`
   */
  static async attachNetwork(network: string | NetworkInput, options: AttachOptions = {}): Promise<Cluster> {
    const { clock = MACHINE_CLOCK } = options;
    const stateDir = resolve(options.stateDir ?? defaultStateDir());
    const name = await recordNetwork(network, { ...options, stateDir, clock });
    return Cluster.attach(name, { stateDir, clock });
  }

  /** Batches of its nodes, without those that they have bought since it was opened. */
  get batches(): readonly BatchRecord[] {
    return this.#members.record.batches;
  }

  /** @param which number or name @throws HarnessError `NODE_NOT_FOUND` with the nearest name */
  node(which: number | string): ClusterNode {
    const found = this.nodes.find(({ index, name }) => which === index || which === name);
    if (found !== undefined) return found;
    const names = this.nodes.map(({ name }) => name);
    const near = typeof which === 'string' ? suggestion(which, names) : '';
    throw new HarnessError('NODE_NOT_FOUND', `no node '${which}'${near} (known: ${names.join(', ')})`);
  }

  /** Every node that should run answers that it is ready. @throws HarnessError `WAIT_TIMEOUT`, `PROCESS_FAILED` */
  async ready(limits: WaitLimits = {}): Promise<void> {
    const running = this.nodes.filter((node) => node.state === 'running' || node.state === 'crashed');
    await Promise.all(running.map((node) => node.ready(this.#limits(limits, timeoutFor(this.nodes.length)))));
  }

  /**
   * Every running node is connected to all others, up to the saturation of each bin; in an attached network,
   * every running node has a peer. @throws HarnessError `WAIT_TIMEOUT`
   */
  meshed(limits: WaitLimits = {}): Promise<Mesh> {
    return until(
      'the nodes are not meshed',
      (signal) => (this.#isOwned ? probeMesh : probeNetwork)(this.nodes, signal),
      this.#limits(limits, meshTimeoutFor(this.nodes)),
    );
  }

  /**
   * The batch can stamp, and every running node would accept its stamps: for one that belongs to no node,
   * every running node knows it.
   * @param batch id; default: all batches that the cluster started with
   * @param limits.buyer node that has just bought it and may not have seen that on its chain yet
   * @throws HarnessError `BATCH_UNKNOWN` at once when no node owns it and the chain has no batch with that
   * id, `ARGUMENT_INVALID`, `WAIT_TIMEOUT`
   */
  async usable(
    batch?: string,
    limits: WaitLimits & { readonly buyer?: number | string } = {},
  ): Promise<void> {
    const { buyer } = limits;
    const timeoutMs = USABLE_TIMEOUT_MS + USABLE_BLOCKS_MAX * this.chain.blockTimeMs;
    await awaitUsable(this, { id: batch, buyer }, this.#limits(limits, timeoutMs));
  }

  /**
   * Every chunk of an upload has reached its neighbourhood. Without `timeoutMs` this is awaited as long as some arrive: a
   * wait fails after five minutes without any.
   * @param target the reference that an upload returned, or one of its tags
   * @returns the tag, or undefined for a direct upload of this client, which is synced once it is acknowledged
   * @throws HarnessError `UPLOAD_UNKNOWN` at once when no node has a tag of it, as of a direct upload of another client, `ARGUMENT_INVALID`, `WAIT_TIMEOUT`
   */
  async synced(
    target: string | { node: number | string; tag: number },
    limits: SyncedLimits = {},
  ): Promise<Tag | undefined> {
    return awaitSynced(this, target, this.#parts.uploads, { ...limits, clock: this.clock });
  }

  /**
   * Both ends of each link count the same: balances, settlements by time, cheques. Without traffic they soon do.
   * @returns the books of every running node @throws HarnessError `WAIT_TIMEOUT`
   */
  settled(limits: WaitLimits = {}): Promise<readonly NodeBooks[]> {
    return until(
      'the nodes have not settled',
      (signal) => probeLinks(this.nodes, signal),
      this.#limits(limits, SETTLED_TIMEOUT_MS),
    );
  }

  /**
   * Full nodes in the network that are not the cluster's: chunks may be on them, and only their owners know
   * their books. Clusters that svcnet started are assumed to have none.
   * @returns overlays
   */
  async unlistedPeers(signal: AbortSignal): Promise<readonly string[]> {
    return this.#isOwned ? [] : unlistedPeers(this.nodes, signal);
  }

  /** Records a batch bought for a node without one. @internal */
  async adopt(batch: BatchRecord): Promise<void> {
    await changeRecord(this.#growing, (record) => ({ ...record, batches: [...record.batches, batch] }));
  }

  /** Accounts of nodes that are joining, or have left for good, 40 hex digits each. @internal */
  otherAccounts(): readonly string[] {
    this.#members.refresh();
    return accountsBeside(this.#members.record);
  }

  /**
   * Adds nodes: started, funded and able to serve when this resolves. Keys, batches and chequebook of each are
   * those that a start with more nodes would have given it; `meshed` waits until all nodes are connected to them.
   * @param group as in a cluster file; default: one full node. Its flavour may be what `readFlavour` returns
   * @returns the new nodes, whose numbers go on where the last ones ended; no number is given twice
   * @throws HarnessError `GROWTH_REFUSED`, `DEFINITION_INVALID`, `NODE_STATE` before anything changes, or what a start throws:
   * then nothing of the new nodes is left
   */
  async add(group: AddInput = {}, options: AddOptions = {}): Promise<readonly ClusterNode[]> {
    await this.#members.look();
    let added: readonly ClusterNode[] = [];
    const others: ClusterNode[] = [];
    await addNodes(this.#growing, group, options, ({ nodes, record }) => {
      added = nodes;
      others.push(...this.#members.take(record, nodes));
    });
    await acceptAll(others);
    return added;
  }

  /**
   * Takes a node out of the network. Its data, keys and number stay, and `start` brings it back.
   * @param options.forGood its data goes, too, and its number is never given again; nothing that it has stored is moved
   * @throws HarnessError `NODE_NOT_FOUND`, `NODE_STATE`; with `forGood` also `GROWTH_REFUSED`
   */
  async remove(which: number | string, { forGood = false }: RemoveOptions = {}): Promise<void> {
    await this.#members.look();
    const node = this.node(which);
    if (!forGood) {
      await node.stop();
      return;
    }
    const faults = this.faults.active;
    const others: ClusterNode[] = [];
    await removeNode({ ...this.#growing, faults }, node, (record) =>
      others.push(...this.#members.take(record)),
    );
    await acceptAll(others);
    await node.client.close();
  }

  /**
   * Gives a node another program, or another mode, and starts it: the same keys, ports and data. What is left out stays.
   * Back again is another upgrade.
   * @throws HarnessError `NODE_NOT_FOUND`, `NODE_STATE`, `GROWTH_REFUSED`, `DEFINITION_INVALID`, `BINARY_INVALID`,
   * `PORT_IN_USE`, `CANNOT_WRITE`, and then it is as it was; what `node.start` throws, and then it is what was asked for,
   * and does not run
   */
  async upgrade(which: number | string, to: UpgradeInput, options: UpgradeOptions = {}): Promise<void> {
    await this.#members.look();
    const others: ClusterNode[] = [];
    const onChanged = (record: ClusterRecord) => void others.push(...this.#members.take(record));
    await upgradeNode(this.#growing, this.node(which), {
      to,
      faults: this.faults.active,
      options,
      onChanged,
    });
    await acceptAll(others);
  }

  /**
   * Saves chain, data and identities, for `Cluster.start({ snapshot: name })`. Running nodes are stopped for
   * a moment, and are connected again when this resolves.
   * @param options.force replaces a snapshot of that name
   * @throws HarnessError `SNAPSHOT_EXISTS`, `SNAPSHOT_REFUSED`, `CLUSTER_GONE`, `INTERRUPTED`
   */
  async saveSnapshot(name: string, options: SaveOptions = {}): Promise<SnapshotRecord> {
    const { force = false, signal, onProgress = () => undefined } = options;
    const { record } = await saveSnapshot(
      {
        ...this.#growing,
        nodes: this.nodes,
        signal,
        onProgress,
        restarted: async () => {
          await this.ready(options);
          await this.meshed(options);
        },
      },
      name,
      { force },
    );
    return record;
  }

  /** Stops and removes everything that the cluster made, and nothing else; an attached network is only forgotten. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Lets go of a cluster that keeps running. */
  async detach(): Promise<void> {
    this.membership.close();
    await Promise.all([...this.nodes.map((node) => node.client.close()), this.chain.close()]);
    await this.#parts.driver.close();
  }

  /** The document of `ps --json`. */
  toJSON(): ClusterDocument {
    return clusterDocument(this);
  }

  /**
   * The log of a node, of the chain, or of the link proxy of a cluster that has one.
   * @param part name of a node, `chain` or `link-proxy`
   * @throws HarnessError `NODE_NOT_FOUND`, `NODE_STATE` when it was not started here
   */
  logOf(part: string): PartLog {
    return partLog(this.#parts, part, (name) => this.node(name));
  }

  /** Brings logs that are kept elsewhere into its folder. */
  gatherLogs(): Promise<void> {
    return this.#parts.driver.gatherLogs();
  }

  /** Whether the logs of its nodes can be read: those of nodes that svcnet did not start cannot. */
  get logged(): boolean {
    return this.#isOwned;
  }

  /**
   * What its nodes say to each other, from now on until the signal aborts: each conversation, message by message.
   * @throws HarnessError `NODE_NOT_FOUND`, `ARGUMENT_INVALID` without a tap, `FAULT_REFUSED` when its proxy is gone
   */
  tap(options: TapOptions = {}): AsyncIterable<TapEvent> {
    for (const name of options.nodes ?? []) this.node(name);
    return tapped(this.#parts, options);
  }

  /** What can be done to its nodes where they run. */
  get capabilities(): ReadonlySet<Capability> {
    return capabilitiesOf(this.#parts.driver);
  }

  /** Of all that its nodes have sent each other so far, with the times: equal in equal runs of a simulated cluster, undefined elsewhere. */
  get digest(): string | undefined {
    return this.#parts.driver.digest;
  }

  /** What its nodes have sent each other last, a line each, on a simulated cluster; elsewhere none. */
  get lastFrames(): readonly string[] {
    return this.#parts.driver.lastFrames ?? [];
  }

  /** Folder of logs, keys and data. */
  get folder(): string {
    return clusterFolder(this.#parts.stateDir, this.name).path;
  }

  async #stop(): Promise<void> {
    this.membership.close();
    for (const node of this.nodes) node.retire();
    await tearDown(this.#parts.stateDir, this.#members.record, this.#parts.driver);
    // Nodes that svcnet did not start keep running.
    if (this.#isOwned) for (const node of this.nodes) node.tornDown();
    await this.detach();
    this.#parts.forgetAtExit();
  }

  /** @throws HarnessError `GROWTH_REFUSED` @internal */
  expectElastic(): void {
    const { driver, record } = this.#growing;
    expectElastic('change', { ...record, definition: readDefinition(record.definition), driver });
  }

  get #growing(): GrowthContext {
    const { stateDir, driver, uploads } = this.#parts;
    return {
      clock: this.clock,
      stateDir,
      driver,
      record: this.#members.record,
      chain: this.chain,
      all: () => this.nodes,
      onUploaded: (node, uploaded) => uploads.remember(node, uploaded),
    };
  }

  #limits(limits: WaitLimits, timeoutMs: number): WaitOptions {
    return { clock: this.clock, timeoutMs: limits.timeoutMs ?? timeoutMs, signal: limits.signal };
  }
}
