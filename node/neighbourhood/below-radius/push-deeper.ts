/** Brings an entry of the reserve to a node that is nearer to it than this one. */
import type { Logger } from '../../env/logger.ts';
import type { BatchStore } from '../../postage/ports.ts';
import type { Pushsync } from '../../protocols/pushsync/pushsync.ts';
import { PushsyncError } from '../../protocols/pushsync/rules.ts';
import type { Reserve, ReserveEntry } from '../../store/ports.ts';

/** Entries of a bin pushed at once, and in one run. */
export const PUSHES_AT_ONCE = 8;
export const PUSHES_MAX = 256;
/** Failed pushes in a row that end a bin's turn: the next ones would fail for the same reason. */
export const FAILURES_MAX = 16;

export interface PushDeeperDeps {
  readonly pushsync: Pick<Pushsync, 'push'>;
  readonly batches: Pick<BatchStore, 'get'>;
  readonly reserve: Pick<Reserve, 'load'>;
  readonly log: Logger;
}

/** `undone`: the entry has left meanwhile, or the signal came. */
export type Pushed = 'taken' | 'refused' | 'undone';

export class PushDeeper {
  readonly #deps: PushDeeperDeps;
  #refusal: string | undefined;

  constructor(deps: PushDeeperDeps) {
    this.#deps = deps;
  }

  /** Why the last push failed; undefined if it succeeded. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  /**
   * Pushes it like an upload.
   * @param bin of this node, in which the entry lies
   * @returns `taken` when this node need not keep it: a deeper storer has it now, or it was replaced
   */
  async push(bin: number, entry: ReserveEntry, signal: AbortSignal): Promise<Pushed> {
    const { pushsync, reserve, log } = this.#deps;
    const held = reserve.load(entry.address, entry.batchId, entry.stampHash);
    if (held === undefined) return 'undone';
    try {
      const pushed = await pushsync.push(held.chunk, held.stamp, { signal });
      if (pushed.outcome === 'synced' && pushed.storerPO > bin) {
        this.#refusal = undefined;
        return 'taken';
      }
      this.#refusal = 'no deeper node takes it';
    } catch (err) {
      if (signal.aborted) return 'undone';
      // No node need keep a chunk that the owner of its batch has replaced.
      if (err instanceof PushsyncError && err.code === 'SUPERSEDED' && this.#mayBeReplaced(entry))
        return 'taken';
      this.#refusal = err instanceof Error ? err.message : String(err);
      log.debug({ err, bin }, 'chunk not taken by a deeper node');
    }
    return 'refused';
  }

  /** The indexes of an immutable batch are used once: a peer that says otherwise is wrong. */
  #mayBeReplaced({ batchId }: ReserveEntry): boolean {
    return this.#deps.batches.get(batchId)?.immutable === false;
  }
}
