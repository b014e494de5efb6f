/**
 * What is on disk about a cluster, so that any process can attach to it, look at it and remove it:
 *
 *   <state>/clusters/<name>/cluster.json   what does not change while it runs, written when a phase is reached
 *                          /run/<part>.json where a node or the chain runs, one file each
 *                          /nodes/<node>/   data directories        /logs/<part>.log
 *                          /chain/          options of the chain
 *                          /<purpose>-<pid>.json  whose turn something is, see `turn.ts`
 *                          /joining/<node>.json  the one that adds this node, see `change.ts`
 *                          /ports-<token>   see `portKeeper`
 *   <state>/snapshots/<name>/                networks to start from, see `snapshots/`
 *   <state>/failed/<time>-<name>-<id>/      the same for the last few failed starts
 *   <state>/cache/                           compiled code, shared by all clusters
 *
 * Files are replaced as a whole.
 */
import { hash, randomUUID } from 'node:crypto';
import { existsSync, lstatSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Whose } from '../../base/direct.ts';
import { cannotWrite, HarnessError } from '../../base/errors.ts';
import { suggestion } from '../../base/format.ts';
import { readJson, writeJson } from '../../base/json-file.ts';
import { mayBeAlive, type ProcessId } from '../../base/machine/processes.ts';
import {
  expectInside,
  expectNoLinks,
  identityOf,
  linkIn,
  makeFolder,
  NAME_PATTERN,
  ownPath,
} from '../../base/own-folder.ts';
import type { ChainRecord } from '../../chain/record.ts';
import type { DialectName } from '../../client/dialect.ts';
import type { FlavourInput } from '../../flavours/declared/input.ts';
import type { FlavourName, NodeMode } from '../../flavours/flavour.ts';
import type { Profile } from '../../flavours/profiles.ts';
import { type Handle } from '../../places/driver.ts';
import { DRIVER_FACTS, type DriverName } from '../../places/facts.ts';
import { damaged } from './damaged.ts';
import { removeFolder } from './move.ts';
import { expectRecord } from './record-shape.ts';
import { foldersIn, markedPath, namesIn, statePath } from './state-folder.ts';

/** Raised when records of an older version can no longer be read. */
export const RECORD_VERSION = 3;
const RECORD_FILE = 'cluster.json';

export interface NodeRecord extends Whose {
  readonly name: string;
  readonly flavour: FlavourName;
  readonly declared?: FlavourInput | undefined;
  readonly mode: NodeMode;
  readonly dialect: DialectName;
  /** Path of its program, for flavours that need one. */
  readonly binary?: string | undefined;
  readonly image?: string | undefined;
  /** URLs. */
  readonly api: string;
  readonly debug: string;
  /** Address for this machine; empty when the node reports none. */
  readonly p2p: string;
  readonly underlay?: string;
  readonly overlay: string;
  readonly ethereum: string;
  /** 64 hex digits; absent: unknown. */
  readonly privateKey?: string | undefined;
  readonly token?: string | undefined;
  readonly tokenFile?: string | undefined;
  /** Name of its container, if it has one. */
  readonly container?: string | undefined;
  /** As the node sees it; empty if svcnet did not start it. */
  readonly dataDir: string;
  readonly log: string;
  /** Names of its only peers; absent: any. */
  readonly peers?: readonly string[] | undefined;
}

/** A batch that a node of the cluster owns. */
export interface BatchRecord {
  readonly id: string;
  readonly node: string;
  /** It stamps 2^depth chunks. */
  readonly depth: number;
}

/** What the start has prepared because the definition asks for it. */
export interface PreparedRecord {
  readonly uploads: readonly PreparedUpload[];
}

/**
 * An upload that is synced: data of some bytes under `/bytes`, or the file or folder of a path under the dialect's
 * files.
 */
export interface PreparedUpload {
  readonly node: string;
  readonly reference: string;
  /** Bytes; absent for a file or folder. */
  readonly size?: number;
  readonly path?: string;
}

/** Durations of the phases of a start, real milliseconds. */
export interface Timings {
  /** The chain and its contracts. */
  readonly chainMs: number;
  /** The nodes, until all were ready. */
  readonly nodesMs: number;
  /** Until every node had its peers; beside the batches. */
  readonly meshedMs: number;
  /** Until every batch could be used; beside the peers. */
  readonly batchUsableMs: number;
  /** Absent when nothing was prepared. */
  readonly preparedMs?: number | undefined;
  /** The whole start. */
  readonly totalMs: number;
}

export interface ClusterRecord {
  readonly version: number;
  /** Tells clusters of one name apart. */
  readonly token: string;
  readonly name: string;
  /** Decimal; absent when nothing in it follows from a seed. */
  readonly seed?: string | undefined;
  readonly driver: DriverName;
  readonly profile: Profile;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly began?: number;
  readonly phase: 'starting' | 'running';
  /** An ephemeral cluster does not outlive it. */
  readonly owner: ProcessId;
  readonly ephemeral: boolean;
  /** Its parts were told paths in this folder. */
  readonly startedIn?: string;
  readonly definition: unknown;
  readonly chain?: ChainRecord;
  readonly nodes: readonly NodeRecord[];
  readonly batches: readonly BatchRecord[];
  readonly prepared?: PreparedRecord | undefined;
  readonly timings?: Timings;
}

/** `stopped`, `killed` and `paused` are what was asked for; a node that is `running` here may still have crashed. */
export type RunState = 'running' | 'paused' | 'stopped' | 'killed';
export interface RunRecord {
  readonly handle: Handle;
  readonly state: RunState;
}

export interface ClusterFolder {
  readonly path: string;
  dataDir(node: string): string;
  log(part: string): string;
  peerRecords(): string;
  chainOptions(): string;
  linkProxyOptions(): string;
  chainState(): string;
  run(part: string): string;
  joining(node: string): string;
}

/**
 * The one place that names files of a cluster. Each is looked at when it is asked for.
 * @throws HarnessError `STATE_INVALID` for a wrong name or a link, here and in each method
 */
export function clusterFolder(stateDir: string, name: string): ClusterFolder {
  if (!NAME_PATTERN.test(name)) {
    throw new HarnessError('STATE_INVALID', `got '${name}', expected the name of a cluster`);
  }
  const clusters = clustersDir(stateDir);
  const path = join(clusters, name);
  expectInside(clusters, path);
  const file = (...parts: string[]) => ownPath(path, parts, 'file');
  const inner = (...parts: string[]) => ownPath(path, parts, 'folder');
  return {
    path,
    dataDir: (node) => inner(...DATA, node),
    log: (part) => file(...LOGS, logName(part)),
    peerRecords: () => file('peer-records'),
    chainOptions: () => file('chain', 'options.json'),
    linkProxyOptions: () => file('link-proxy.json'),
    chainState: () => inner('chain', 'state'),
    run: (part) => file('run', `${part}.json`),
    joining: (node) => file('joining', `${node}.json`),
  };
}

const DATA = ['nodes'];
const LOGS = ['logs'];

function logName(part: string): string {
  return `${part}.log`;
}

export function listClusters(stateDir: string): string[] {
  return foldersOf(stateDir).filter((name) => hasRecord(stateDir, name));
}

export function foldersWithoutRecord(stateDir: string): string[] {
  return foldersOf(stateDir).filter((name) => !hasRecord(stateDir, name));
}

function foldersOf(stateDir: string): string[] {
  return foldersIn(clustersDir(stateDir)).filter((name) => NAME_PATTERN.test(name));
}

/** A folder that cannot be looked into counts as one that has: reading its record says why it cannot be. */
function hasRecord(stateDir: string, name: string): boolean {
  try {
    return lstatSync(recordFile(stateDir, name), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

export function asideFolders(stateDir: string): string[] {
  const path = clustersDir(stateDir);
  return namesIn(path)
    .filter((name) => name.startsWith('.'))
    .map((name) => join(path, name));
}

/** @returns undefined: no such cluster @throws HarnessError `STATE_INVALID`, `CANNOT_READ` */
export function readRecord(stateDir: string, name: string): ClusterRecord | undefined {
  const folder = clusterFolder(stateDir, name);
  let written: Written | undefined;
  try {
    written = expectedRecord(recordFile(stateDir, name), name);
  } catch (error) {
    throw error instanceof HarnessError && error.code === 'STATE_INVALID'
      ? damaged(folder.path, error)
      : error;
  }
  return written && readAsOwn(written, folder);
}

function expectedRecord(file: string, name: string): Written | undefined {
  const written = readJson(file) as Written | null | undefined;
  if (written === undefined) return undefined;
  if (written?.version !== RECORD_VERSION) {
    const what = `version ${String(written?.version)}, expected ${RECORD_VERSION}`;
    throw new HarnessError('STATE_INVALID', `${file}: ${what}`);
  }
  expectRecord(written, name, file);
  return written;
}

type Written = ClusterRecord & {
  readonly madeAs?: string;
  readonly seal?: string;
};

/** Addresses and programs in the record are those of its writer, so nobody else can write it for this folder. */
function sealOf(record: ClusterRecord, madeAs: string): string {
  return hash('sha256', `${madeAs} ${JSON.stringify(record)}`);
}

function readAsOwn(written: Written, folder: ClusterFolder): ClusterRecord {
  const { madeAs, seal, ...record } = written;
  const isOwn = seal !== undefined && madeAs !== undefined && madeAs === identityOf(folder.path);
  if (!isOwn) for (const path of [folder.path, join(folder.path, 'nodes')]) expectNoLinks(path);
  const isLocal = DRIVER_FACTS[record.driver].local;
  const nodes = (record.nodes ?? []).map(({ tokenFile, ...node }) => ({
    ...node,
    // The file's content would be sent to the node.
    ...(isOwn && tokenFile !== undefined ? { tokenFile } : {}),
    ...(isLocal
      ? {
          dataDir: join(folder.path, ...DATA, node.name),
          log: join(folder.path, ...LOGS, logName(node.name)),
        }
      : {}),
  }));
  return { ...record, nodes, batches: record.batches ?? [] };
}

const own = new Map<string, string>();

/**
 * Whether this program made it on this machine. Nothing that a foreign cluster's or a copy's files name is run, asked or
 * ended.
 */
export function isOwnCluster(stateDir: string, name: string): boolean {
  const { path } = clusterFolder(stateDir, name);
  const identity = identityOf(path);
  if (identity === undefined) return false;
  if (own.get(path) === identity) return true;
  const written = readJson(recordFile(stateDir, name)) as Written | null | undefined;
  if (written?.madeAs !== identity) return false;
  own.set(path, identity);
  return true;
}

/**
 * The gate of all that asks a cluster's parts or starts them. Without it, only what is known of its processes is used, to
 * end them.
 * @throws HarnessError `STATE_INVALID` when the record came from elsewhere, is a copy, or was changed
 */
export function expectOwnRecord(stateDir: string, name: string): void {
  const refused = whyRefused(stateDir, name);
  if (refused !== undefined) throw refused;
}

export function whyRefused(stateDir: string, name: string): HarnessError | undefined {
  const why = whyNotOurs(stateDir, name);
  const hint = `Start a cluster of your own with: svcnet up\nRemove this one with: svcnet down --name ${name}`;
  return why === undefined ? undefined : new HarnessError('STATE_INVALID', why, { hint });
}

export function whyNotOurs(stateDir: string, name: string): string | undefined {
  const what = (happened: string) =>
    `the files of cluster '${name}' ${happened}, so nothing that they name is run or asked`;
  const { path } = clusterFolder(stateDir, name);
  if (!isOwnCluster(stateDir, name)) {
    return what('were not made here: they were copied, or came with a repository');
  }
  const written = readJson(recordFile(stateDir, name)) as Written | null | undefined;
  if (typeof written?.madeAs !== 'string') return what('were removed');
  const link = linkIn(path);
  if (link !== undefined) return what(`hold a link, ${link}`);
  const { madeAs, seal, ...record } = written;
  return seal === sealOf(record, madeAs) ? undefined : what('are not as this version of svcnet wrote them');
}

/** A record that is written again is another file. @returns undefined when there is none */
export function recordIdentity(stateDir: string, name: string): string | undefined {
  return identityOf(recordFile(stateDir, name));
}

export function readableRecord(
  stateDir: string,
  name: string,
  onInvalid: (reason: HarnessError) => void,
): ClusterRecord | undefined {
  try {
    return readRecord(stateDir, name);
  } catch (error) {
    if (!(error instanceof HarnessError) || !['STATE_INVALID', 'CANNOT_READ'].includes(error.code))
      throw error;
    onInvalid(error);
    return undefined;
  }
}

/** It ran once and belongs to no process: only `down` may remove it. */
export function isMeantToStay({ ephemeral, timings, driver }: ClusterRecord): boolean {
  return !ephemeral && timings !== undefined && DRIVER_FACTS[driver].owned;
}

/** Tied to a process that is gone, or never fully started: the next start removes it. */
export function isLeftOver(record: ClusterRecord): boolean {
  const isTied = record.ephemeral || record.phase === 'starting';
  return isTied && !isMeantToStay(record) && !mayBeAlive(record.owner);
}

/**
 * The named cluster, else the only one; those that are left over count only if there is no other.
 * @throws HarnessError `CLUSTER_NOT_FOUND` naming those that exist
 */
export function findCluster(stateDir: string, name: string | undefined): ClusterRecord {
  const names = listClusters(stateDir);
  const left = name === undefined && names.length > 1 ? leftOver(stateDir, names) : [];
  const others = names.filter((each) => !left.includes(each));
  const wanted = name ?? (others.length === 1 ? others[0] : undefined);
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
    left.length === 0 ? {} : { hint: `Left over, and removed by the next start: ${left.join(', ')}` },
  );
}

function leftOver(stateDir: string, names: readonly string[]): string[] {
  return names.filter((name) => {
    const record = readableRecord(stateDir, name, () => undefined);
    return record !== undefined && isLeftOver(record);
  });
}

export function writeRecord(stateDir: string, record: ClusterRecord): void {
  const { path } = clusterFolder(stateDir, record.name);
  if (!existsSync(path)) {
    markedPath(stateDir, 'clusters');
    writeFirstRecord(path, record);
  } else if (isOwnCluster(stateDir, record.name)) writeOwn(path, record);
  else writeJson(recordFile(stateDir, record.name), record);
}

export function writeFirstRecord(folder: string, record: ClusterRecord): void {
  makeFolder(folder, 0o700);
  writeOwn(folder, record);
}

function writeOwn(folder: string, record: ClusterRecord): void {
  const madeAs = identityOf(folder) ?? '';
  const written: Written = { ...record, madeAs, seal: sealOf(record, madeAs) };
  writeJson(join(folder, RECORD_FILE), written);
}

const heldRuns = new Map<string, Map<string, Map<string, RunRecord>>>();

/** Run records in memory: only this process changes them, and virtual time observes members thousands of times a second. */
export function holdRuns(stateDir: string, cluster: string): void {
  const held = heldRuns.get(stateDir) ?? new Map<string, Map<string, RunRecord>>();
  heldRuns.set(stateDir, held.set(cluster, new Map()));
}

export function writeRun(stateDir: string, cluster: string, part: string, run: RunRecord): void {
  try {
    writeJson(runFile(stateDir, cluster, part), run);
    heldRuns.get(stateDir)?.get(cluster)?.set(part, run);
  } catch (error) {
    throw cannotWrite(stateDir, error);
  }
}

export function readRun(stateDir: string, cluster: string, part: string): RunRecord | undefined {
  const held = heldRuns.get(stateDir)?.get(cluster);
  if (held !== undefined) return held.get(part);
  if (!isOwnCluster(stateDir, cluster)) return undefined;
  return readJson(runFile(stateDir, cluster, part)) as RunRecord | undefined;
}

function removeRun(stateDir: string, cluster: string, part: string): void {
  rmSync(runFile(stateDir, cluster, part), { force: true });
  heldRuns.get(stateDir)?.get(cluster)?.delete(part);
}

export function removeNodeFiles(stateDir: string, cluster: string, node: string): void {
  removeRun(stateDir, cluster, node);
  removeFolder(clusterFolder(stateDir, cluster).dataDir(node));
}

export function runRecords(stateDir: string, cluster: string): (RunRecord & { readonly name: string })[] {
  if (!isOwnCluster(stateDir, cluster)) return [];
  const folder = join(clusterFolder(stateDir, cluster).path, 'run');
  return namesIn(folder)
    .filter((file) => file.endsWith('.json'))
    .flatMap((file) => {
      const run = readJson(join(folder, file)) as RunRecord | undefined;
      return run === undefined ? [] : [{ ...run, name: file.slice(0, -'.json'.length) }];
    });
}

/** Removes no other cluster that has its name now. The folder is moved aside first, to free the name. */
export function removeCluster(
  stateDir: string,
  { name, token }: Pick<ClusterRecord, 'name' | 'token'>,
): void {
  if (!isTheirs(clusterFolder(stateDir, name).path, token)) return;
  const aside = setAside(stateDir, name);
  if (aside === undefined) return;
  if (isTheirs(aside, token)) removeFolder(aside);
  else renameSync(aside, clusterFolder(stateDir, name).path);
}

function isTheirs(path: string, token: string): boolean {
  const record = readJson(join(path, 'cluster.json')) as ClusterRecord | undefined;
  return record === undefined || record.token === token;
}

export function setAside(stateDir: string, name: string): string | undefined {
  const aside = join(clustersDir(stateDir), `.${randomUUID()}`);
  try {
    renameSync(clusterFolder(stateDir, name).path, aside);
    heldRuns.get(stateDir)?.delete(name);
    return aside;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

export function clustersDir(stateDir: string): string {
  return statePath(stateDir, 'clusters');
}

function recordFile(stateDir: string, cluster: string): string {
  return join(clusterFolder(stateDir, cluster).path, RECORD_FILE);
}

function runFile(stateDir: string, cluster: string, part: string): string {
  return clusterFolder(stateDir, cluster).run(part);
}
