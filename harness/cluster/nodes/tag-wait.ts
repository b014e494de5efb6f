import type { Clock } from '../../../formats/clock.ts';
import { HarnessError, messageOf } from '../../base/errors.ts';
import { plural } from '../../base/format.ts';
import { type ProbeResult, until } from '../../base/wait.ts';
import { ClientError } from '../../client/errors.ts';
import type { Tag } from '../../client/types.ts';
import type { ClusterNode } from './cluster-node.ts';

/** Without progress: a slow upload is not cut off. */
const STANDSTILL_MS = 300_000;
/** A standstill this long is explained, and explained again after as long. */
const EXPLAINED_MS = 5_000;

export interface TagTarget {
  readonly node: ClusterNode;
  readonly tag: number;
}

/** @param others what the node pushes beside it, if this upload stands still */
export type SyncProgress = (synced: number, split: number, others?: string) => void;

export interface TagWait {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  /** In total. Default: as long as chunks arrive. */
  readonly timeoutMs?: number | undefined;
  readonly onProgress?: SyncProgress | undefined;
}

/** Every chunk was seen before or has reached its neighbourhood (4.5). @throws HarnessError `WAIT_TIMEOUT` */
export async function awaitTag(target: TagTarget, wait: TagWait): Promise<Tag> {
  const { clock, signal, timeoutMs } = wait;
  const watch = new TagWatch(target, wait);
  const probe = (aborted: AbortSignal) => watch.probe(aborted);
  if (timeoutMs !== undefined) return until('the upload is not synced', probe, { clock, signal, timeoutMs });
  for (;;) {
    try {
      const limits = { clock, signal, timeoutMs: Math.ceil(STANDSTILL_MS - watch.idleMs) };
      return await until('the upload is not synced, and no chunk of it arrived', probe, limits);
    } catch (error) {
      const isLate = error instanceof HarnessError && error.code === 'WAIT_TIMEOUT';
      if (!isLate || watch.idleMs >= STANDSTILL_MS) throw error;
    }
  }
}

class TagWatch {
  readonly #target: TagTarget;
  readonly #clock: Clock;
  readonly #onProgress: SyncProgress | undefined;
  #synced = 0;
  #progressAt: number;
  /** When a standstill was last explained, or when progress ended it. */
  #explainedAt: number;
  #others: string | undefined;

  constructor(target: TagTarget, { clock, onProgress }: TagWait) {
    this.#target = target;
    this.#clock = clock;
    this.#onProgress = onProgress;
    this.#progressAt = clock.monotonic();
    this.#explainedAt = this.#progressAt;
  }

  /** Since a chunk arrived, or since the wait began. */
  get idleMs(): number {
    return this.#clock.monotonic() - this.#progressAt;
  }

  async probe(signal: AbortSignal): Promise<ProbeResult<Tag>> {
    const result = await probeTag(this.#target, signal, (synced, split) => this.#seen(synced, split));
    if ('done' in result) return result;
    if (this.#clock.monotonic() - this.#explainedAt >= EXPLAINED_MS) {
      this.#others = await otherUploads(this.#target, signal);
      this.#explainedAt = this.#clock.monotonic();
    }
    return this.#others === undefined ? result : { missing: `${result.missing}; ${this.#others}` };
  }

  #seen(synced: number, split: number): void {
    if (synced > this.#synced) {
      this.#progressAt = this.#clock.monotonic();
      this.#explainedAt = this.#progressAt;
      this.#others = undefined;
    }
    this.#synced = synced;
    this.#onProgress?.(synced, split, this.#others);
  }
}

async function otherUploads({ node, tag }: TagTarget, signal: AbortSignal): Promise<string | undefined> {
  try {
    const others = (await node.tags.list(signal)).filter((other) => other.uid !== tag && !isSynced(other));
    const pending = others.reduce((sum, other) => sum + Math.max(0, pendingOf(other)), 0);
    if (pending === 0) return undefined;
    const uploads = others.filter((other) => pendingOf(other) > 0).length;
    return `${node.name} also pushes ${plural(pending, 'chunk')} of ${plural(uploads, 'other upload')}`;
  } catch (error) {
    return `other uploads of ${node.name} are not known: ${messageOf(error)}`;
  }
}

/** One look at the tag. */
export async function probeTag(
  { node, tag }: TagTarget,
  signal: AbortSignal,
  onProgress?: (synced: number, split: number) => void,
): Promise<ProbeResult<Tag>> {
  try {
    const seen = await node.tags.get(tag, signal);
    onProgress?.(seen.synced + seen.seen, seen.split);
    if (isSynced(seen)) return { done: seen };
    return {
      missing: `${node.name} tag ${tag}: ${seen.synced + seen.seen} of ${plural(seen.split, 'chunk')} synced`,
    };
  } catch (error) {
    // A tag that does not exist will not come; a node that does not answer may still do so.
    if (error instanceof ClientError && error.status === 404) throw error;
    return { missing: messageOf(error) };
  }
}

const pendingOf = ({ split, synced, seen }: Tag) => split - synced - seen;

export function isSynced(tag: Tag): boolean {
  return tag.split > 0 && pendingOf(tag) <= 0;
}
