/**
 * Starting a cluster: a name, a chain, nodes, links, batches, in this order. Whatever happens on the way, nothing
 * of a start that failed is left behind.
 */
import { Chain, type StartedChain, startChain } from './chain.ts';
import { chainOptions } from './chain-options.ts';
import type { Uploaded } from './client/types.ts';
import { ClusterNode } from './cluster-node.ts';
import { type Definition, plannedNodes } from './definition.ts';
import type { Driver } from './drivers/driver.ts';
import { HarnessError, throwIfInterrupted } from './errors.ts';
import { FLAVOURS } from './flavours/table.ts';
import { introduce } from './introductions.ts';
import { createNodes, nodeName } from './node-setup.ts';
import { endProcess, killProcess, type ProcessId } from './processes.ts';
import { deriveNode, type NodeIdentity } from './seed.ts';
import {
  type BatchRecord,
  type ClusterRecord,
  clusterFolder,
  compileCacheDir,
  type NodeRecord,
  removeCluster,
  type Timings,
  writeRecord,
  writeRun,
} from './state.ts';
import { type Seen, until } from './wait.ts';
import { lookAtBatches, lookAtMesh } from './waits.ts';
import { plural } from './words.ts';

/**
 * Mined before the nodes run where they never are on demand: a real node may stamp with a batch once it has read ten
 * blocks behind it, in steps of five, four blocks behind the head (contracts.md 11.3).
 */
const HEAD_START_BLOCKS = 20;
/** Somebody else may take a picked port before the node does; twice in a row it is no accident. */
const PORT_ATTEMPTS = 3;
/** Deadlines grow with the cluster: on a small machine the nodes start one after the other. */
const BASE_TIMEOUT_MS = 30_000;
const TIMEOUT_PER_NODE_MS = 1500;
/** For a chain that has to go before it was of use. */
const CHAIN_GRACE_MS = 500;
/** A batch is usable after a number of blocks that the profile decides; never more than these. */
const USABLE_BLOCKS_MAX = 20;

export type StartStep = 'chain' | 'nodes' | 'mesh' | 'postage';
export interface StartProgress {
  readonly step: StartStep;
  readonly done: boolean;
  readonly detail: string;
  /** Duration of the step, when it is done. */
  readonly ms?: number;
}

export interface StartContext {
  readonly stateDir: string;
  readonly record: ClusterRecord;
  readonly definition: Definition;
  readonly seed: bigint;
  readonly driver: Driver;
  readonly ephemeral: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress: (progress: StartProgress) => void;
  readonly onUploaded: (node: ClusterNode, uploaded: Uploaded) => void;
}

export interface StartedCluster {
  readonly record: ClusterRecord;
  readonly chain: Chain;
  readonly nodes: readonly ClusterNode[];
}

/** What has to end when the start fails. */
interface Launched {
  chain: ProcessId | undefined;
  readonly nodes: ProcessId[];
  /** Connections. */
  readonly open: { close(): Promise<void> }[];
}

/** @throws HarnessError; the name is free again and no process is left */
export async function startCluster(context: StartContext): Promise<StartedCluster> {
  const launched: Launched = { chain: undefined, nodes: [], open: [] };
  const failed = new AbortController();
  const signal =
    context.signal === undefined ? failed.signal : AbortSignal.any([context.signal, failed.signal]);
  try {
    return await startParts({ ...context, signal }, launched);
  } catch (error) {
    // The waits that still run have nothing to wait for any more.
    failed.abort();
    // There is nothing to save in nodes that never worked; the chain takes Anvil along only when it is asked.
    await Promise.all([
      ...launched.open.map((connection) => connection.close()),
      ...launched.nodes.map((id) => killProcess(id)),
      ...(launched.chain === undefined ? [] : [endProcess(launched.chain, CHAIN_GRACE_MS)]),
    ]);
    removeCluster(context.stateDir, context.record.name);
    throw error;
  }
}

async function startParts(context: StartContext, launched: Launched): Promise<StartedCluster> {
  const { definition, seed, signal } = context;
  const clock = stopwatch();
  await checkPrograms(definition);
  const plans = plannedNodes(definition);
  const identities = plans.map((_, index) =>
    deriveNode({ seed, index, networkId: definition.chain.networkId }),
  );

  context.onProgress({ step: 'chain', done: false, detail: 'anvil, 7 contracts' });
  const started = await startChainOf(context, identities, launched);
  if (started.anvil !== undefined) {
    writeRun(context.stateDir, context.record.name, 'anvil', { process: started.anvil, state: 'running' });
  }
  const chain = new Chain(started.record);
  launched.open.push(chain);
  if (chain.steady) await chain.mine(HEAD_START_BLOCKS, { force: true });
  const chainMs = clock.lap();
  context.onProgress({
    step: 'chain',
    done: true,
    detail: `anvil on ${new URL(started.record.rpc).host}, 7 contracts`,
    ms: chainMs,
  });

  context.onProgress({ step: 'nodes', done: false, detail: `0 of ${plans.length} ready` });
  const batches = batchesOf(started, identities);
  const { nodes, records } = await startNodes(context, { started, identities, batches, launched });
  const nodesMs = clock.lap();
  context.onProgress({
    step: 'nodes',
    done: true,
    detail: `${nodes.length} of ${nodes.length} ready`,
    ms: nodesMs,
  });

  const [meshedMs, batchUsableMs] = await Promise.all([
    awaitMesh(context, nodes),
    awaitBatches(context, nodes, batches),
  ]);
  throwIfInterrupted(signal);
  const timings: Timings = { chainMs, nodesMs, meshedMs, batchUsableMs, totalMs: clock.total() };
  const record: ClusterRecord = {
    ...context.record,
    phase: 'running',
    chain: started.record,
    nodes: records,
    batches,
    timings,
  };
  writeRecord(context.stateDir, record);
  return { record, chain, nodes };
}

/** Before anything runs: a program that cannot be started must not cost a chain. */
async function checkPrograms({ nodes }: Definition): Promise<void> {
  for (const [index, { flavour, binary, options }] of nodes.entries()) {
    await FLAVOURS[flavour].check?.({ where: `nodes[${index}]`, binary, options });
  }
}

function startChainOf(
  context: StartContext,
  identities: readonly NodeIdentity[],
  launched: Launched,
): Promise<StartedChain> {
  const { stateDir, record, definition, signal } = context;
  const folder = clusterFolder(stateDir, record.name);
  return startChain({
    options: chainOptions(definition, context.seed, identities),
    optionsFile: folder.chainOptions(),
    logFile: folder.log('chain'),
    stopWithParent: context.ephemeral,
    compileCache: compileCacheDir(stateDir, 'tools'),
    signal,
    onSpawned({ id }) {
      launched.chain = id;
      writeRun(stateDir, record.name, 'chain', { process: id, state: 'running' });
    },
  });
}

function batchesOf(started: StartedChain, identities: readonly NodeIdentity[]): BatchRecord[] {
  return started.batches.map(({ id, owner, depth }) => {
    const node = identities.findIndex(({ ethereum }) => ethereum === plainHex(owner));
    return { id: plainHex(id), node: nodeName(node), depth };
  });
}

interface NodeParts {
  readonly started: StartedChain;
  readonly identities: readonly NodeIdentity[];
  readonly batches: readonly BatchRecord[];
  readonly launched: Launched;
}

async function startNodes(
  context: StartContext,
  parts: NodeParts,
): Promise<{ nodes: readonly ClusterNode[]; records: readonly NodeRecord[] }> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startNodesOnce(context, parts);
    } catch (error) {
      const again =
        error instanceof HarnessError &&
        error.code === 'PORT_IN_USE' &&
        context.definition.ports === 'free' &&
        attempt < PORT_ATTEMPTS;
      if (!again) throw error;
      // The chain stays; the nodes begin anew, on other ports.
      await Promise.all(parts.launched.nodes.splice(0).map((id) => killProcess(id)));
    }
  }
}

async function startNodesOnce(
  context: StartContext,
  { started, identities, batches, launched }: NodeParts,
): Promise<{ nodes: readonly ClusterNode[]; records: readonly NodeRecord[] }> {
  const { signal, stateDir } = context;
  const records = await createNodes(context, started, identities);
  // From here on another process finds what there is to stop, even when this one is killed.
  writeRecord(stateDir, { ...context.record, chain: started.record, nodes: records, batches });
  const nodes = openNodes(context, records, batches);
  launched.open.push(...nodes.map(({ client }) => client));
  await launchAll(nodes, context, launched);
  let ready = 0;
  const timeoutMs = timeoutFor(nodes.length);
  await Promise.all(
    nodes.map(async (node) => {
      await node.ready({ timeoutMs, signal });
      context.onProgress({ step: 'nodes', done: false, detail: `${++ready} of ${nodes.length} ready` });
    }),
  );
  return { nodes, records };
}

/** Returns or throws only when it is known of every node whether it has a process. */
async function launchAll(
  nodes: readonly ClusterNode[],
  context: StartContext,
  launched: Launched,
): Promise<void> {
  throwIfInterrupted(context.signal);
  const outcomes = await Promise.allSettled(nodes.map((node) => node.launch()));
  for (const outcome of outcomes) if (outcome.status === 'fulfilled') launched.nodes.push(outcome.value);
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

type OpenContext = Pick<StartContext, 'driver' | 'stateDir' | 'record' | 'onUploaded' | 'ephemeral'>;

export function openNodes(
  context: OpenContext,
  records: readonly NodeRecord[],
  batches: readonly BatchRecord[],
): readonly ClusterNode[] {
  const nodes: readonly ClusterNode[] = records.map((record, index) =>
    openNode(context, { record, index, batches, all: () => nodes }),
  );
  return nodes;
}

function openNode(
  context: OpenContext,
  {
    record,
    index,
    batches,
    all,
  }: {
    record: NodeRecord;
    index: number;
    batches: readonly BatchRecord[];
    all: () => readonly ClusterNode[];
  },
): ClusterNode {
  const batch = batches.find(({ node }) => node === record.name)?.id;
  const { owner, name } = context.record;
  return new ClusterNode(index, record, {
    driver: context.driver,
    stateDir: context.stateDir,
    cluster: name,
    batch: () => batch,
    onUploaded: context.onUploaded,
    all,
    mayStart: () =>
      context.record.ephemeral && owner.pid !== process.pid
        ? new HarnessError(
            'NODE_STATE',
            `cluster '${name}' lives and dies with process ${owner.pid}, which alone can start its nodes`,
          )
        : undefined,
  });
}

async function awaitMesh(context: StartContext, nodes: readonly ClusterNode[]): Promise<number> {
  const clock = stopwatch();
  const mesh = await until(
    'the nodes are not meshed',
    async (signal) => {
      const introduced = await introduceAll(nodes, signal);
      const seen = await lookAtMesh(nodes, signal);
      context.onProgress({
        step: 'mesh',
        done: false,
        detail: `${seen.mesh.links} of ${plural(seen.mesh.expected, 'link')}${seen.lacking === undefined ? '' : `, ${seen.lacking}`}`,
      });
      return 'missing' in introduced ? introduced : seen;
    },
    { timeoutMs: timeoutFor(nodes.length), signal: context.signal },
  );
  const ms = clock.total();
  context.onProgress({
    step: 'mesh',
    done: true,
    detail: `${mesh.links} of ${plural(mesh.expected, 'link')}`,
    ms,
  });
  return ms;
}

/** One after the other: whoever was introduced may introduce the next. */
async function introduceAll(nodes: readonly ClusterNode[], signal: AbortSignal): Promise<Seen<true>> {
  for (const node of nodes) {
    const introduced = await introduce(node, nodes, signal);
    if ('missing' in introduced) return introduced;
  }
  return { done: true };
}

async function awaitBatches(
  context: StartContext,
  nodes: readonly ClusterNode[],
  batches: readonly BatchRecord[],
): Promise<number> {
  if (batches.length === 0) return 0;
  const clock = stopwatch();
  const usable = await until(
    'not every batch is usable',
    async (signal) => {
      const seen = await lookAtBatches(batches, nodes, signal);
      context.onProgress({
        step: 'postage',
        done: false,
        detail: `${seen.usable} of ${plural(batches.length, 'batch')} usable`,
      });
      return seen;
    },
    {
      timeoutMs: timeoutFor(nodes.length) + USABLE_BLOCKS_MAX * context.definition.chain.blockTime,
      signal: context.signal,
    },
  );
  const ms = clock.total();
  context.onProgress({ step: 'postage', done: true, detail: `${plural(usable, 'batch')} usable`, ms });
  return ms;
}

export function timeoutFor(nodes: number): number {
  return BASE_TIMEOUT_MS + nodes * TIMEOUT_PER_NODE_MS;
}

function plainHex(text: string): string {
  return text.replace(/^0x/, '').toLowerCase();
}

function stopwatch(): { lap(): number; total(): number } {
  const startedAt = performance.now();
  let lapAt = startedAt;
  return {
    lap() {
      const now = performance.now();
      const ms = Math.round(now - lapAt);
      lapAt = now;
      return ms;
    },
    total: () => Math.round(performance.now() - startedAt),
  };
}
