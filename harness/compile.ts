/** Compiled code that all nodes read: made once, by a run of their program that loads everything and ends. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from './flavours/flavour.ts';
import { runProgram } from './processes.ts';

/** It takes a second on an idle machine, many on a loaded one; without it the nodes start all the same, slower. */
const TIMEOUT_MS = 60_000;

/** What this process has begun, by folder. */
const begun = new Map<string, Promise<boolean>>();

/** The runtime makes one folder per version of itself at once, and fills it when a process ends. */
export function isCompiled(folder: string): boolean {
  if (!existsSync(folder)) return false;
  return readdirSync(folder).some((version) => readdirSync(join(folder, version)).length > 0);
}

/**
 * Makes what is not there yet. Whoever asks while it is being made waits for the same.
 * @param signal of who asks first @returns whether it could be made; nothing depends on it but time
 */
export function compile(command: Command, folder: string, signal?: AbortSignal): Promise<boolean> {
  const known = begun.get(folder);
  // First of all: a folder that is being filled looks like a full one.
  if (known !== undefined) return known;
  if (isCompiled(folder)) return Promise.resolve(true);
  const made = runProgram(command, { compileCache: folder, timeoutMs: TIMEOUT_MS, signal }).finally(() =>
    begun.delete(folder),
  );
  begun.set(folder, made);
  return made;
}
