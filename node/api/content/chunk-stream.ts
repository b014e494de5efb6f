/** Uploads of many chunks over one WebSocket: `http-api-completion.md` 6.1. */
import { cacFromData } from '../../chunk/cac.ts';
import { CHUNK_PAYLOAD_SIZE, SPAN_SIZE } from '../../chunk/chunk.ts';
import { type Clock, TimeoutError } from '../../env/clock.ts';
import type { Logger } from '../../env/logger.ts';
import type { Upload } from '../../files/upload.ts';
import type { Socket } from '../exchange/answer.ts';
import { CLOSE } from '../exchange/websocket.ts';

/** A stream that brings nothing for so long is dropped, and so is one whose chunk nobody takes, milliseconds. */
const IDLE_MS = 15 * 60_000;
/**
 * Time for the pushes of chunks that were taken when the connection ends, milliseconds. A push without a peer is tried
 * for ever while its client waits; when nobody does, it must end.
 */
const FINISH_MS = 60_000;
const CHUNK_SIZE_MAX = SPAN_SIZE + CHUNK_PAYLOAD_SIZE;

interface ChunkStreamDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Answer to every chunk that was taken. */
  readonly taken: Uint8Array;
  /** Gives the upload up. */
  readonly giveUp: (reason: unknown) => void;
}

/**
 * Takes chunk after chunk and ends the upload with the connection: what was acknowledged is pushed, whatever ended it.
 * @param upload without a tag, `put` waits while too many chunks are unfinished, and so the acknowledgement does
 */
export async function receiveChunks(socket: Socket, upload: Upload, deps: ChunkStreamDeps): Promise<void> {
  const onEnding = () => deps.giveUp(socket.ending.reason);
  socket.ending.addEventListener('abort', onEnding, { once: true });
  socket.sayAtStop(CLOSE.goingAway, 'node shutting down');
  for (;;) {
    const message = await socket.read(IDLE_MS);
    if (message === undefined) break;
    if (typeof message === 'string') socket.close(CLOSE.unsupportedData, 'invalid message');
    else if (message.length < SPAN_SIZE || message.length > CHUNK_SIZE_MAX) socket.drop();
    else await take(message, socket, upload, deps);
  }
  await finish(upload, deps);
  socket.ending.removeEventListener('abort', onEnding);
}

async function take(
  message: Uint8Array,
  socket: Socket,
  upload: Upload,
  { clock, log, taken, giveUp }: ChunkStreamDeps,
): Promise<void> {
  try {
    using _limit = clock.timer(IDLE_MS, () => giveUp(new TimeoutError(IDLE_MS)));
    await upload.put(cacFromData(message));
  } catch (error) {
    log.debug({ err: error }, 'chunk of a stream not taken');
    socket.close(CLOSE.internalError, isFull(error) ? 'batch is overissued' : 'chunk write error');
    return;
  }
  await socket.sent(taken);
}

function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'BATCH_OVERISSUED';
}

async function finish(upload: Upload, { clock, log, giveUp }: ChunkStreamDeps): Promise<void> {
  using _limit = clock.timer(FINISH_MS, () => giveUp(new TimeoutError(FINISH_MS)));
  try {
    await upload.done();
  } catch (error) {
    log.warn({ err: error, tag: upload.tagUid }, 'chunks of a stream are lost');
    await upload.cleanup();
  }
}
