/**
 * Every acknowledged upload as a JSON line with its chunk addresses. Verification asks nodes by HEAD, which reads the local
 * store, and explains missing chunks. Source: `scenarios.md` 1.4 and 5.4.
 */

import { appendFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { closerTo } from '../../../formats/chunk/address.ts';
import { fromHex } from '../../../formats/crypto/hex.ts';
import { atMost } from '../../../node/env/turns/at-most.ts';
import { inReport } from '../../report/folder.ts';
import type { LedgerResult, Loss } from '../../report/result.ts';

/** An acknowledged upload. */
export interface LedgerEntry {
  readonly kind: 'chunk' | 'soc' | 'bytes' | 'file' | 'collection' | 'feed-update';
  readonly node: string;
  readonly batch: string;
  readonly reference: string;
  /** Payload, bytes. */
  readonly size: number;
  /** Hex addresses of all chunks, with the root. */
  readonly chunks: readonly string[];
  readonly mode: 'direct' | 'deferred';
  /** `api`: the answer promised durability (direct). `synced`: the tag did (deferred). */
  readonly level: 'api' | 'synced';
  readonly requestedAtMs: number;
  readonly acknowledgedAtMs: number;
}

/** A node as verification sees it. */
export interface ChunkHolder {
  readonly name: string;
  readonly overlay: string;
  /** Whether the local store has it; never asks the network. */
  hasChunk(address: string, signal: AbortSignal): Promise<boolean>;
}

/** Counts of distinct chunks; losses: on no node. */
export interface LedgerVerdict {
  readonly acknowledged: number;
  readonly found: number;
  /** All of them. */
  readonly losses: readonly Loss[];
  readonly missing: number;
}

const LOSSES_SHOWN = 50;
/** Requests at once: they keep nodes busy without loading a small machine. */
const VERIFY_CONCURRENCY = 64;

/** The acknowledged uploads of a run. */
export class Ledger {
  readonly entries: LedgerEntry[] = [];
  readonly #path: string | undefined;
  /** Distinct chunks → first upload. */
  readonly #origins = new Map<string, LedgerEntry>();
  #verdict: LedgerVerdict | undefined;

  /** @param path absent: in memory */
  constructor(path?: string) {
    this.#path = path;
  }

  /** Writes in this turn: virtual time stands still during an asynchronous write. */
  async add(entry: LedgerEntry): Promise<void> {
    this.entries.push(entry);
    for (const chunk of entry.chunks) if (!this.#origins.has(chunk)) this.#origins.set(chunk, entry);
    if (this.#path === undefined) return;
    const path = this.#path;
    inReport(dirname(path), () => appendFileSync(path, `${JSON.stringify(entry)}\n`));
  }

  /** Chunks no longer expected; uploads stay on record. */
  release(chunks: Iterable<string>): void {
    for (const chunk of chunks) this.#origins.delete(chunk);
  }

  originOf(chunk: string): LedgerEntry | undefined {
    return this.#origins.get(chunk);
  }

  acknowledgedChunks(): number {
    return this.#origins.size;
  }

  /**
   * Asks nodes closest first: a healthy network needs one request a chunk.
   * @param onProgress chunks checked in total
   */
  async verify(
    holders: readonly ChunkHolder[],
    options: { signal: AbortSignal; onProgress?: (done: number, total: number) => void },
  ): Promise<LedgerVerdict> {
    const origins = [...this.#origins];
    const overlays = new Map(holders.map((holder) => [holder, fromHex(holder.overlay)] as const));
    const losses: Loss[] = [];
    let done = 0;
    const works = origins.map(([chunk, entry]) => async () => {
      const address = fromHex(chunk);
      const byDistance = holders.toSorted((a, b) =>
        closerTo(address, overlays.get(a) as Uint8Array, overlays.get(b) as Uint8Array),
      );
      if (!(await someHas(byDistance, chunk, options.signal))) {
        losses.push({
          chunk,
          reference: entry.reference,
          uploader: entry.node,
          batch: entry.batch,
          closest: byDistance[0]?.name ?? 'nobody',
        });
      }
      options.onProgress?.(++done, origins.length);
    });
    await atMost(VERIFY_CONCURRENCY, works);
    const missing = losses.length;
    this.#verdict = { acknowledged: origins.length, found: origins.length - missing, missing, losses };
    return this.#verdict;
  }

  /** Figures of the last verification, or of acknowledgements before one. */
  result(): LedgerResult {
    if (this.#verdict === undefined) return { acknowledged: this.acknowledgedChunks(), found: 0, missing: 0 };
    const { losses, ...counts } = this.#verdict;
    return losses.length === 0 ? counts : { ...counts, losses: losses.slice(0, LOSSES_SHOWN) };
  }
}

async function someHas(
  holders: readonly ChunkHolder[],
  chunk: string,
  signal: AbortSignal,
): Promise<boolean> {
  for (const holder of holders) {
    if (await holder.hasChunk(chunk, signal)) return true;
  }
  return false;
}
