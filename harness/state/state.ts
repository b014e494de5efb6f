/**
 * What is on disk about a cluster, so that any process can attach to it, look at it and remove it:
 *
 *   <state>/clusters/<name>/cluster.json   what does not change while it runs, written when a phase is reached
 *                          /run/<part>.json which process a node or the chain is, one file each
 *                          /nodes/<node>/   data directories        /logs/<part>.log
 *                          /chain/          options of the chain
 *   <state>/cache/                           compiled code, shared by all clusters
 *
 * Files are replaced as a whole.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { cannotWrite, HarnessError, messageOf } from '../base/errors.ts';
import { suggestion } from '../base/words.ts';
import type { Contracts } from '../chain/contracts.ts';
import type { FlavourName, NodeMode, NodePorts } from '../flavours/flavour.ts';
import type { Profile } from '../flavours/profiles.ts';
import { isAlive, type ProcessId } from '../machine/processes.ts';
import type { DriverName } from '../places/driver.ts';

/** Raised when a record of an older version cannot be read any more. */
export const RECORD_VERSION = 1;
/** Removing a folder while a dying process still writes into it takes a few tries. */
const REMOVE_TRIES = 20;
const REMOVE_PAUSE_MS = 20;

export interface ChainRecord {
  readonly rpc: string;
  readonly control: string;
  /** Endpoint that the nodes use when it shall be made to fail; each adds its name as a path. */
  readonly gate?: string;
  readonly chainId: number;
  readonly networkId: number;
  readonly contracts: Contracts;
  readonly startBlock: number;
  readonly blockTimeMs: number;
  /** Blocks come at the wall clock's pace alone: a node tells time by them. */
  readonly steady: boolean;
}

export interface NodeRecord {
  readonly name: string;
  readonly flavour: FlavourName;
  readonly mode: NodeMode;
  /** Path of its program, of flavours that need one. */
  readonly binary?: string;
  readonly ports: NodePorts;
  /** Multiaddress. */
  readonly p2p: string;
  readonly overlay: string;
  readonly ethereum: string;
  readonly dataDir: string;
  readonly log: string;
}

export interface BatchRecord {
  readonly id: string;
  readonly node: string;
  readonly depth: number;
}

/** Durations of the phases of a start, real milliseconds. */
export interface Timings {
  readonly chainMs: number;
  readonly nodesMs: number;
  readonly meshedMs: number;
  readonly batchUsableMs: number;
  readonly totalMs: number;
}

export interface ClusterRecord {
  readonly version: number;
  /** Tells one cluster from a later one of the same name. */
  readonly token: string;
  readonly name: string;
  /** Decimal. */
  readonly seed: string;
  readonly driver: DriverName;
  readonly profile: Profile;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly phase: 'starting' | 'running';
  /** The process that starts it, and to whose life an ephemeral cluster is tied. */
  readonly owner: ProcessId;
  readonly ephemeral: boolean;
  readonly definition: unknown;
  readonly chain?: ChainRecord;
  readonly nodes: readonly NodeRecord[];
  readonly batches: readonly BatchRecord[];
  readonly timings?: Timings;
}

/** `stopped`, `killed` and `paused` are what people asked for; a node that is `running` here may still have crashed. */
export type RunState = 'running' | 'paused' | 'stopped' | 'killed';
export interface RunRecord {
  readonly process: ProcessId;
  readonly state: RunState;
}

/** Default folder of all state: in the current directory, unless `SVCNET_STATE` names another. */
export function defaultStateDir(): string {
  return resolve(process.env['SVCNET_STATE'] ?? '.svcnet');
}

/** Compiled code, shared by all clusters: of the nodes, and of all else (`tools`). */
export function compileCacheDir(stateDir: string, of: 'nodes' | 'tools'): string {
  return join(stateDir, 'cache', of);
}

/** Paths of one cluster. */
export interface ClusterFolder {
  readonly path: string;
  dataDir(node: string): string;
  log(part: string): string;
  chainOptions(): string;
}

export function clusterFolder(stateDir: string, name: string): ClusterFolder {
  const path = join(clustersDir(stateDir), name);
  return {
    path,
    dataDir: (node) => join(path, 'nodes', node),
    log: (part) => join(path, 'logs', `${part}.log`),
    chainOptions: () => join(path, 'chain', 'options.json'),
  };
}

/** Whether a process of the cluster, or the one that starts it, is alive. */
export function isInUse(stateDir: string, record: ClusterRecord): boolean {
  if ((record.phase === 'starting' || record.ephemeral) && isAlive(record.owner)) return true;
  return runRecords(stateDir, record.name).some((run) => isAlive(run.process));
}

/** Names of all clusters that have a folder, running or not. */
export function listClusters(stateDir: string): string[] {
  const path = clustersDir(stateDir);
  if (!existsSync(path)) return [];
  return readdirSync(path)
    .filter((name) => !name.startsWith('.'))
    .sort();
}

/** @returns undefined when there is no such cluster @throws HarnessError `STATE_INVALID` */
export function readRecord(stateDir: string, name: string): ClusterRecord | undefined {
  const file = join(clusterFolder(stateDir, name).path, 'cluster.json');
  const record = readJson(file) as ClusterRecord | undefined;
  if (record !== undefined && record.version !== RECORD_VERSION) {
    throw new HarnessError(
      'STATE_INVALID',
      `${file}: version ${record.version}, expected ${RECORD_VERSION}`,
      {
        hint: `Remove the folder by hand once none of its processes runs: ${dirname(file)}`,
      },
    );
  }
  return record;
}

/**
 * The cluster that a command means: the named one, else the only one there is.
 * @throws HarnessError `CLUSTER_NOT_FOUND` naming those that exist
 */
export function findCluster(stateDir: string, name: string | undefined): ClusterRecord {
  const names = listClusters(stateDir);
  const wanted = name ?? (names.length === 1 ? names[0] : undefined);
  const record = wanted === undefined ? undefined : readRecord(stateDir, wanted);
  if (record !== undefined) return record;
  if (names.length === 0) {
    throw new HarnessError('CLUSTER_NOT_FOUND', `no cluster in ${stateDir}`, {
      hint: 'Start one with: svcnet up',
    });
  }
  const known = `known: ${names.join(', ')}`;
  throw new HarnessError(
    'CLUSTER_NOT_FOUND',
    name === undefined
      ? `several clusters exist, choose one with --name (${known})`
      : `--name: no cluster '${name}'${suggestion(name, names)} (${known})`,
  );
}

export function writeRecord(stateDir: string, record: ClusterRecord): void {
  writeJson(join(clusterFolder(stateDir, record.name).path, 'cluster.json'), record);
}

export function writeRun(stateDir: string, cluster: string, part: string, run: RunRecord): void {
  try {
    writeJson(runFile(stateDir, cluster, part), run);
  } catch (error) {
    throw cannotWrite(stateDir, error);
  }
}

export function readRun(stateDir: string, cluster: string, part: string): RunRecord | undefined {
  return readJson(runFile(stateDir, cluster, part)) as RunRecord | undefined;
}

/** Every process of the cluster, the chain's among them. */
export function runRecords(stateDir: string, cluster: string): RunRecord[] {
  const folder = join(clusterFolder(stateDir, cluster).path, 'run');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .map((file) => readJson(join(folder, file)) as RunRecord | undefined)
    .filter((run) => run !== undefined);
}

/** Removes what the cluster left on disk. The folder first leaves its place, so that the name is free at once. */
export function removeCluster(stateDir: string, name: string): void {
  const aside = setAside(stateDir, name);
  if (aside !== undefined) removeFolder(aside);
}

/** Takes the cluster's folder from its place. @returns where it is now; undefined when there is none */
export function setAside(stateDir: string, name: string): string | undefined {
  const aside = join(clustersDir(stateDir), `.${randomUUID()}`);
  try {
    renameSync(clusterFolder(stateDir, name).path, aside);
    return aside;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Folders of ephemeral clusters whose owner died without stopping them; their processes have stopped themselves. */
export function removeOrphans(stateDir: string): void {
  for (const name of listClusters(stateDir)) {
    const record = readRecord(stateDir, name);
    if (record?.ephemeral === true && !isInUse(stateDir, record)) removeCluster(stateDir, name);
  }
}

export function removeFolder(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: REMOVE_TRIES, retryDelay: REMOVE_PAUSE_MS });
}

export function clustersDir(stateDir: string): string {
  return join(stateDir, 'clusters');
}

function runFile(stateDir: string, cluster: string, part: string): string {
  return join(clusterFolder(stateDir, cluster).path, 'run', `${part}.json`);
}

export function writeJson(path: string, value: unknown): void {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, `${JSON.stringify(value, null, 2)}\n`);
  renameSync(temporary, path);
}

/** @returns undefined when there is no such file @throws HarnessError `STATE_INVALID` */
export function readJson(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new HarnessError('STATE_INVALID', `${path}: ${messageOf(error)}`, { cause: error });
  }
}
