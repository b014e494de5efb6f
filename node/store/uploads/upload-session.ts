import assert from 'node:assert/strict';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import type { Stamp } from '../../../formats/chunk/stamp.ts';
import type { Backend } from '../backend.ts';
import type { Undoing } from '../disk/undoing.ts';
import type { Disk, UploadSession } from '../ports.ts';
import { BLOCK_SIZE } from '../records.ts';
import { WriteBehind } from '../write-behind.ts';
import type { PushPlace, PushQueue } from './push-queue.ts';
import type { Tags } from './tags.ts';

interface Deps {
  readonly backend: Backend;
  readonly queue: PushQueue;
  readonly disk: Disk;
  readonly tags: Tags;
  readonly undoing: Undoing;
  /** Called when the session's chunks may be pushed. */
  readonly onClosed: () => void;
}

/** The upload of one caller under a tag; see `UploadSession` for the contract. */
export class StoredUploadSession implements UploadSession {
  readonly tagUid: number;
  readonly #deps: Deps;
  readonly #writes: WriteBehind;
  #session: number | undefined;
  #nextSequence = 0;
  #split = 0;
  #seen = 0;
  #state: 'open' | 'ending' | 'done' = 'open';

  constructor(tagUid: number, deps: Deps) {
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

  /** Assigned at once, so that a change that runs twice writes the same both times. */
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
