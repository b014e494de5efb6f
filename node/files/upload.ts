/**
 * One upload: chunks are stamped in the order in which they come, and each then either waits in the local store until
 * the upload is done (deferred) or is pushed at once (direct). Specification: `http-api-completion.md` 5,
 * `node-behaviour.md` 2.2.
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

/** Chunks of one direct upload handed to the pusher, which itself pushes as many across all uploads of the node. */
const DIRECT_IN_FLIGHT = 128;

const DEFERRED = { detail: 'deferred' };
const DIRECT = { detail: 'direct' };

/** `TAG_NOT_FOUND`: the upload names a tag that this node does not have. */
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
  /** A ready stamp of that batch, for an upload of the one chunk that it was made for. */
  readonly stamp?: Stamp;
  /** 0 or absent: a new tag. Direct uploads have no tag and ignore it. */
  readonly tagUid?: number;
  readonly deferred: boolean;
  /** Keeps the content under its root. Pinned content is stored, so it is not pushed before the end. */
  readonly pin?: boolean;
  /** Ends direct pushes when it aborts. */
  readonly signal: AbortSignal;
}

/** After a failed `put` or `done`, and when the content itself turns out unusable, only `cleanup` may be called. */
export interface Upload extends ChunkPutter {
  /** Undefined for a direct upload. */
  readonly tagUid: number | undefined;
  /**
   * Deferred: everything is durable and handed to the pusher. Direct: every chunk has its receipt. Either way, the
   * stamps are on disk. Rejects with what kept one from it.
   * @param reference root of the content, 32 or 64 bytes, shown by the tag; needed for content that is pinned
   */
  done(reference?: Uint8Array): Promise<void>;
  /** Undoes what is stored, stops running pushes. */
  cleanup(): Promise<void>;
}

export interface Uploader {
  /**
   * Checks the tag, then the batch; both before any body is read.
   * @throws UploadError `TAG_NOT_FOUND`; PostageError `BATCH_NOT_FOUND`, `BATCH_NOT_USABLE`, `BATCH_EXPIRED`
   */
  begin(options: BeginOptions): Promise<Upload>;
}

export interface UploaderDeps {
  readonly postage: Pick<Postage, 'stamper' | 'validate' | 'batches' | 'awaited' | 'saved'>;
  readonly store: Pick<LocalStore, 'tags' | 'uploads' | 'pins' | 'disk'>;
  readonly pusher: Pick<Pusher, 'direct'>;
  readonly events?: ChunkEvents | undefined;
  /** Called with the tag of an upload that is pushed when it is done. */
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
        // Chunks of an expired batch leave the queue unpushed: what they were part of must not be acknowledged.
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
 * Nothing is acknowledged whose batch is gone, or whose stamps are in memory alone: after a crash their slots would
 * be given to other chunks, and storers would drop the first ones for them.
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

/** The root is pinned last, so that pinned content is always uploaded, whatever happens in between. */
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

/** `put` resolves as soon as the chunk is being pushed; the first failed push ends the others. */
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
