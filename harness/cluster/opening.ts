import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import type { Clock } from '../../formats/clock.ts';
import { cannotWrite, HarnessError, throwIfInterrupted } from '../base/errors.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { Chain } from '../chain/chain.ts';
import type { Driver } from '../places/driver.ts';
import { DRIVER_FACTS, LOCAL_DRIVERS } from '../places/facts.ts';
import { endAbandoned } from './growth/remove.ts';
import { takeAgain, unfinishedError } from './lifecycle/again.ts';
import { claimCluster } from './lifecycle/claim.ts';
import { driverOf, expectNotElsewhere } from './lifecycle/drivers.ts';
import { removeLeftovers } from './lifecycle/leftovers.ts';
import { removeAtExit, tearDown } from './lifecycle/teardown.ts';
import type { ClusterNode } from './nodes/cluster-node.ts';
import { UploadMemory } from './nodes/conditions.ts';
import { openNodes } from './nodes/open-nodes.ts';
import { parseDefinition } from './plan/definition.ts';
import type { DefinitionInput } from './plan/definition-input.ts';
import { readDefinition } from './plan/schema.ts';
import { drawSeed } from './plan/seed.ts';
import { forgetRun } from './snapshots/copy.ts';
import { openSnapshot, placeSnapshot } from './snapshots/load.ts';
import type { StartContext, StartProgress } from './start/start-context.ts';
import { startCluster } from './start/startup.ts';
import {
  type ClusterRecord,
  clusterFolder,
  expectOwnRecord,
  findCluster,
  holdRuns,
  readRecord,
  type Timings,
  writeRecord,
} from './state/state.ts';
import { defaultStateDir } from './state/state-folder.ts';

/** Options of `Cluster.start`: the definition of the cluster, and how it is started. */
export interface ClusterOptions extends DefinitionInput {
  /** Folder of all state; default `.svcnet` in the current directory, or `SVCNET_STATE`. */
  readonly stateDir?: string;
  /** Leave the cluster running when this process ends. Default: it ends with this process, even if that crashes. */
  readonly detached?: boolean;
  /** Default: the machine's. */
  readonly clock?: Clock;
  /**
   * Write down every frame that the nodes send each other, a line each, in `frames.log` among the logs. Only with driver
   * `simulated`.
   */
  readonly frames?: boolean;
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

export interface ClusterParts {
  readonly clock: Clock;
  readonly record: ClusterRecord & { readonly timings: Timings };
  readonly chain: Chain;
  readonly nodes: ClusterNode[];
  readonly stateDir: string;
  readonly driver: Driver;
  readonly uploads: UploadMemory;
  readonly forgetAtExit: () => void;
}

export async function openNew(options: ClusterOptions): Promise<ClusterParts> {
  const {
    stateDir: given,
    detached = false,
    source = 'options',
    clock: chosen = MACHINE_CLOCK,
    frames = false,
    ...others
  } = options;
  const { signal, timeoutMs, onProgress = () => undefined, snapshot, ...input } = others;
  throwIfInterrupted(signal);
  const stateDir = resolve(given ?? defaultStateDir());
  const loaded =
    snapshot === undefined ? undefined : openSnapshot(stateDir, snapshot, { beside: input, source });
  const definition = loaded?.definition ?? parseDefinition(input, source);
  const seed = loaded?.seed ?? definition.seed ?? drawSeed();
  const ephemeral = !detached;
  if (detached && DRIVER_FACTS[definition.driver].simulated) {
    throw new HarnessError(
      'USAGE',
      `driver: got ${definition.driver} for a cluster that outlives its process, expected ${LOCAL_DRIVERS.join(' or ')}: a simulation ends with the process that started it`,
      { hint: 'Use `svcnet run`, or `Cluster.start` without `detached`.' },
    );
  }
  if (frames && !DRIVER_FACTS[definition.driver].simulated) {
    throw new HarnessError(
      'USAGE',
      `frames: got true with driver ${definition.driver}, expected driver simulated`,
    );
  }
  await removeLeftovers(stateDir);
  const name = definition.name ?? `net-${randomUUID().slice(0, 8)}`;
  const claimed = await claimCluster(stateDir, { name, seed, ephemeral, definition, clock: chosen });
  if (DRIVER_FACTS[definition.driver].simulated) holdRuns(stateDir, name);
  const { batches = [], prepared } = loaded?.snapshot.record ?? {};
  const record = { ...claimed, batches, prepared };
  const driver = driverOf(stateDir, record, { clock: chosen, stopWithParent: ephemeral, frames });
  const forgetAtExit = ephemeral ? removeAtExit({ stateDir, record, driver }) : () => undefined;
  const continued = loaded !== undefined;
  const clock = driver.clock ?? chosen;
  // A simulation has a time of its own.
  const begun = driver.clock === undefined ? record : { ...record, began: clock.now() };
  const context = { clock, stateDir, record: begun, definition, seed, driver, ephemeral, continued };
  try {
    if (loaded !== undefined) await placeSnapshot(loaded.snapshot, stateDir, name);
    return await openStarted({ ...context, signal, timeoutMs, onProgress }, forgetAtExit);
  } catch (error) {
    // A failed start leaves only what it keeps for reading.
    if (readRecord(stateDir, name)?.token === record.token) await tearDown(stateDir, record, driver);
    forgetAtExit();
    throw cannotWrite(stateDir, error);
  }
}

export async function openAgain(name: string | undefined, options: AgainOptions): Promise<ClusterParts> {
  const { signal, timeoutMs, onProgress = () => undefined, clock = MACHINE_CLOCK } = options;
  throwIfInterrupted(signal);
  const stateDir = resolve(options.stateDir ?? defaultStateDir());
  const { record, before } = await takeAgain(stateDir, name);
  const driver = driverOf(stateDir, record, { clock, stopWithParent: false, isAgain: true });
  const definition = readDefinition(record.definition);
  const seed = BigInt(record.seed ?? 0);
  const context = { clock, stateDir, record, before, definition, seed, driver, ephemeral: false };
  try {
    await endAbandoned(context);
    forgetRun(
      clusterFolder(stateDir, record.name),
      record.nodes.map((node) => node.name),
    );
    return await openStarted({ ...context, continued: true, signal, timeoutMs, onProgress });
  } catch (error) {
    if (readRecord(stateDir, record.name)?.token === record.token) writeRecord(stateDir, before);
    throw cannotWrite(stateDir, error);
  }
}

export async function openRunning(
  name: string | undefined,
  options: { readonly stateDir?: string; readonly clock?: Clock },
): Promise<ClusterParts> {
  const { clock: chosen = MACHINE_CLOCK } = options;
  const stateDir = resolve(options.stateDir ?? defaultStateDir());
  const record = findCluster(stateDir, name);
  const { phase, chain, timings, ephemeral, owner } = record;
  expectNotElsewhere(record, 'attach to');
  if (phase === 'starting' || chain === undefined || timings === undefined) {
    throw unfinishedError(stateDir, record);
  }
  expectOwnRecord(stateDir, record.name);
  // Restarted parts die with the owner, which alone has a simulation's time.
  const isOwner = ephemeral && owner.pid === process.pid;
  const driver = driverOf(stateDir, record, { clock: chosen, stopWithParent: isOwner });
  await endAbandoned({ stateDir, record, driver });
  const clock = (isOwner ? driver.clock : undefined) ?? chosen;
  const context = { clock, stateDir, driver, ...uploadMemory() };
  return observed({
    ...context,
    record: { ...record, timings },
    chain: new Chain(chain, clock),
    nodes: openNodes({ ...context, record }, record.nodes, record.batches),
    forgetAtExit: () => undefined,
  });
}

async function openStarted(
  context: Omit<StartContext, 'onUploaded'>,
  forgetAtExit: () => void = () => undefined,
): Promise<ClusterParts> {
  const { clock, stateDir, driver } = context;
  const memory = uploadMemory();
  const started = await startCluster({ ...context, onUploaded: memory.onUploaded });
  return observed({ ...started, clock, stateDir, driver, uploads: memory.uploads, forgetAtExit });
}

function uploadMemory(): Pick<ClusterParts, 'uploads'> & Pick<StartContext, 'onUploaded'> {
  const uploads = new UploadMemory();
  return { uploads, onUploaded: (node, uploaded) => uploads.remember(node, uploaded) };
}

async function observed(parts: ClusterParts): Promise<ClusterParts> {
  await Promise.all(
    parts.nodes.map(async (node) => {
      const sight = await node.observe();
      if (node.wanted === undefined) node.accept(sight);
    }),
  );
  return parts;
}
