/**
 * A folder in a tampered node's data directory says how: fixed behaviours, and a file per fault, which a restarted node
 * finds.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readJson, writeJson } from '../../base/json-file.ts';
import { ownPath } from '../../base/own-folder.ts';
import type { BehaviourName } from '../dishonest/names.ts';

const FOLDER = 'tampered';
/** Its presence in a data directory makes the node a tampered one. */
export const TAMPERED_FILE = `${FOLDER}/node.json`;

/** What a dishonest node was told to do. */
export interface TamperSettings {
  readonly behaviours: readonly BehaviourName[];
}

export interface ClockFault {
  readonly layer: 'clock';
  /** The clock is behind when it is negative. */
  readonly offsetMs: number;
  /** Parts per million too fast; negative: too slow. */
  readonly driftPpm: number;
  /** Wall time of its start, ms since the epoch. */
  readonly since: number;
}

/** `full`: no room, no write succeeds. `read-only`: no write succeeds. */
export type DiskFault =
  | { readonly layer: 'disk'; readonly what: 'full' }
  | { readonly layer: 'disk'; readonly what: 'read-only' }
  /** This share of the writes fails. */
  | { readonly layer: 'disk'; readonly what: 'failing'; readonly percent: number }
  | { readonly layer: 'disk'; readonly what: 'slow'; readonly ms: number };

export type NodeFault = ClockFault | DiskFault;
/** What has been done, by name. */
export type Counts = Readonly<Record<string, number>>;

export interface ControlAddress {
  readonly port: number;
  readonly token: string;
  readonly pid: number;
}

export interface Controlled {
  reload(): void;
  flush(): void;
}

export type ServeControl = (dataDir: string, controlled: Controlled) => Promise<AsyncDisposable>;

export function isTampered(dataDir: string): boolean {
  return existsSync(settingsFile(dataDir));
}

export function writeTampered(dataDir: string, tampered: TamperSettings): void {
  writeJson(settingsFile(dataDir), tampered);
}

/** A program that knows nothing of this has no fault that lasts. */
export function removeTampered(dataDir: string): void {
  rmSync(join(dataDir, FOLDER), { recursive: true, force: true });
}

/** Undefined for an untampered node. */
export function tamperedOf(dataDir: string): TamperSettings | undefined {
  return readJson(settingsFile(dataDir)) as TamperSettings | undefined;
}

/** A copy does not continue what is about one run. */
export function isOfOneRun(path: string): boolean {
  return dirname(path) === FOLDER && basename(path) !== basename(TAMPERED_FILE);
}

/** Sorted, because a folder's order is the machine's. */
export function readFaults(dataDir: string): ReadonlyMap<string, NodeFault> {
  const folder = ownPath(dataDir, [FOLDER, 'faults'], 'folder');
  const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.json')) : [];
  return new Map(
    files.toSorted().flatMap((file): [string, NodeFault][] => {
      const fault = readJson(join(folder, file)) as NodeFault | undefined;
      return fault === undefined ? [] : [[basename(file, '.json'), fault]];
    }),
  );
}

export function writeFault(dataDir: string, key: string, fault: NodeFault): void {
  writeJson(faultFile(dataDir, key), fault);
}

export function removeFault(dataDir: string, key: string): void {
  rmSync(faultFile(dataDir, key), { force: true });
}

export function readCounts(dataDir: string, of: string): Counts {
  return (readJson(countsFile(dataDir, of)) as Counts | undefined) ?? {};
}

export function writeCounts(dataDir: string, of: string, counts: Counts): void {
  // The data directory may have been removed meanwhile.
  if (existsSync(join(dataDir, FOLDER))) writeJson(countsFile(dataDir, of), counts);
}

export function readControl(dataDir: string): ControlAddress | undefined {
  return readJson(controlFile(dataDir)) as ControlAddress | undefined;
}

export function writeControl(dataDir: string, address: ControlAddress): void {
  writeJson(controlFile(dataDir), address);
}

function settingsFile(dataDir: string): string {
  return ownPath(dataDir, TAMPERED_FILE.split('/'), 'file');
}

function faultFile(dataDir: string, key: string): string {
  return ownPath(dataDir, [FOLDER, 'faults', `${key}.json`], 'file');
}

function countsFile(dataDir: string, of: string): string {
  return ownPath(dataDir, [FOLDER, 'counts', `${of}.json`], 'file');
}

function controlFile(dataDir: string): string {
  return ownPath(dataDir, [FOLDER, 'control.json'], 'file');
}
