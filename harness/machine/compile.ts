/** Code that all nodes read, made once: their program as a bundle, and compiled, by a run that loads all of it and ends. */
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { SingleFlight } from '../../node/env/turns/single-flight.ts';
import { readJson, writeJson } from '../base/json-file.ts';
import { areUnchanged, type Bundle, bundleProgram } from './bundle.ts';
import { type Command, runProgram } from './processes.ts';

/** It takes a second on an idle machine, many on a loaded one; without it the nodes start all the same, slower. */
const TIMEOUT_MS = 60_000;
/** Written when all is there. The folder looks full while it is filled, and after a run that was killed. */
const RECORD = 'compiled.json';
/** Nodes that run load the rarely used parts of theirs when they need them. */
const BUNDLES_KEPT = 4;

interface CompiledRecord {
  /** Of the runtime, which reads what no other has compiled. */
  readonly version: string;
  /** The command's, up to and with the program: code that was compiled under other flags is not used. */
  readonly args: readonly string[];
  readonly bundle: Bundle;
}

/** A command as it is run: from the bundle, where that is made and current, or from the sources without compiled code. */
export interface Launch {
  readonly command: Command;
  readonly compileCache: string | undefined;
}

/** What is being made, by folder. */
const making = new SingleFlight<boolean>();

export function launchOf(command: Command, bundle: Bundle | undefined): Launch {
  if (bundle === undefined) return { command, compileCache: undefined };
  const source = programArgs(command).at(-1);
  const args = command.args.map((arg) => (arg === source ? bundle.main : arg));
  return { command: { ...command, args }, compileCache: join(bundle.folder, 'compiled') };
}

/** Looks at every source. @param folder of the bundles @returns undefined when there is none, or sources have changed since */
export function currentBundle(command: Command, folder: string): Bundle | undefined {
  const record = readRecord(folder);
  if (record === undefined || record.version !== process.version) return undefined;
  if (record.args.join('\n') !== programArgs(command).join('\n')) return undefined;
  return areUnchanged(record.bundle.inputs) ? record.bundle : undefined;
}

/**
 * Makes what is not there yet, or not current. Callers that ask while it is being made wait for the same; another process
 * makes it too. It ends early when nobody waits for it any more.
 * @returns whether it could be made, never an error; nothing depends on it but time
 */
export async function compile(command: Command, folder: string, signal?: AbortSignal): Promise<boolean> {
  if (currentBundle(command, folder) !== undefined) return true;
  try {
    return await making.join(folder, signal, (shared) => make(command, folder, shared));
  } catch {
    // A folder that cannot be written, a system without room for one more process: the nodes' starts will tell.
    return false;
  }
}

async function make(command: Command, folder: string, signal: AbortSignal): Promise<boolean> {
  const args = programArgs(command);
  const bundle = await bundleProgram(args.at(-1) ?? '', folder);
  const launch = launchOf(command, bundle);
  if (!(await runProgram(launch.command, { ...launch, timeoutMs: TIMEOUT_MS, signal }))) return false;
  writeJson(join(folder, RECORD), { version: process.version, args, bundle } satisfies CompiledRecord);
  removeOld(folder);
  return true;
}

/** Whether both run the same program with the same flags. */
export function isSameProgram(one: Command, other: Command): boolean {
  return programArgs(one).join('\n') === programArgs(other).join('\n');
}

/** The runtime's flags and the program, which is the first argument that is none. */
function programArgs({ args }: Command): readonly string[] {
  return args.slice(0, args.findIndex((arg) => !arg.startsWith('-')) + 1);
}

/** What cannot be read is as good as not made. */
function readRecord(folder: string): CompiledRecord | undefined {
  try {
    return readJson(join(folder, RECORD)) as CompiledRecord | undefined;
  } catch {
    return undefined;
  }
}

function removeOld(folder: string): void {
  const bundles = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, name))
    .map((path) => ({ path, changedAt: statSync(path).mtimeMs }))
    .toSorted((a, b) => b.changedAt - a.changedAt);
  for (const { path } of bundles.slice(BUNDLES_KEPT)) rmSync(path, { recursive: true, force: true });
}
