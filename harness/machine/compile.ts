/** Compiled code that all nodes read: made once, by a run of their program that loads everything and ends. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SingleFlight } from '../../node/env/turns/single-flight.ts';
import { type Command, runProgram } from './processes.ts';

/** It takes a second on an idle machine, many on a loaded one; without it the nodes start all the same, slower. */
const TIMEOUT_MS = 60_000;
/** A file that says that all is there. The folder looks full while it is filled, and after a run that was killed. */
const COMPLETE = `complete-${process.version}`;

/** What is being made, by folder. */
const making = new SingleFlight<boolean>();

/** By this version of the runtime, which reads what no other has compiled. */
export function isCompiled(folder: string): boolean {
  return existsSync(join(folder, COMPLETE));
}

/**
 * Makes what is not there yet. Whoever asks while it is being made waits for the same; another process makes it too.
 * It ends early when nobody waits for it any more.
 * @returns whether it could be made, never an error; nothing depends on it but time
 */
export async function compile(command: Command, folder: string, signal?: AbortSignal): Promise<boolean> {
  if (isCompiled(folder)) return true;
  try {
    return await making.join(folder, signal, (shared) => make(command, folder, shared));
  } catch {
    // A folder that cannot be written, a system without room for one more process: the nodes' starts will tell.
    return false;
  }
}

async function make(command: Command, folder: string, signal: AbortSignal): Promise<boolean> {
  if (!(await runProgram(command, { compileCache: folder, timeoutMs: TIMEOUT_MS, signal }))) return false;
  writeFileSync(join(folder, COMPLETE), '');
  return true;
}
