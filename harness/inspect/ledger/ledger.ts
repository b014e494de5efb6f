/**
 * The ledger: every acknowledged upload as a JSON line with its chunk addresses. Verification asks nodes (HEAD reads
 * the local store) and explains missing chunks. Source: `scenarios.md` 1.4 and 5.4.
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
  /** Root reference, hex. */
  readonly reference: string;
  /** Payload, bytes. */
  readonly size: number;
  /** Hex addresses of every chunk, the root included. */
  readonly chunks: readonly string[];
  readonly mode: 'direct' | 'deferred';
  /** `api`: the answer promises durability (direct). `synced`: the tag did (deferred). */
  readonly level: 'api' | 'synced';
  readonly requestedAtMs: number;
  readonly acknowledgedAtMs: number;
}

/** A node as verification sees it. */
export interface ChunkHolder {
  readonly name: string;
  readonly overlay: string;
  /** Is the chunk in the local store? Never asks the network. */
  hasChunk(address: string, signal: AbortSignal): Promise<boolean>;
}

/** Counts of distinct chunks, and those that no node holds. */
export interface LedgerVerdict {
  readonly acknowledged: number;
  readonly found: number;
  /** All of them. */
  readonly losses: readonly Loss[];
  readonly missing: number;
}

/** In a result; the run's folder has all. */
const LOSSES_SHOWN = 50;
/** Requests under way at once: enough to keep the nodes busy, few enough for a small machine. */
const VERIFY_CONCURRENCY = 64;

/** The acknowledged uploads of a run. */
export class Ledger {
  readonly entries: LedgerEntry[] = [];
  readonly #path: string | undefined;
  /** Distinct chunks, with the first upload of each. */
  readonly #origins = new Map<string, LedgerEntry>();
  #verdict: LedgerVerdict | undefined;

  /** @param path in the run's folder; absent: in memory */
  constructor(path?: string) {
    this.#path = path;
  }

  /** In this turn: virtual time would stand still while a file is written in others, and they cost more than it. */
  async add(entry: LedgerEntry): Promise<void> {
    this.entries.push(entry);
    for (const chunk of entry.chunks) if (!this.#origins.has(chunk)) this.#origins.set(chunk, entry);
    if (this.#path === undefined) return;
    const path = this.#path;
    inReport(dirname(path), () => appendFileSync(path, `${JSON.stringify(entry)}\n`));
  }

  /** Chunks no longer expected on nodes; uploads stay on record. */
  release(chunks: Iterable<string>): void {
    for (const chunk of chunks) this.#origins.delete(chunk);
  }

  /** The first upload of a chunk. */
  originOf(chunk: string): LedgerEntry | undefined {
    return this.#origins.get(chunk);
  }

  /** Distinct chunks acknowledged so far. */
  acknowledgedChunks(): number {
    return this.#origins.size;
  }

  /**
   * Is every acknowledged chunk held by at least one node? Nodes are asked closest first, so that a healthy
   * network needs one request a chunk.
   * @param onProgress chunks checked, in total
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

  /** Figures of the last verification, or of acknowledgements before. */
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
