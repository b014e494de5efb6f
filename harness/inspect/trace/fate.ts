/** What a run knows besides messages: wiped nodes, and chunks on no node at its end. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { HarnessError } from '../../base/errors.ts';
import { inLine } from '../../base/foreign-text.ts';
import { expectFile } from '../../base/own-folder.ts';
import { readFileLimited } from '../../base/read-limited.ts';
import { FAULTS_FILE, LOSSES_FILE } from '../../report/folder.ts';
import type { Testimony } from './route.ts';

export interface Wipe {
  readonly node: string;
  /** Ms since the epoch. */
  readonly at: number;
  readonly text: string;
}

export interface Fate {
  /** Of nodes that had it, oldest first. */
  readonly wipes: readonly Wipe[];
  /** Took it, and have not lost their data since. */
  readonly holders: readonly string[];
  /** At the end no node had it. */
  readonly isLost: boolean;
}

const FILE_MAX = 64 * 2 ** 20;
const TEXT_MAX = 200;
const ARRIVALS: ReadonlySet<string> = new Set(['signed', 'pulled', 'kept', 'stored']);

/** Faults and losses of a run or a part. @throws HarnessError `RUN_INVALID`, `STATE_INVALID` */
export class RunFates {
  readonly #wipes: readonly (Wipe & { readonly began: unknown })[];
  readonly #lost: ReadonlySet<unknown>;

  /** @param folder undefined: not recorded */
  constructor(folder: string | undefined) {
    this.#wipes = linesOf(folder, FAULTS_FILE).flatMap(wipesOf);
    this.#lost = new Set(linesOf(folder, LOSSES_FILE).map(({ chunk }) => chunk));
  }

  of(chunk: string, told: readonly Testimony[], began: number): Fate {
    const taken = new Map<string, number>();
    for (const { node, events } of told) {
      for (const { kind, at } of events) if (ARRIVALS.has(kind)) taken.set(node, at);
    }
    const wipes = this.#wipes
      .filter((wipe) => wipe.began === began && taken.has(wipe.node))
      .map(({ node, at, text }) => ({ node, at, text }));
    const isWiped = (node: string, since: number) =>
      wipes.some((wipe) => wipe.node === node && wipe.at >= since);
    const isLost = this.#lost.has(chunk);
    const holders = [...taken].filter(([node, at]) => !isWiped(node, at)).map(([node]) => node);
    return { wipes, holders: isLost ? [] : holders, isLost };
  }
}

type Line = Readonly<Record<string, unknown>>;

function wipesOf({ event, began, at, text, targets, request, kind }: Line): (Wipe & { began: unknown })[] {
  const isWipe = kind === 'remove' || (request as { wipe?: unknown } | undefined)?.wipe === true;
  if (event !== 'begin' || !isWipe || typeof at !== 'number' || !Array.isArray(targets)) return [];
  const shown = inLine(String(text), TEXT_MAX);
  return targets.map((node: unknown) => ({ node: inLine(String(node), TEXT_MAX), at, text: shown, began }));
}

function linesOf(folder: string | undefined, name: string): Line[] {
  const file = folder === undefined ? undefined : join(folder, name);
  if (folder === undefined || file === undefined || !existsSync(file)) return [];
  expectFile(folder, file);
  return readFileLimited(file, FILE_MAX)
    .split('\n')
    .filter((text) => text !== '')
    .map((text, i) => {
      const line = parsed(text);
      if (typeof line === 'object' && line !== null) return line as Line;
      throw new HarnessError('RUN_INVALID', `${file}:${i + 1}: expected an object of JSON`);
    });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
