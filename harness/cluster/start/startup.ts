/** Name, chain, nodes, links, batches, prepared state, in this order. A failed start leaves nothing running. */
import { availableParallelism } from 'node:os';
import { HarnessError, messageOf, throwIfInterrupted } from '../../base/errors.ts';
import { Chain } from '../../chain/chain.ts';
import { flavourOf } from '../../flavours/table.ts';
import { type Driver, haltAll } from '../../places/driver.ts';
import { DRIVER_FACTS } from '../../places/facts.ts';
import { ClusterNode } from '../nodes/cluster-node.ts';
import { openNodes } from '../nodes/open-nodes.ts';
import { plannedBatches } from '../plan/chain-options.ts';
import { engineOf, groupsInUse, storeOf, type UsedGroup } from '../plan/facts.ts';
import { type ClusterPlan, planCluster } from '../plan/plan.ts';
import { keepFailed } from '../state/failed.ts';
import {
  type BatchRecord,
  type ClusterRecord,
  clusterFolder,
  type NodeRecord,
  removeCluster,
  type Timings,
  writeRecord,
  writeRun,
} from '../state/state.ts';
import { chainPortAgain, isFixed, livingBatches } from './again.ts';
import { type StartedChain, startChain } from './chain-start.ts';
import { route, startLinkProxy } from './link-proxy.ts';
import { checkPorts, createNodes } from './node-setup.ts';
import { startInWaves } from './node-waves.ts';
import type { Launched } from './part-watch.ts';
import { PartWatch } from './part-watch.ts';
import { hasPreparation, prepareState } from './prepared.ts';
import type { StartContext } from './start-context.ts';
import { startDeadline, timeoutFor } from './start-deadline.ts';
import { awaitBatches, awaitMesh, checkReachable, stopwatch } from './startup-conditions.ts';

/**
 * Mined before the nodes run on chains that never mine on demand: a real node may stamp with a batch once it has read ten
 * blocks after it, in steps of five, four behind the head (contracts.md 11.3).
 */
const HEAD_START_BLOCKS = 20;
/** Another process may take a picked port before the node does. */
const PORT_ATTEMPTS = 3;
const GRACE_MS = 500;

export interface StartedCluster {
  readonly record: ClusterRecord & { readonly timings: Timings };
  readonly chain: Chain;
  readonly nodes: ClusterNode[];
}

/** @throws HarnessError; the name is free and no process left */
export async function startCluster(context: StartContext): Promise<StartedCluster> {
  const watch = new PartWatch(context.clock);
  const launched: Launched = { begun: false, parts: [], watch, open: [] };
  const failed = new AbortController();
  const deadline = startDeadline(context);
  const signals = [
    failed.signal,
    deadline.signal,
    watch.signal,
    ...(context.signal === undefined ? [] : [context.signal]),
  ];
  const { onProgress } = deadline;
  try {
    return await startParts({ ...context, signal: AbortSignal.any(signals), onProgress }, launched);
  } catch (error) {
    const isInterrupted = context.signal?.aborted === true;
    const expired = deadline.signal.aborted && !isInterrupted;
    deadline.end();
    const lost = isInterrupted ? undefined : await watch.reason();
    watch.end();
    failed.abort();
    const reason = lost ?? (expired ? deadline.signal.reason : error);
    if (!launched.begun) {
      if (context.before === undefined) removeCluster(context.stateDir, context.record);
      throw reason;
    }
    await Promise.all(launched.open.map((connection) => connection.close()));
    const parts = { token: context.record.token, parts: launched.parts };
    if (context.before !== undefined) {
      await haltAll(context.driver, parts, GRACE_MS);
      throw reason;
    }
    if (launched.parts.length > 0) await gatherLogs(context);
    await context.driver.dispose(parts, GRACE_MS);
    throw withEvidence(reason, context);
  } finally {
    deadline.end();
    watch.end();
  }
}

async function startParts(context: StartContext, launched: Launched): Promise<StartedCluster> {
  const { definition, seed, signal, before } = context;
  const watch = stopwatch(context.clock);
  const groups = groupsInUse(definition);
  if (before === undefined) await awaitImages(context, groups);
  watch.lap();
  await checkPrograms(context.driver, groups);
  const plan = planCluster(definition, seed);
  if (!isFixed(context)) await checkPorts(plan, { isAgain: before !== undefined });

  launched.begun = true;
  context.onProgress({ step: 'chain', done: false, detail: `${engineOf(definition)}, 7 contracts` });
  const prepared = prepare(context.driver, groups, signal);
  // A start that fails before this is awaited reports its own reason.
  void Promise.allSettled([prepared]);
  const started = await startChainOf(context, plan, launched);
  launched.watch.add(started.whyEnded);
  const chain = new Chain(started.record, context.clock);
  launched.open.push(chain);
  if (chain.steady && !context.continued) {
    const { height = 0 } = context.definition.prepare;
    const missing = height - (await chain.height(context.signal));
    await chain.mine(Math.max(HEAD_START_BLOCKS, missing), { force: true });
  }
  const chainMs = watch.lap();
  context.onProgress({
    step: 'chain',
    done: true,
    detail: `${engineOf(definition)} on ${new URL(started.record.rpc).host}, 7 contracts`,
    ms: chainMs,
  });

  context.onProgress({ step: 'nodes', done: false, detail: `0 of ${plan.nodes.length} ready` });
  const batches = context.continued ? context.record.batches : plannedBatches(plan);
  await prepared;
  const { nodes, records } = await startNodes(context, {
    started,
    plan,
    batches,
    launched,
    // Others know what to stop, even if this process is killed.
    onCreated: (created) =>
      writeRecord(context.stateDir, {
        ...context.record,
        chain: started.record,
        nodes: created,
        batches,
      }),
  });
  const nodesMs = watch.lap();
  context.onProgress({
    step: 'nodes',
    done: true,
    detail: `${nodes.length} of ${nodes.length} ready`,
    ms: nodesMs,
  });

  const living = await livingBatches(context, chain, batches);
  const [meshedMs, batchUsableMs] = await Promise.all([
    awaitMesh(context, nodes),
    awaitBatches(context, nodes, living),
  ]);
  await checkReachable(nodes, signal);
  const state =
    hasPreparation(definition) && !context.continued
      ? await prepareState(context, { chain, nodes })
      : undefined;
  // What just ended ends the start too.
  await launched.watch.reason();
  throwIfInterrupted(signal);
  const timings: Timings = {
    chainMs,
    nodesMs,
    meshedMs,
    batchUsableMs,
    preparedMs: state?.ms,
    totalMs: watch.total(),
  };
  const record: StartedCluster['record'] = {
    ...context.record,
    phase: 'running',
    chain: started.record,
    nodes: records,
    batches,
    prepared: state?.prepared ?? context.record.prepared,
    timings,
  };
  writeRecord(context.stateDir, record);
  return { record, chain, nodes };
}

/** A failure to read the logs must not hide that of the start. */
async function gatherLogs({ driver }: StartContext): Promise<void> {
  const [outcome] = await Promise.allSettled([driver.gatherLogs()]);
  if (outcome.status === 'rejected') process.emitWarning(`logs are lost: ${messageOf(outcome.reason)}`);
}

/** Keeps a failed start's output, not an interrupted one's. @returns the error, with a hint that names the folder */
function withEvidence(error: unknown, { clock, stateDir, record }: StartContext): unknown {
  if (!(error instanceof HarnessError) || error.code === 'INTERRUPTED') {
    removeCluster(stateDir, record);
    return error;
  }
  const kept = keepFailed(stateDir, record.name, clock.now());
  if (kept === undefined) return error;
  const before = clusterFolder(stateDir, record.name).path;
  const hint = [error.hint?.replaceAll(before, kept), `Logs and state of this start: ${kept}`].filter(
    (text) => text !== undefined,
  );
  return new HarnessError(error.code, error.message, { cause: error, hint: hint.join('\n') });
}

/** A program that cannot be started must not cost a chain. */
export async function checkPrograms(driver: Driver, groups: readonly UsedGroup[]): Promise<void> {
  for (const { where, group } of groups) {
    const { binary, image, options } = group;
    const runImage = driver.images?.run;
    await flavourOf(group).check?.({ where, binary, image, options, runImage });
  }
}

/** A step of its own: an image may take minutes to build. */
export async function awaitImages(
  { clock, driver, signal, onProgress }: Pick<StartContext, 'clock' | 'driver' | 'signal' | 'onProgress'>,
  groups: readonly UsedGroup[],
): Promise<void> {
  if (driver.images === undefined) return;
  const watch = stopwatch(clock);
  const step = 'image';
  onProgress({ step, done: false, detail: 'asking the engine' });
  const named = groups.map(({ group }) => group.image).filter((image) => image !== undefined);
  const detail = await driver.images.ready([...new Set(named)], {
    signal,
    onProgress: (text) => onProgress({ step, done: false, detail: text }),
  });
  onProgress({ step, done: true, detail, ms: watch.total() });
}

export async function prepare(
  driver: Driver,
  groups: readonly UsedGroup[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const flavours = new Set(groups.map(({ group }) => flavourOf(group)));
  await Promise.all(Array.from(flavours, (flavour) => driver.prepare(flavour, signal)));
}

async function startChainOf(
  context: StartContext,
  plan: ClusterPlan,
  launched: Launched,
): Promise<StartedChain> {
  const { stateDir, record, signal, continued, before, definition } = context;
  const folder = clusterFolder(stateDir, record.name);
  const keepsState = continued || (!context.ephemeral && storeOf(definition) === 'disk');
  return startChain({
    clock: context.clock,
    driver: context.driver,
    options: {
      ...plan.chain,
      ...(keepsState ? { stateFolder: folder.chainState() } : {}),
      ...(await chainPortAgain(context, plan)),
    },
    isAgain: before !== undefined,
    token: record.token,
    optionsFile: folder.chainOptions(),
    log: folder.log('chain'),
    stopWithParent: context.ephemeral,
    signal,
    onStarted({ handle }) {
      launched.parts.push({ name: 'chain', handle });
      writeRun(stateDir, record.name, 'chain', { handle, state: 'running' });
    },
  });
}

export interface NodeParts {
  readonly started: Pick<StartedChain, 'record' | 'nodesUrls'>;
  readonly plan: ClusterPlan;
  readonly batches: readonly BatchRecord[];
  readonly launched: Launched;
  readonly onCreated: (records: readonly NodeRecord[]) => void;
  readonly all?: () => readonly ClusterNode[];
}

export async function startNodes(
  context: StartContext,
  parts: NodeParts,
): Promise<{ nodes: ClusterNode[]; records: readonly NodeRecord[] }> {
  for (let attempt = 1; ; attempt++) {
    const watched = new DisposableStack();
    try {
      return await startNodesOnce(context, parts, (node) => {
        watched.use(parts.launched.watch.add(() => node.whyEnded()));
      });
    } catch (error) {
      const again =
        error instanceof HarnessError &&
        error.code === 'PORT_IN_USE' &&
        context.signal?.aborted !== true &&
        context.definition.ports === 'free' &&
        attempt < PORT_ATTEMPTS;
      if (!again) throw error;
      watched.dispose();
      const nodes = parts.launched.parts.filter(({ name }) => name !== 'chain');
      parts.launched.parts.splice(
        0,
        Infinity,
        ...parts.launched.parts.filter(({ name }) => name === 'chain'),
      );
      await Promise.all(nodes.map(({ handle }) => context.driver.stop(handle, 0)));
    }
  }
}

async function startNodesOnce(
  context: StartContext,
  { started, plan, batches, launched, onCreated, all }: NodeParts,
  onReady: (node: ClusterNode) => void,
): Promise<{ nodes: ClusterNode[]; records: readonly NodeRecord[] }> {
  const { signal } = context;
  const { records, routes } = await createNodes(context, started, plan);
  onCreated(records);
  const nodes = openNodes({ ...context, all }, records, batches);
  launched.open.push(...nodes.map(({ client }) => client));
  if (all !== undefined) await route(context, routes);
  else if (routes.length > 0) await startLinkProxy(context, routes, launched);
  await startInWaves(nodes, {
    clock: context.clock,
    // Virtual time must not depend on the machine.
    processors: DRIVER_FACTS[context.driver.name].simulated ? Infinity : availableParallelism(),
    limitMs: context.timeoutMs ?? timeoutFor(nodes.length),
    async launch(node) {
      throwIfInterrupted(signal);
      launched.parts.push({ name: node.name, handle: await node.launch() });
    },
    onReady,
    onProgress: context.onProgress,
    signal,
  });
  return { nodes, records };
}
