/**
 * Nodes and chain have to be saved at one moment, so the nodes are stopped cleanly before the copy, and restarted whatever
 * has happened meanwhile.
 */

import { existsSync } from 'node:fs';
import type { Clock } from '../../../formats/clock.ts';
import { HarnessError, interrupted, messageOf, throwIfInterrupted } from '../../base/errors.ts';
import { runProgram } from '../../base/machine/processes.ts';
import { typed } from '../../base/typed.ts';
import { awaitAll, orAborted } from '../../base/wait.ts';
import type { Chain } from '../../chain/chain.ts';
import { isOurs } from '../../flavours/flavour.ts';
import { flavourOf } from '../../flavours/table.ts';
import type { Driver } from '../../places/driver.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';
import type { NodeSight } from '../nodes/node-run.ts';
import { clusterName } from '../plan/fields.ts';
import { readDefinition, writtenDefinition } from '../plan/schema.ts';
import { beginSaving } from '../state/change.ts';
import { compileCacheDir } from '../state/compile-cache.ts';
import { removeFolder } from '../state/move.ts';
import { type ClusterRecord, readRecord, readRun } from '../state/state.ts';
import { copyFolder, filesBelow, sizeOf } from './copy.ts';
import { currentHead, inside, listSnapshots, type Snapshot, type SnapshotRecord } from './snapshot.ts';
import { beginSnapshot, existsError, finishSnapshot } from './writing.ts';

const FORGET_TIMEOUT_MS = 60_000;

export interface SaveContext {
  readonly clock: Clock;
  readonly stateDir: string;
  readonly record: ClusterRecord;
  readonly nodes: readonly ClusterNode[];
  readonly chain: Chain;
  readonly driver: Driver;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress: (text: string) => void;
  /** Only once the nodes serve again may another process save the cluster. */
  readonly restarted: () => Promise<void>;
}

/**
 * @param options.force replaces a snapshot of that name
 * @throws HarnessError `SNAPSHOT_EXISTS`, `SNAPSHOT_REFUSED`, `CLUSTER_GONE` before anything is stopped; `NODE_STATE`
 * when nodes could not be restarted, or others started them during the copy; `INTERRUPTED`, with a hint that names nodes
 * that could not be restarted
 */
export async function saveSnapshot(
  context: SaveContext,
  name: string,
  { force }: { force: boolean },
): Promise<Snapshot> {
  checkName(context.stateDir, name, force);
  checkCluster(context);
  const { stateDir, record } = context;
  using _saving = beginSaving(stateDir, record);
  const snapshot = await save(context, name, { force });
  await context.restarted();
  return snapshot;
}

async function save(context: SaveContext, name: string, { force }: { force: boolean }): Promise<Snapshot> {
  const path = beginSnapshot(context.stateDir);
  let copying: Promise<number> | undefined;
  try {
    // A chain that does not answer has nothing to save.
    await context.chain.height(context.signal);
    const height = await whileStopped(context, () => (copying = copyAll(context, path)));
    const { record, stateDir } = context;
    const { seed, prepared } = record;
    if (seed === undefined) throw new TypeError('a cluster that can be copied has a seed');
    const saved: SnapshotRecord = {
      ...currentHead(),
      name,
      savedAt: context.clock.now(),
      cluster: record.name,
      seed,
      driver: record.driver,
      definition: writtenDefinition({
        ...readDefinition(record.definition),
        flavours: [],
        formerly: undefined,
      }),
      batches: (readRecord(stateDir, record.name) ?? record).batches,
      prepared,
      height,
      sizeBytes: sizeOf(path),
      files: Object.fromEntries(filesBelow(path)),
      nodes: context.nodes.map(({ name: node, flavour, mode }) => ({ name: node, flavour, mode })),
    };
    return finishSnapshot(stateDir, path, { record: saved, force });
  } catch (error) {
    // It says itself which nodes could not be restarted.
    if (!(error instanceof HarnessError && error.code === 'INTERRUPTED')) throwIfInterrupted(context.signal);
    throw error;
  } finally {
    // After an interruption a file may still be being copied.
    await Promise.allSettled([copying]);
    removeFolder(path);
  }
}

function checkName(stateDir: string, name: string, force: boolean): void {
  const parsed = clusterName.safeParse(name);
  if (!parsed.success) {
    throw new HarnessError(
      'USAGE',
      `snapshot save: got '${name}', expected ${parsed.error.issues[0]?.message ?? ''}`,
    );
  }
  if (!force && listSnapshots(stateDir).some(({ record }) => record.name === name)) {
    throw existsError(name);
  }
}

function checkCluster({ record, nodes, driver }: SaveContext): void {
  if (driver.can.copy === undefined) {
    throw new HarnessError(
      'SNAPSHOT_REFUSED',
      `cluster '${record.name}' cannot be saved: the ${driver.name} driver cannot copy the data of its nodes`,
      { hint: 'Save a cluster of the process or embedded driver.' },
    );
  }
  const foreign = nodes.find((node) => flavourOf(node).forgetPeers === undefined);
  if (foreign !== undefined) {
    throw new HarnessError(
      'SNAPSHOT_REFUSED',
      `cluster '${record.name}' cannot be saved: ${foreign.name} is ${foreign.binary ?? `a ${foreign.flavour}`}, whose stored peer addresses cannot be removed, so a copy would connect to the nodes of this cluster`,
      { hint: 'Save a cluster of svc nodes only.' },
    );
  }
  const { nodes: groups, upgraded = {} } = readDefinition(record.definition);
  const former = [...groups, ...Object.values(upgraded)].find(
    (group) => !isOurs(group) || group.binary !== undefined,
  );
  if (former !== undefined) {
    throw new HarnessError(
      'SNAPSHOT_REFUSED',
      `cluster '${record.name}' cannot be saved: it has had nodes of ${former.binary ?? `flavour ${former.flavour}`}, and a snapshot starts nodes of this package alone`,
      { hint: 'Save a cluster that started with svc nodes only.' },
    );
  }
  if (record.ephemeral && record.owner.pid !== process.pid) {
    throw new HarnessError(
      'SNAPSHOT_REFUSED',
      `cluster '${record.name}' belongs to process ${record.owner.pid}, the only one that can stop and start its nodes`,
      { hint: 'Save it there with cluster.saveSnapshot(name), or start one with: svcnet up' },
    );
  }
}

async function whileStopped<T>(context: SaveContext, work: () => Promise<T>): Promise<T> {
  const { nodes, onProgress, signal, record } = context;
  const sights = await Promise.all(nodes.map((node) => node.observe()));
  const there = nodes.filter((_, index) => sights[index]?.pid !== undefined);
  const paused = new Set(there.filter((node) => node.state === 'paused'));
  onProgress(`stopping ${namesOf(there)} during the copy`);
  const stopped: ClusterNode[] = [];
  using _cutOff = tellAtExit(record, stopped);
  const [outcome] = await Promise.allSettled([
    (async () => {
      throwIfInterrupted(signal);
      await awaitAll(
        there.map(async (node) => {
          if (paused.has(node)) await node.resume();
          await stopFor(stopped, node);
        }),
      );
      // After an interruption the nodes run again at once, however long the copy takes.
      const done = await (signal === undefined ? work() : orAborted(work(), signal, interrupted));
      await expectStopped(nodes, sights);
      return done;
    })(),
  ]);
  onProgress('restarting the nodes');
  const failures = await Promise.allSettled(
    stopped.map(async (node) => {
      if ((await node.observe()).pid === undefined) await node.launch();
      if (paused.has(node)) await node.pause();
    }),
  );
  const failed = stopped.filter((_, index) => failures[index]?.status === 'rejected');
  if (failed.length > 0) {
    const error = notStarted(failed, failures, outcome);
    if (signal?.aborted !== true) throw error;
    const hint = [error.message, error.hint].join('\n');
    throw new HarnessError('INTERRUPTED', interrupted(signal).message, { cause: error, hint });
  }
  if (outcome.status === 'rejected') throw outcome.reason;
  return outcome.value;
}

/** Notes the node for the restart, unless something else has stopped it meanwhile. */
async function stopFor(stopped: ClusterNode[], node: ClusterNode): Promise<void> {
  const [outcome] = await Promise.allSettled([node.stop()]);
  if (outcome.status === 'fulfilled') return void stopped.push(node);
  const { reason } = outcome;
  if (!(reason instanceof HarnessError && reason.code === 'NODE_STATE')) stopped.push(node);
  throw reason;
}

async function expectStopped(nodes: readonly ClusterNode[], before: readonly NodeSight[]): Promise<void> {
  const after = await Promise.all(nodes.map((node) => node.observe()));
  const started = nodes.filter((_, index) => {
    const [was, is] = [before[index], after[index]];
    return is?.pid !== undefined || JSON.stringify(is?.handle) !== JSON.stringify(was?.handle);
  });
  if (started.length === 0) return;
  const was = started.length === 1 ? 'was' : 'were';
  throw new HarnessError('NODE_STATE', `${namesOf(started)} ${was} started while the data was copied`, {
    hint: 'The copy is of no use. Save again while nothing else starts nodes.',
  });
}

/** A process that ends before it has restarted the nodes names them; those of an ephemeral cluster end with it. */
function tellAtExit({ name, ephemeral }: ClusterRecord, stopped: readonly ClusterNode[]): Disposable {
  const tell = () => {
    if (ephemeral || stopped.length === 0) return;
    const start = typed(`start NODE --name ${name}`);
    process.stderr.write(
      `the save was cut off: ${namesOf(stopped)} may stay stopped; start each with: ${start}\n`,
    );
  };
  process.once('exit', tell);
  return { [Symbol.dispose]: () => void process.off('exit', tell) };
}

function notStarted(
  failed: readonly ClusterNode[],
  outcomes: readonly PromiseSettledResult<void>[],
  saved: PromiseSettledResult<unknown>,
): HarnessError {
  const reasons = outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' ? [messageOf(outcome.reason)] : [],
  );
  const before = saved.status === 'rejected' ? [`Before: ${messageOf(saved.reason)}`] : [];
  return new HarnessError('NODE_STATE', `${namesOf(failed)} could not be restarted`, {
    hint: [...reasons, ...before, `Try again with: svcnet start ${failed[0]?.name ?? ''}`].join('\n'),
  });
}

async function copyAll(context: SaveContext, path: string): Promise<number> {
  const { chain, driver, nodes, record, stateDir, signal, onProgress } = context;
  onProgress('copying chain and data');
  await chain.save(inside.chain(path));
  const height = await chain.height(signal);
  for (const node of nodes) {
    throwIfInterrupted(signal);
    const copy = inside.node(path, node.name);
    await copyFolder(node.dataDir, copy, signal);
    const run = readRun(stateDir, record.name, node.name);
    if (run !== undefined) await driver.can.copy?.completeCopy(run.handle, copy);
  }
  await forgetPeers(context, path);
  return height;
}

/** Copies that know this cluster's nodes would connect to them. */
async function forgetPeers({ nodes, stateDir, signal }: SaveContext, path: string): Promise<void> {
  for (const flavour of new Set(nodes.map(flavourOf))) {
    const copies = nodes
      .filter((node) => flavourOf(node) === flavour)
      .map(({ name }) => inside.node(path, name))
      .filter((copy) => existsSync(copy));
    const command = flavour.forgetPeers?.(copies);
    if (command === undefined || copies.length === 0) continue;
    const compileCache = compileCacheDir(stateDir, 'nodes');
    if (await runProgram(command, { compileCache, timeoutMs: FORGET_TIMEOUT_MS, signal })) continue;
    throwIfInterrupted(signal);
    throw new HarnessError(
      'PROCESS_FAILED',
      `the program of ${flavour.name} could not prepare the copied data`,
      {
        hint: `It was run as: ${[command.file, ...command.args].join(' ')}`,
      },
    );
  }
}

function namesOf(nodes: readonly ClusterNode[]): string {
  const names = nodes.map(({ name }) => name);
  return names.length > 3 ? `${names.length} nodes` : names.join(', ');
}
