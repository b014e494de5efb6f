/** The upload store: sessions that bring chunks, and what the pusher reports about them (`node-behaviour.md` 2.2). */
import type { Logger } from '../../env/logger.ts';
import type { Backend } from '../backend.ts';
import type { ChunkTable } from '../chunk-table.ts';
import type { Undoing } from '../disk/undoing.ts';
import type { Disk, PushOutcome, UploadStore } from '../ports.ts';
import type { HandedOver } from './handed-over.ts';
import { enterBlocks, PushQueue } from './push-queue.ts';
import type { TagCounts, Tags } from './tags.ts';
import { StoredUploadSession } from './upload-session.ts';

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

/** Rolls back sessions cut short by a crash (later, if the disk takes no writes), then opens. */
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
      // The session that brought the other chunk may have been taken back, so that nothing else announces it.
      if (end === 'replaced') onPushable();
    },
    onPushable: (listener) => void listeners.push(listener),
    forgetBatches: (isGone) => handedOver.forget(isGone),
    totals: () => queue.totals(),
  };
}
