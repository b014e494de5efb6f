/** Compiled code that all nodes read: made once, by a run of their program that loads everything and ends. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from './processes.ts';
import { runProgram } from './processes.ts';

/** It takes a second on an idle machine, many on a loaded one; without it the nodes start all the same, slower. */
const TIMEOUT_MS = 60_000;
/** A file that says that all is there. The folder looks full while it is filled, and after a run that was killed. */
const COMPLETE = `complete-${process.version}`;

/** What this process has begun, by folder. */
const begun = new Map<string, Promise<boolean>>();

/** By this version of the runtime, which reads what no other has compiled. */
export function isCompiled(folder: string): boolean {
  return existsSync(join(folder, COMPLETE));
}

/**
 * Makes what is not there yet. Whoever asks while it is being made waits for the same; another process makes it too.
 * @param signal of who asks first @returns whether it could be made, never an error; nothing depends on it but time
 */
export function compile(command: Command, folder: string, signal?: AbortSignal): Promise<boolean> {
  const known = begun.get(folder);
  if (known !== undefined) return known;
  if (isCompiled(folder)) return Promise.resolve(true);
  const made = make(command, folder, signal)
    // A folder that can not be written, a system without room for one more process: the nodes' starts will tell.
    .catch(() => false)
    .finally(() => begun.delete(folder));
  begun.set(folder, made);
  return made;
}

async function make(command: Command, folder: string, signal?: AbortSignal): Promise<boolean> {
  if (!(await runProgram(command, { compileCache: folder, timeoutMs: TIMEOUT_MS, signal }))) return false;
  writeFileSync(join(folder, COMPLETE), '');
  return true;
}
