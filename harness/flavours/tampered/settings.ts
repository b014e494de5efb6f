/**
 * A tampered node: its clock and disk can fail, or it breaks rules. A folder in its data directory says how: fixed
 * behaviours, and a file per fault, written by the process that begins and ends it, so that a restarted node finds
 * it.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readJson, writeJson } from '../../base/json-file.ts';
import type { BehaviourName } from '../dishonest/names.ts';

const FOLDER = 'tampered';
/** Path in a data directory; its presence makes the node a tampered one. */
export const TAMPERED_FILE = `${FOLDER}/node.json`;

/** What a dishonest node was told to do. */
export interface TamperSettings {
  readonly behaviours: readonly BehaviourName[];
}

/** What is wrong with a clock. */
export interface ClockFault {
  readonly layer: 'clock';
  /** Milliseconds that it is ahead; behind when negative. */
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
  /** Each write takes this much longer. */
  | { readonly layer: 'disk'; readonly what: 'slow'; readonly ms: number };

export type NodeFault = ClockFault | DiskFault;
/** What has been done, by name. */
export type Counts = Readonly<Record<string, number>>;

/** Where a running node takes requests. */
export interface ControlAddress {
  readonly port: number;
  readonly token: string;
  /** Its process. */
  readonly pid: number;
}

/** What is asked of a running node. */
export interface Controlled {
  /** Rereads what is wrong. */
  reload(): void;
  /** Writes down what was counted. */
  flush(): void;
}

/** Lets others ask it of a node, until disposed. */
export type ServeControl = (dataDir: string, controlled: Controlled) => Promise<AsyncDisposable>;

export function isTampered(dataDir: string): boolean {
  return existsSync(join(dataDir, TAMPERED_FILE));
}

export function writeTampered(dataDir: string, tampered: TamperSettings): void {
  writeJson(join(dataDir, TAMPERED_FILE), tampered);
}

/** It has got a program that knows nothing of this: no fault of it may be taken for one that lasts. */
export function removeTampered(dataDir: string): void {
  rmSync(join(dataDir, FOLDER), { recursive: true, force: true });
}

/** @returns undefined for an untampered node */
export function tamperedOf(dataDir: string): TamperSettings | undefined {
  return readJson(join(dataDir, TAMPERED_FILE)) as TamperSettings | undefined;
}

/** Whether a path in a data directory is about one run, which a copy does not continue. */
export function isOfOneRun(path: string): boolean {
  return dirname(path) === FOLDER && basename(path) !== basename(TAMPERED_FILE);
}

/** By key, sorted: a folder's order is the machine's. */
export function readFaults(dataDir: string): ReadonlyMap<string, NodeFault> {
  const folder = join(dataDir, FOLDER, 'faults');
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
  return readJson(join(dataDir, FOLDER, 'control.json')) as ControlAddress | undefined;
}

export function writeControl(dataDir: string, address: ControlAddress): void {
  writeJson(join(dataDir, FOLDER, 'control.json'), address);
}

function faultFile(dataDir: string, key: string): string {
  return join(dataDir, FOLDER, 'faults', `${key}.json`);
}

function countsFile(dataDir: string, of: string): string {
  return join(dataDir, FOLDER, 'counts', `${of}.json`);
}
