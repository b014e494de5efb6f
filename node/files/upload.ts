/**
 * One upload: chunks are stamped in order, then wait in the store (deferred) or are pushed at once (direct).
 * `http-api-completion.md` 5, `node-behaviour.md` 2.2.
 */
import assert from 'node:assert/strict';
import type { Chunk, ChunkPutter } from '../../formats/chunk/chunk.ts';
import type { Stamp } from '../../formats/chunk/stamp.ts';
import type { ChunkEvents } from '../env/chunk-events.ts';
import { InFlight } from '../env/turns/in-flight.ts';
import { Slots } from '../env/turns/slots.ts';
import { type Postage, PostageError, type Stampable, type UploadStamper } from '../postage/ports.ts';
import type { Pusher } from '../protocols/pushsync/pusher.ts';
import type { LocalStore, PinSession, UploadSession } from '../store/ports.ts';

/** The pusher takes as many from all uploads. */
const DIRECT_IN_FLIGHT = 128;

const DEFERRED = { detail: 'deferred' };
const DIRECT = { detail: 'direct' };

/** `TAG_NOT_FOUND`: this node lacks the tag. */
export class UploadError extends Error {
  readonly code = 'TAG_NOT_FOUND';
  readonly tagUid: number;

  constructor(tagUid: number) {
    super(`tag ${tagUid} not found`);
    this.name = 'UploadError';
    this.tagUid = tagUid;
  }
}

interface BeginOptions {
  readonly batchId: Uint8Array;
  /** For the one chunk that it was made for. */
  readonly stamp?: Stamp;
  /** 0 or absent: new. Direct uploads have none. */
  readonly tagUid?: number;
  readonly deferred: boolean;
  /** Pinned content is stored, so it is pushed at the end. */
  readonly pin?: boolean;
  readonly signal: AbortSignal;
}

/** After a failed `put` or `done`, or with unusable content, only `cleanup` may be called. */
export interface Upload extends ChunkPutter {
  readonly tagUid: number | undefined;
  /**
   * Deferred: all is durable and handed to the pusher. Direct: every chunk has its receipt. Stamps are on disk. Rejects with
   * what kept one from it.
   * @param reference root, 32 or 64 bytes, for the tag; needed for pinned content
   */
  done(reference?: Uint8Array): Promise<void>;
  cleanup(): Promise<void>;
}

export interface Uploader {
  /**
   * Checks tag, then batch, before the body. @throws UploadError `TAG_NOT_FOUND`; PostageError `BATCH_NOT_FOUND`,
   * `BATCH_NOT_USABLE`, `BATCH_EXPIRED`
   */
  begin(options: BeginOptions): Promise<Upload>;
}

export interface UploaderDeps {
  readonly postage: Pick<Postage, 'stamper' | 'validate' | 'batches' | 'awaited' | 'saved'>;
  readonly store: Pick<LocalStore, 'tags' | 'uploads' | 'pins' | 'disk'>;
  readonly pusher: Pick<Pusher, 'direct'>;
  readonly events?: ChunkEvents | undefined;
  /** Tags of uploads that are pushed when done. */
  readonly onWaiting?: (tagUid: number) => void;
}

export function createUploader({ postage, store, pusher, events, onWaiting }: UploaderDeps): Uploader {
  return {
    async begin({ batchId, stamp, tagUid = 0, deferred, pin = false, signal }) {
      const stored = deferred || pin;
      if (stored) store.disk.expect();
      if (stored && tagUid !== 0 && store.tags.get(tagUid) === undefined) throw new UploadError(tagUid);
      const stamper = stamp === undefined ? postage.stamper(batchId) : readyStamper(stamp, postage);
      const saved = async () => {
        await postage.saved(batchId);
        // Chunks of an expired batch leave the queue unpushed: such content must not be acknowledged.
        if (postage.batches.get(batchId) !== undefined || postage.awaited(batchId)) return;
        throw new PostageError('BATCH_EXPIRED', 'the batch has expired during the upload');
      };
      if (!stored) return acknowledged(directUpload({ stamper, signal }, { pusher, events }), saved);
      const uid = tagUid === 0 ? (await store.tags.create()).uid : tagUid;
      onWaiting?.(uid);
      const session = store.uploads.openSession(uid);
      const upload = acknowledged(deferredUpload(stamper, session, events), saved);
      return pin ? pinned(upload, store.pins.openSession()) : upload;
    },
  };
}

/**
 * Nothing is acknowledged whose batch is gone, or whose stamps are in memory alone: after a crash their slots would go to
 * other chunks, and storers would drop the first.
 */
function acknowledged(upload: Upload, saved: () => Promise<void>): Upload {
  return {
    ...upload,
    async done(reference) {
      await saved();
      await upload.done(reference);
    },
  };
}

function readyStamper(stamp: Stamp, postage: UploaderDeps['postage']): UploadStamper {
  if (postage.batches.get(stamp.batchId) === undefined)
    throw new PostageError('BATCH_NOT_FOUND', 'the stamp belongs to no live batch');
  const ready = (chunk: Stampable) => {
    postage.validate(chunk, stamp);
    return stamp;
  };
  return { batchId: stamp.batchId, stamp: ready, stampAsync: async (chunk) => ready(chunk) };
}

function deferredUpload(
  stamper: UploadStamper,
  session: UploadSession,
  events: ChunkEvents | undefined,
): Upload {
  return {
    tagUid: session.tagUid,
    async put(chunk) {
      const stamp = await stamper.stampAsync(chunk);
      const causeEvent = events?.add('uploaded', chunk.address, DEFERRED);
      await session.put(chunk, stamp);
      events?.add('queued', chunk.address, { causeEvent });
    },
    done: (reference) => session.done(reference),
    cleanup: () => session.cleanup(),
  };
}

/** The root is pinned last, so that pinned content is always uploaded. */
function pinned(upload: Upload, session: PinSession): Upload {
  return {
    tagUid: upload.tagUid,
    async put(chunk, signal) {
      await upload.put(chunk, signal);
      await session.put(chunk);
    },
    async done(reference) {
      assert(reference !== undefined, 'pinned content has no root');
      await upload.done(reference);
      await session.done(reference);
    },
    async cleanup() {
      await upload.cleanup();
      await session.cleanup();
    },
  };
}

/** `put` resolves at the push; the first failure ends the others. */
function directUpload(
  options: { stamper: UploadStamper; signal: AbortSignal },
  { pusher, events }: Pick<UploaderDeps, 'pusher' | 'events'>,
): Upload {
  const controller = new AbortController();
  const signal = AbortSignal.any([options.signal, controller.signal]);
  const slots = new Slots(DIRECT_IN_FLIGHT);
  const pushes = new InFlight(DIRECT_IN_FLIGHT, (reason) => controller.abort(reason));
  const push = async (chunk: Chunk, stamp: Stamp) => {
    try {
      signal.throwIfAborted();
      await pusher.direct(chunk, stamp, signal);
    } finally {
      slots.release();
    }
  };
  return {
    tagUid: undefined,
    async put(chunk) {
      const stamp = await options.stamper.stampAsync(chunk);
      events?.add('uploaded', chunk.address, DIRECT);
      await slots.acquire(signal);
      pushes.add(push(chunk, stamp));
    },
    done: () => pushes.done(),
    async cleanup() {
      controller.abort(new DOMException('the upload is given up', 'AbortError'));
      await pushes.idle();
    },
  };
}
