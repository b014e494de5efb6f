/**
 * A whole network on this machine, as an object: start it or attach to a running one, reach its nodes and its chain,
 * wait for its states, stop it without a trace.
 *
 *     await using net = await Cluster.start({ nodes: 4, seed: 7 });
 *     const { reference } = await net.node(0).bytes.upload(data);
 *     await net.synced(reference);
 */

import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import type { Clock } from '../../formats/clock.ts';
import { DIGITS, expectHex, expectWhole } from '../base/arguments.ts';
import { cannotWrite, HarnessError, throwIfInterrupted } from '../base/errors.ts';
import { suggestion } from '../base/format.ts';
import type { PartLog } from '../base/logs/file-log.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { isAlive } from '../base/machine/processes.ts';
import { until, type WaitOptions } from '../base/wait.ts';
import { Chain } from '../chain/chain.ts';
import type { Tag, Uploaded } from '../client/types.ts';
import type { Profile } from '../flavours/profiles.ts';
import { type Capability, type Driver, type DriverName, LINK_PROXY } from '../places/driver.ts';
import { findNetwork } from './attached/network.ts';
import type { NetworkInput } from './attached/network-input.ts';
import { parseNetwork, readNetworkFile } from './attached/schema.ts';
import type { NodeBooks } from './books/books.ts';
import { probeLinks } from './books/node-books.ts';
import { type ClusterDocument, clusterDocument } from './cluster-document.ts';
import { Faults } from './faults/faults.ts';
import { isMeantToStay, nextSteps, takeAgain } from './lifecycle/again.ts';
import { removeAtExit } from './lifecycle/at-exit.ts';
import { claimCluster } from './lifecycle/claim.ts';
import { driverOf } from './lifecycle/drivers.ts';
import { removeLeftovers } from './lifecycle/leftovers.ts';
import { tearDown } from './lifecycle/teardown.ts';
import { awaitBlock } from './nodes/block-readers.ts';
import type { ClusterNode } from './nodes/cluster-node.ts';
import {
  findOwner,
  findTags,
  type Mesh,
  probeBatch,
  probeBatches,
  probeForeignBatch,
  probeMesh,
  probeNetwork,
  probeTag,
  type TagTarget,
  unlistedPeers,
} from './nodes/conditions.ts';
import { Membership } from './nodes/membership.ts';
import { openNodes } from './nodes/open-nodes.ts';
import { parseDefinition } from './plan/definition.ts';
import type { DefinitionInput } from './plan/definition-input.ts';
import type { Definition } from './plan/schema.ts';
import { drawSeed } from './plan/seed.ts';
import { readDefinition } from './plan/written.ts';
import { openSnapshot, placeSnapshot } from './snapshots/load.ts';
import { forgetRun } from './snapshots/one-run.ts';
import { saveSnapshot } from './snapshots/save.ts';
import type { SnapshotRecord } from './snapshots/snapshot.ts';
import type { StartProgress } from './start/start-context.ts';
import { startCluster } from './start/startup.ts';
import { meshTimeoutFor, timeoutFor } from './start/startup-conditions.ts';
import {
  type BatchRecord,
  type ClusterRecord,
  clusterFolder,
  findCluster,
  type PreparedRecord,
  readRecord,
  readRun,
  removeCluster,
  type Timings,
  writeRecord,
  writeRun,
} from './state/state.ts';
import { defaultStateDir } from './state/state-folder.ts';

const USABLE_TIMEOUT_MS = 60_000;
/** Blocks that a node may want after a new batch, with those of its purchase (contracts.md 11.3). */
const USABLE_BLOCKS_MAX = 30;
/** Blocks that nodes with production values leave unread behind the head: four, and a fifth of the next five. */
const UNREAD_BLOCKS = 8;
const SETTLED_TIMEOUT_MS = 30_000;
/** Pushing is bounded by the slowest neighbourhood; five minutes is also what a scenario has as a whole. */
const SYNCED_TIMEOUT_MS = 300_000;
/** For networks that svcnet did not start. */
const NO_TIMINGS: Timings = { chainMs: 0, nodesMs: 0, meshedMs: 0, batchUsableMs: 0, totalMs: 0 };
/** Uploads remembered for `synced`; older ones are looked up on the nodes. */
const UPLOADS_REMEMBERED = 10_000;

/** Options of `Cluster.start`: the definition of the cluster, and how it is started. */
export interface ClusterOptions extends DefinitionInput {
  /** Folder of all state; default `.svcnet` in the current directory, or `SVCNET_STATE`. */
  readonly stateDir?: string;
  /** Leave the cluster running when this process ends. Default: it ends with this process, even if that crashes. */
  readonly detached?: boolean;
  /** Default: the machine's. */
  readonly clock?: Clock;
  /** Name of a snapshot to start from; only `name` and `ports` of the definition can be given with it. */
  readonly snapshot?: string | undefined;
  /** Where the definition comes from, for messages about it. */
  readonly source?: string | undefined;
  /** For the whole start. Default: each step has a limit that grows with the cluster. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: StartProgress) => void;
}

/** Options of `Cluster.startAgain`. */
export interface AgainOptions {
  /** Folder of all state; default `.svcnet` in the current directory, or `SVCNET_STATE`. */
  readonly stateDir?: string;
  /** Default: the machine's. */
  readonly clock?: Clock;
  /** For the whole start. Default: each step has a limit that grows with the cluster. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: StartProgress) => void;
}

/** Options of `Cluster.attachNetwork`. */
export interface AttachOptions {
  /**
   * Replaces the name in the document. Default: the name of the file, without its extension, or `network`.
   */
  readonly name?: string;
  /** File with the token of all nodes, wherever it is; instead of what the document says. */
  readonly tokenFile?: string;
  /** Folder of all state; default `.svcnet` in the current directory, or `SVCNET_STATE`. */
  readonly stateDir?: string;
  /** Default: the machine's. */
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

/** Both default to a limit that suits the wait; the signal ends it early. */
export interface WaitLimits {
  /** Milliseconds. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Options of `cluster.synced`. */
export interface SyncedLimits extends WaitLimits {
  /**
   * Called at every poll with how many chunks have reached their neighbourhood, and how many the upload has.
   */
  readonly onProgress?: (synced: number, split: number) => void;
}

/** Options of `cluster.saveSnapshot`. */
export interface SaveOptions extends WaitLimits {
  /** Replace a snapshot of that name. */
  readonly force?: boolean;
  /** Called with what happens to the cluster meanwhile. */
  readonly onProgress?: (text: string) => void;
}

/** What a cluster is made of, started here or elsewhere. */
interface ClusterParts {
  readonly clock: Clock;
  readonly record: ClusterRecord;
  readonly timings: Timings;
  readonly chain: Chain;
  readonly nodes: readonly ClusterNode[];
  readonly stateDir: string;
  readonly driver: Driver;
  readonly uploads: UploadMemory;
  readonly forgetAtExit: () => void;
}

/** A network that runs. Made by `Cluster.start`, `Cluster.attach` or `Cluster.attachNetwork`; `stop`, or the end of an `await using` block, removes it. */
export class Cluster implements AsyncDisposable {
  readonly name: string;
  /** Undefined: it does not come from a seed, because svcnet did not start it. */
  readonly seed: bigint | undefined;
  readonly driver: DriverName;
  readonly profile: Profile;
  readonly nodes: readonly ClusterNode[];
  readonly chain: Chain;
  readonly batches: readonly BatchRecord[];
  /** What the start has prepared as the definition asks: uploads with their references. */
  readonly prepared: PreparedRecord;
  /** How long the phases of its start took; zeros when svcnet did not start it. */
  readonly timings: Timings;
  /** The time of its waits, faults and records. */
  readonly clock: Clock;
  /** What happens to its nodes and its chain, other than by this process. */
  readonly membership: Membership;
  /** Breaks it on purpose, and mends it. */
  readonly faults: Faults;
  readonly #stateDir: string;
  readonly #record: ClusterRecord;
  readonly #driver: Driver;
  readonly #uploads: UploadMemory;
  readonly #forgetAtExit: () => void;
  #stopped: Promise<void> | undefined;

  private constructor(parts: ClusterParts) {
    this.name = parts.record.name;
    this.seed = parts.record.seed === undefined ? undefined : BigInt(parts.record.seed);
    this.driver = parts.record.driver;
    this.profile = parts.record.profile;
    this.batches = parts.record.batches;
    this.prepared = parts.record.prepared ?? { uploads: [] };
    this.timings = parts.timings;
    this.clock = parts.clock;
    this.chain = parts.chain;
    this.nodes = parts.nodes;
    this.#stateDir = parts.stateDir;
    this.#record = parts.record;
    this.#driver = parts.driver;
    this.#uploads = parts.uploads;
    this.#forgetAtExit = parts.forgetAtExit;
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
      folder: this.folder,
      clock,
      seed: parts.record.seed,
      nodes: this.nodes,
      chain: this.chain,
      driver: parts.driver,
      linkProxy: proxy,
      node: (name) => this.node(name),
    });
    this.membership = new Membership(this.nodes, { driver: parts.driver, clock, ...watched });
  }

  /**
   * Starts a cluster and waits until it is meshed and every batch is usable.
   * @throws HarnessError; nothing is left behind then
   */
  static async start(options: ClusterOptions = {}): Promise<Cluster> {
    const {
      stateDir: given,
      detached = false,
      source = 'options',
      clock = MACHINE_CLOCK,
      ...others
    } = options;
    const { signal, timeoutMs, onProgress, snapshot, ...input } = others;
    throwIfInterrupted(signal);
    const stateDir = resolve(given ?? defaultStateDir());
    const loaded =
      snapshot === undefined ? undefined : openSnapshot(stateDir, snapshot, { beside: input, source });
    const definition: Definition = loaded?.definition ?? parseDefinition(input, source);
    const seed = loaded?.seed ?? definition.seed ?? drawSeed();
    const ephemeral = !detached;
    await removeLeftovers(stateDir);
    const name = definition.name ?? `net-${randomUUID().slice(0, 8)}`;
    const claimed = await claimedRecord(stateDir, { name, seed, ephemeral, definition, clock });
    const { batches = [], prepared } = loaded?.snapshot.record ?? {};
    const record = { ...claimed, batches, ...(prepared === undefined ? {} : { prepared }) };
    const driver = driverOf(stateDir, record, { stopWithParent: ephemeral });
    const forgetAtExit = ephemeral ? removeAtExit({ stateDir, record, driver }) : () => undefined;
    const uploads = new UploadMemory();
    try {
      if (loaded !== undefined) await placeSnapshot(loaded.snapshot, stateDir, name);
      const started = await startCluster({
        clock,
        stateDir,
        record,
        definition,
        seed,
        driver,
        ephemeral,
        continued: loaded !== undefined,
        signal,
        timeoutMs,
        onProgress: onProgress ?? (() => undefined),
        onUploaded: (node, uploaded) => uploads.remember(node, uploaded),
      });
      const timings = started.record.timings as Timings;
      return await Cluster.#open({ ...started, timings, clock, stateDir, driver, uploads, forgetAtExit });
    } catch (error) {
      // A failed start leaves nothing behind but what it keeps for reading.
      if (readRecord(stateDir, name)?.token === record.token) await tearDown(stateDir, record, driver);
      forgetAtExit();
      throw cannotWrite(stateDir, error);
    }
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
    const { signal, timeoutMs, onProgress = () => undefined, clock = MACHINE_CLOCK } = options;
    throwIfInterrupted(signal);
    const stateDir = resolve(options.stateDir ?? defaultStateDir());
    const { record, before } = await takeAgain(stateDir, name);
    const driver = driverOf(stateDir, record, { stopWithParent: false, isAgain: true });
    const uploads = new UploadMemory();
    try {
      forgetRun(
        clusterFolder(stateDir, record.name),
        record.nodes.map((node) => node.name),
      );
      const started = await startCluster({
        clock,
        stateDir,
        record,
        before,
        definition: readDefinition(record.definition),
        seed: BigInt(record.seed ?? 0),
        driver,
        ephemeral: false,
        continued: true,
        signal,
        timeoutMs,
        onProgress,
        onUploaded: (node, uploaded) => uploads.remember(node, uploaded),
      });
      const timings = started.record.timings as Timings;
      const forgetAtExit = () => undefined;
      return await Cluster.#open({ ...started, timings, clock, stateDir, driver, uploads, forgetAtExit });
    } catch (error) {
      if (readRecord(stateDir, record.name)?.token === record.token) writeRecord(stateDir, before);
      throw cannotWrite(stateDir, error);
    }
  }

  /**
   * A cluster that another process started.
   * @param name may be left out when there is only one @throws HarnessError `CLUSTER_NOT_FOUND`
   */
  static async attach(name?: string, options: { stateDir?: string; clock?: Clock } = {}): Promise<Cluster> {
    const { clock = MACHINE_CLOCK } = options;
    const stateDir = resolve(options.stateDir ?? defaultStateDir());
    const record = findCluster(stateDir, name);
    if (record.phase === 'starting' || record.chain === undefined || record.timings === undefined) {
      throw unfinishedError(stateDir, record);
    }
    // In the owning process, restarted parts still live and die with it.
    const stopWithParent = record.ephemeral && record.owner.pid === process.pid;
    const driver = driverOf(stateDir, record, { stopWithParent });
    const uploads = new UploadMemory();
    const context = {
      clock,
      driver,
      stateDir,
      record,
      ephemeral: record.ephemeral,
      onUploaded: (node: ClusterNode, uploaded: Uploaded) => uploads.remember(node, uploaded),
    };
    return Cluster.#open({
      record,
      timings: record.timings,
      chain: new Chain(record.chain, clock),
      clock,
      nodes: openNodes(context, record.nodes, record.batches),
      stateDir,
      driver,
      uploads,
      forgetAtExit: () => undefined,
    });
  }

  /**
   * Makes a cluster from a network that svcnet did not start, so that its nodes can be driven. Nothing in it
   * is changed, and `stop` only forgets it.
   * @param network path of a network file, or the content of one
   * @throws HarnessError `DEFINITION_INVALID` with every mistake of the document, `NETWORK_INVALID` with everything that
   * does not answer or does not belong together, `CLUSTER_EXISTS`
   */
  static async attachNetwork(network: string | NetworkInput, options: AttachOptions = {}): Promise<Cluster> {
    const { signal, clock = MACHINE_CLOCK } = options;
    throwIfInterrupted(signal);
    const stateDir = resolve(options.stateDir ?? defaultStateDir());
    const source = typeof network === 'string' ? network : 'network';
    const file =
      typeof network === 'string'
        ? await readNetworkFile(network, options)
        : parseNetwork(network, { source, ...options });
    const found = await findNetwork(file, source, { clock, signal });
    throwIfInterrupted(signal);
    const { name } = file;
    // Without keys and tokens, which are only in the records of the nodes.
    const nodes = file.nodes.map(({ name: node, api, debug }) => ({ name: node, api, debug }));
    const definition = { driver: 'attached', profile: 'production', ...file, nodes } as const;
    const claimed = await claimedRecord(stateDir, { name, ephemeral: false, definition, clock });
    try {
      for (const node of found.nodes)
        writeRun(stateDir, name, node.name, { handle: { api: node.api }, state: 'running' });
      const { rpc } = found.chain;
      if (rpc !== '') writeRun(stateDir, name, 'chain', { handle: { rpc }, state: 'running' });
      writeRecord(stateDir, { ...claimed, ...found, phase: 'running', timings: NO_TIMINGS });
    } catch (error) {
      removeCluster(stateDir, claimed);
      throw cannotWrite(stateDir, error);
    }
    return Cluster.attach(name, { stateDir, clock });
  }

  static async #open(parts: ClusterParts): Promise<Cluster> {
    await Promise.all(
      parts.nodes.map(async (node) => {
        const sight = await node.observe();
        // The wanted state of what this process launched is already known.
        if (node.wanted === undefined) node.accept(sight);
      }),
    );
    return new Cluster(parts);
  }

  /** @param which index or name @throws HarnessError `NODE_NOT_FOUND` with the nearest name */
  node(which: number | string): ClusterNode {
    const found =
      typeof which === 'number' ? this.nodes[which] : this.nodes.find(({ name }) => name === which);
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
      (signal) => (this.driver === 'attached' ? probeNetwork : probeMesh)(this.nodes, signal),
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
    const options = this.#limits(limits, USABLE_TIMEOUT_MS + USABLE_BLOCKS_MAX * this.chain.blockTimeMs);
    if (batch === undefined) {
      const own = this.batches.filter(({ node }) => this.node(node).running);
      await until('not every batch is usable', (signal) => probeBatches(own, this.nodes, signal), options);
      return;
    }
    expectHex('usable: batch', batch, DIGITS.hash);
    const id = batch.toLowerCase();
    const { buyer } = limits;
    const owner = buyer === undefined ? await this.#ownerOf(id, options) : this.node(buyer);
    await until(
      'the batch is not usable',
      (signal) =>
        'block' in owner
          ? probeForeignBatch({ id, block: owner.block }, this.nodes, signal)
          : probeBatch(id, owner, this.nodes, signal),
      options,
    );
  }

  /**
   * Every chunk of an upload has reached its neighbourhood.
   * @param target the reference that an upload returned, or one of its tags
   * @returns the tag, or undefined for a direct upload, which is synced once it is acknowledged
   * @throws HarnessError `UPLOAD_UNKNOWN` at once when no node knows it, `ARGUMENT_INVALID`, `WAIT_TIMEOUT`
   */
  async synced(
    target: string | { node: number | string; tag: number },
    { onProgress, ...limits }: SyncedLimits = {},
  ): Promise<Tag | undefined> {
    const options = this.#limits(limits, SYNCED_TIMEOUT_MS);
    const isSynced = (tag: TagTarget) =>
      until('the upload is not synced', (signal) => probeTag(tag, signal, onProgress), options);
    if (typeof target === 'object' && target !== null) {
      expectWhole('synced: tag', target.tag, { min: 0 });
      const tag: TagTarget = { node: this.node(target.node), tag: target.tag };
      return isSynced(tag);
    }
    expectHex('synced: reference', target, DIGITS.reference);
    const remembered = this.#uploads.find(target.toLowerCase());
    if (remembered?.tag === undefined && remembered !== undefined) return undefined;
    const tags =
      remembered?.tag === undefined
        ? await until(
            'no upload is known',
            (signal) => findTags(target, this.nodes, { clock: this.clock, signal }),
            options,
          )
        : [{ node: remembered.node, tag: remembered.tag }];
    return (await Promise.all(tags.map(isSynced)))[0];
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
    return this.driver === 'attached' ? unlistedPeers(this.nodes, signal) : [];
  }

  /**
   * Records a batch bought for a node without one: the node's default batch for each later attach. @internal
   */
  adopt(batch: BatchRecord): void {
    const record = readRecord(this.#stateDir, this.name);
    if (record?.token !== this.#record.token) return;
    writeRecord(this.#stateDir, { ...record, batches: [...record.batches, batch] });
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
        clock: this.clock,
        stateDir: this.#stateDir,
        record: this.#record,
        nodes: this.nodes,
        chain: this.chain,
        driver: this.#driver,
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
    await this.#driver.close();
  }

  /** The document of `ps --json`. */
  toJSON(): ClusterDocument {
    return clusterDocument(this);
  }

  /**
   * The log of a node, of the chain, or of the link proxy of a cluster that has one.
   * @param part name of a node, `chain` or `link-proxy`
   * @throws HarnessError `NODE_NOT_FOUND`, `NODE_STATE` when it was not started by svcnet
   */
  logOf(part: string): PartLog {
    const isProxy = part === LINK_PROXY && this.#driver.proxied;
    const node = part === 'chain' || isProxy ? undefined : this.node(part);
    if (!this.logged) {
      throw new HarnessError('NODE_STATE', `cannot read the log of ${part}: it was not started by svcnet`, {
        hint: 'Whatever runs it has its log, such as docker logs or kubectl logs.',
      });
    }
    const log = () => clusterFolder(this.#stateDir, this.name).log(part);
    return node?.output ?? this.#driver.logs({ name: part, log: log() });
  }

  /** Brings logs that are kept elsewhere into its folder. */
  gatherLogs(): Promise<void> {
    return this.#driver.gatherLogs();
  }

  /** Whether the logs of its nodes can be read: those of nodes that svcnet did not start cannot. */
  get logged(): boolean {
    return this.driver !== 'attached';
  }

  /** What can be done to its nodes where they run. */
  get capabilities(): ReadonlySet<Capability> {
    return this.#driver.capabilities;
  }

  /** Folder of logs, keys and data. */
  get folder(): string {
    return clusterFolder(this.#stateDir, this.name).path;
  }

  async #stop(): Promise<void> {
    this.membership.close();
    for (const node of this.nodes) node.retire();
    await tearDown(this.#stateDir, this.#record, this.#driver);
    // Nodes that svcnet did not start keep running.
    if (this.driver !== 'attached') for (const node of this.nodes) node.tornDown();
    await this.detach();
    this.#forgetAtExit();
  }

  /** The node that owns the batch, or the batch's block when no node does. */
  async #ownerOf(batch: string, options: WaitOptions): Promise<ClusterNode | { readonly block: number }> {
    const known = this.batches.find(({ id }) => id === batch);
    if (known !== undefined) return this.node(known.node);
    try {
      return await until(
        'no node owns the batch',
        (signal) => findOwner(batch, this.nodes, { clock: this.clock, signal }),
        options,
      );
    } catch (error) {
      if (!(error instanceof HarnessError) || error.code !== 'BATCH_UNKNOWN') throw error;
      const created = await this.chain.batch(batch);
      if (created === undefined) throw error;
      // Its node may not have read that block yet.
      return this.nodes.find(({ ethereum }) => ethereum === created.owner) ?? { block: created.block };
    }
  }

  #limits(limits: WaitLimits, timeoutMs: number): WaitOptions {
    return { clock: this.clock, timeoutMs: limits.timeoutMs ?? timeoutMs, signal: limits.signal };
  }
}

function unfinishedError(stateDir: string, record: ClusterRecord): HarnessError {
  const { name, phase, owner } = record;
  return phase === 'starting' && isAlive(owner)
    ? new HarnessError('CLUSTER_NOT_FOUND', `cluster '${name}' is being started by process ${owner.pid}`, {
        hint: 'Try again when it has started.',
      })
    : new HarnessError('CLUSTER_NOT_FOUND', `cluster '${name}' has not started completely`, {
        hint: isMeantToStay(record)
          ? nextSteps(stateDir, record)
          : `Remove it with: svcnet down --name ${name}`,
      });
}

async function claimedRecord(
  stateDir: string,
  options: Parameters<typeof claimCluster>[1],
): Promise<ClusterRecord> {
  try {
    return await claimCluster(stateDir, options);
  } catch (error) {
    throw cannotWrite(stateDir, error);
  }
}

/** Which upload gave which reference, so that `synced` need not ask every node. */
class UploadMemory {
  readonly #uploads = new Map<string, { node: ClusterNode; tag: number | undefined }>();

  remember(node: ClusterNode, uploaded: Uploaded): void {
    this.#uploads.delete(uploaded.reference);
    this.#uploads.set(uploaded.reference, { node, tag: uploaded.tag });
    if (this.#uploads.size <= UPLOADS_REMEMBERED) return;
    for (const oldest of this.#uploads.keys()) {
      this.#uploads.delete(oldest);
      return;
    }
  }

  find(reference: string): { node: ClusterNode; tag: number | undefined } | undefined {
    return this.#uploads.get(reference);
  }
}
