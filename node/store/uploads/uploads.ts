/** Upload sessions, and the pusher's reports (`node-behaviour.md` 2.2). */
import assert from 'node:assert/strict';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import type { Stamp } from '../../../formats/chunk/stamp.ts';
import type { Logger } from '../../env/logger.ts';
import type { Backend } from '../backend.ts';
import type { ChunkTable } from '../chunk-table.ts';
import type { Undoing } from '../disk/undoing.ts';
import type { Disk, PushOutcome, UploadSession, UploadStore } from '../ports.ts';
import { BLOCK_SIZE } from '../records.ts';
import { WriteBehind } from '../write-behind.ts';
import type { HandedOver } from './handed-over.ts';
import { enterBlocks, type PushPlace, PushQueue } from './push-queue.ts';
import type { TagCounts, Tags } from './tags.ts';

const COUNTS: Record<PushOutcome, TagCounts> = {
  synced: { synced: 1 },
  kept: { synced: 1 },
  stored: { synced: 1, stored: 1 },
  dropped: {},
};

interface Deps {
  readonly backend: Backend;
  readonly chunks: ChunkTable;
  readonly disk: Disk;
  readonly tags: Tags;
  readonly handedOver: HandedOver;
  readonly undoing: Undoing;
  readonly log: Logger;
}

/** Rolls back sessions cut short by a crash, later if the disk takes no writes. */
export async function openUploads({
  backend,
  chunks,
  disk,
  tags,
  handedOver,
  undoing,
  log,
}: Deps): Promise<UploadStore> {
  const listeners: (() => void)[] = [];
  const onPushable = () => {
    for (const listener of listeners) listener();
  };
  await undoing.run(async () => {
    await enterBlocks(backend);
    onPushable();
  });
  const queue = new PushQueue({ backend, chunks, log });
  for (const session of queue.openSessions()) {
    log.info({ session }, 'taking back an upload that was cut short');
    // Its marker keeps its chunks from the pusher, and its blocks from new uploads.
    await undoing.run(() => queue.rollback(session));
  }
  chunks.onHealed(onPushable);
  return {
    openSession(tagUid) {
      disk.expect();
      return new StoredUploadSession(tagUid, { backend, queue, disk, tags, undoing, onClosed: onPushable });
    },
    pending: (afterSequence, limit) => queue.pending(afterSequence, limit),
    sent(push) {
      backend
        .change((tx) => {
          if (queue.has(tx, push)) tags.count(tx, push.tagUid, { sent: 1 });
        })
        .catch((error: unknown) =>
          log.warn({ err: error, tag: push.tagUid }, 'pushed chunk could not be counted'),
        );
    },
    async report(push, outcome) {
      if (outcome === 'synced' && push.isReadable && queue.has(backend, push))
        handedOver.add(push.chunk, push.stamp.batchId);
      const end = await backend.change((tx) => {
        const counts = COUNTS[outcome];
        const result = queue.finish(tx, push, counts.synced ?? 0);
        if (result === 'finished') tags.count(tx, push.tagUid, counts);
        return result;
      });
      // The other chunk's session may be gone, and announces nothing.
      if (end === 'replaced') onPushable();
    },
    onPushable: (listener) => void listeners.push(listener),
    forgetBatches: (isGone) => handedOver.forget(isGone),
    totals: () => queue.totals(),
  };
}

interface SessionDeps {
  readonly backend: Backend;
  readonly queue: PushQueue;
  readonly disk: Disk;
  readonly tags: Tags;
  readonly undoing: Undoing;
  readonly onClosed: () => void;
}

class StoredUploadSession implements UploadSession {
  readonly tagUid: number;
  readonly #deps: SessionDeps;
  readonly #writes: WriteBehind;
  #session: number | undefined;
  #nextSequence = 0;
  #split = 0;
  #seen = 0;
  #state: 'open' | 'ending' | 'done' = 'open';

  constructor(tagUid: number, deps: SessionDeps) {
    this.tagUid = tagUid;
    this.#deps = deps;
    this.#writes = new WriteBehind(deps.backend);
  }

  async put(chunk: Chunk, stamp: Stamp): Promise<void> {
    assert(this.#state === 'open', 'put after the end of an upload session');
    const { disk, queue } = this.#deps;
    disk.expect();
    const place = this.#nextPlace();
    await this.#writes.add(
      (tx) => {
        queue.open(tx, place);
        return queue.add(tx, place, { chunk, stamp, tagUid: this.tagUid });
      },
      (added) => {
        this.#split += 1;
        if (!added) this.#seen += 1;
      },
    );
  }

  async done(reference?: Uint8Array): Promise<void> {
    assert(this.#state === 'open', 'upload session ends twice');
    await this.#writes.done();
    this.#state = 'ending';
    const session = this.#session;
    const counts = { split: this.#split, seen: this.#seen };
    const { backend, queue, tags, onClosed } = this.#deps;
    await backend.change((tx) => {
      if (session !== undefined) queue.close(tx, session, counts.split - counts.seen);
      tags.count(tx, this.tagUid, counts, reference);
    });
    this.#state = 'done';
    if (session !== undefined) onClosed();
  }

  async cleanup(): Promise<void> {
    if (this.#state === 'done') return;
    this.#state = 'ending';
    await this.#writes.ended();
    const session = this.#session;
    const { queue, undoing } = this.#deps;
    if (session !== undefined) await undoing.run(() => queue.rollback(session));
  }

  /** Assigned at once: a change that runs twice must write the same. */
  #nextPlace(): PushPlace {
    if (this.#nextSequence % BLOCK_SIZE === 0) {
      const block = this.#deps.queue.nextBlock();
      this.#session ??= block;
      this.#nextSequence = block * BLOCK_SIZE;
    }
    const place = { session: this.#session!, sequence: this.#nextSequence };
    this.#nextSequence += 1;
    return place;
  }
}
