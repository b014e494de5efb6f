/** Code for all nodes: a bundle, compiled by a run that loads it and ends. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join, sep } from 'node:path';
import { SingleFlight } from '../../../node/env/turns/single-flight.ts';
import { readJson, writeJson } from '../json-file.ts';
import { areUnchanged, type Bundle, bundleProgram } from './bundle.ts';
import { type Command, commandLines, runProgram } from './processes.ts';

/** Compiling takes a second, or many under load; without it nodes start more slowly. */
const TIMEOUT_MS = 60_000;
/** Besides those in use: running programs load rarely used parts only when they need them. */
const BUNDLES_KEPT = 4;

interface CompiledRecord {
  /** Of the runtime, which reads only its own compiled code. */
  readonly version: string;
  /** Up to and including the program: code compiled under other flags is not used. */
  readonly args: readonly string[];
  readonly bundle: Bundle | Omit<Bundle, 'others'>;
}

/** Nodes run as processes, those that are tampered with, embedded nodes, everything else: a folder each. */
export type CompiledFor = 'nodes' | 'tampered' | 'embedded' | 'tools';

/** A command from a current bundle, else from the sources without compiled code. */
export interface Launch {
  readonly command: Command;
  readonly compileCache: string | undefined;
}

/** By folder. */
const making = new SingleFlight<boolean>();

export function launchOf(command: Command, bundle: Bundle | undefined): Launch {
  if (bundle === undefined) return { command, compileCache: undefined };
  const source = programArgs(command).at(-1);
  const bundled = bundle.others[source ?? ''] ?? bundle.main;
  const args = command.args.map((arg) => (arg === source ? bundled : arg));
  return { command: { ...command, args }, compileCache: join(bundle.folder, 'compiled') };
}

/**
 * Checks every source.
 * @param folder of the bundles
 * @returns undefined: none, it was removed, or sources changed
 */
export function currentBundle(command: Command, folder: string): Bundle | undefined {
  const record = readRecord(recordOf(command, folder));
  if (record === undefined || record.version !== process.version) return undefined;
  if (record.args.join('\n') !== programArgs(command).join('\n')) return undefined;
  const { bundle } = record;
  // Of an older version.
  if (!('others' in bundle)) return undefined;
  return areUnchanged(bundle.inputs) && existsSync(bundle.main) ? bundle : undefined;
}

/**
 * Makes a missing or outdated bundle. Callers in this process share a run, which ends early when none waits.
 * @returns whether it was made; no error: only start-up time depends on it
 */
export async function compile(command: Command, folder: string, signal?: AbortSignal): Promise<boolean> {
  if (currentBundle(command, folder) !== undefined) return true;
  try {
    return await making.join(folder, signal, (shared) => make(command, folder, shared));
  } catch {
    // An unwritable folder, no room for a process: the nodes' starts will report it.
    return false;
  }
}

async function make(command: Command, folder: string, signal: AbortSignal): Promise<boolean> {
  const args = programArgs(command);
  const bundle = await bundleProgram(args.at(-1) ?? '', folder);
  const launch = launchOf(command, bundle);
  if (!(await runProgram(launch.command, { ...launch, timeoutMs: TIMEOUT_MS, signal }))) return false;
  const record: CompiledRecord = { version: process.version, args, bundle };
  writeJson(recordOf(command, folder), record);
  removeOldBundles(folder);
  return true;
}

/**
 * Written last: the folder also looks full while being filled, and after a killed run. Each program has its own, as programs of
 * several installations may share the folder.
 */
function recordOf(command: Command, folder: string): string {
  const hash = createHash('sha256').update(programArgs(command).join('\n')).digest('hex');
  return join(folder, `compiled-${hash.slice(0, 16)}.json`);
}

export function isSameProgram(one: Command, other: Command): boolean {
  return programArgs(one).join('\n') === programArgs(other).join('\n');
}

function programArgs({ args }: Command): readonly string[] {
  return args.slice(0, args.findIndex((arg) => !arg.startsWith('-')) + 1);
}

/** Unreadable: none. */
function readRecord(path: string): CompiledRecord | undefined {
  try {
    return readJson(path) as CompiledRecord | undefined;
  } catch {
    return undefined;
  }
}

/** Named by a hash: below a given `NODE_COMPILE_CACHE` there may be other folders. */
export function removeOldBundles(folder: string): void {
  const old = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && /^[0-9a-f]{16}(\.|$)/.test(entry.name))
    .map(({ name }) => join(folder, name))
    // Another command may remove them now.
    .map((path) => ({ path, changedAt: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .toSorted((a, b) => b.changedAt - a.changedAt)
    .slice(BUNDLES_KEPT);
  if (old.length === 0) return;
  const lines = commandLines();
  for (const { path } of old) {
    if (!lines.some((line) => line.includes(`${path}${sep}`))) rmSync(path, { recursive: true, force: true });
  }
  for (const name of readdirSync(folder).filter((one) => /^compiled-[0-9a-f]{16}\.json$/.test(one))) {
    const of = readRecord(join(folder, name))?.bundle.folder;
    if (of !== undefined && !existsSync(of)) rmSync(join(folder, name), { force: true });
  }
}
