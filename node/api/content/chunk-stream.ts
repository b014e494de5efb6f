/** Uploads of many chunks over one WebSocket: `http-api-completion.md` 6.1. */
import { cacFromData } from '../../../formats/chunk/cac.ts';
import { CHUNK_PAYLOAD_SIZE, type Chunk, SPAN_SIZE } from '../../../formats/chunk/chunk.ts';
import { decodeStamp, STAMP_SIZE } from '../../../formats/chunk/stamp.ts';
import { type Clock, TimeoutError } from '../../../formats/clock.ts';
import type { Logger } from '../../env/logger.ts';
import type { Upload, Uploader } from '../../files/upload.ts';
import type { Socket } from '../exchange/answer.ts';
import { CLOSE } from '../exchange/websocket.ts';

/** Limit without a message, or with a chunk that no peer takes. */
const IDLE_MS = 15 * 60_000;
/**
 * For pushing accepted chunks after the connection has ended: without a client, a push without a peer must not be retried
 * for ever.
 */
const FINISH_MS = 60_000;
const CHUNK_SIZE_MAX = SPAN_SIZE + CHUNK_PAYLOAD_SIZE;

interface Intake {
  readonly prefix: number;
  readonly tooShort: string | undefined;
  /**
   * @param prefix bytes in front of the chunk
   * @returns stores the chunk; resolves when it may be acknowledged
   */
  accept(prefix: Uint8Array): Promise<(chunk: Chunk) => Promise<void>>;
  done(): Promise<void>;
  cleanup(): Promise<void>;
}

export function uploadIntake(upload: Upload): Intake {
  return {
    prefix: 0,
    tooShort: undefined,
    accept: () => Promise.resolve((chunk) => upload.put(chunk)),
    done: () => upload.done(),
    cleanup: () => upload.cleanup(),
  };
}

/** Every chunk brings its own stamp and is a separate upload. */
export function stampedIntake(
  uploader: Uploader,
  begin: Omit<Parameters<Uploader['begin']>[0], 'batchId' | 'stamp'>,
): Intake {
  return {
    prefix: STAMP_SIZE,
    tooShort: 'message too small for stamp + chunk',
    async accept(prefix) {
      const stamp = decodeStamp(prefix);
      const upload = await uploader.begin({ ...begin, batchId: stamp.batchId, stamp });
      return async (chunk) => {
        try {
          await upload.put(chunk);
          await upload.done();
        } catch (error) {
          await upload.cleanup();
          throw error;
        }
      };
    },
    done: () => Promise.resolve(),
    cleanup: () => Promise.resolve(),
  };
}

interface ChunkStreamDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly taken: Uint8Array;
  /** About a chunk of impossible size; undefined: none. */
  readonly invalid: string | undefined;
  readonly giveUp: (reason: unknown) => void;
}

/**
 * Acknowledged chunks are pushed even after the connection.
 * @param intake without a tag it waits while too many chunks are unfinished
 */
export async function receiveChunks(socket: Socket, intake: Intake, deps: ChunkStreamDeps): Promise<void> {
  const onEnding = () => deps.giveUp(socket.ending.reason);
  socket.ending.addEventListener('abort', onEnding, { once: true });
  socket.sayAtStop(CLOSE.goingAway, 'node shutting down');
  for (;;) {
    const message = await socket.read(IDLE_MS);
    if (message === undefined) break;
    if (typeof message === 'string') socket.close(CLOSE.unsupportedData, 'invalid message');
    else if (message.length < SPAN_SIZE) socket.drop();
    else if (message.length < intake.prefix + SPAN_SIZE) end(socket, intake.tooShort);
    else await take(message, socket, intake, deps);
  }
  await finish(intake, deps);
  socket.ending.removeEventListener('abort', onEnding);
}

async function take(
  message: Uint8Array,
  socket: Socket,
  intake: Intake,
  { clock, log, taken, invalid, giveUp }: ChunkStreamDeps,
): Promise<void> {
  const data = message.subarray(intake.prefix);
  try {
    using _limit = clock.timer(IDLE_MS, () => giveUp(new TimeoutError(IDLE_MS)));
    const put = await intake.accept(message.subarray(0, intake.prefix));
    if (data.length > CHUNK_SIZE_MAX) return end(socket, invalid);
    await put(cacFromData(data));
  } catch (error) {
    log.debug({ err: error }, 'chunk of a stream not taken');
    return end(socket, reasonOf(error));
  }
  await socket.sent(taken);
}

/** @param reason undefined: no close frame */
function end(socket: Socket, reason: string | undefined): void {
  if (reason === undefined) socket.drop();
  else socket.close(CLOSE.internalError, reason);
}

const REASONS: ReadonlyMap<unknown, string> = new Map([
  ['BATCH_OVERISSUED', 'batch is overissued'],
  ['BATCH_NOT_FOUND', 'batch not found'],
]);

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return REASONS.get(code) ?? 'chunk write error';
}

async function finish(intake: Intake, { clock, log, giveUp }: ChunkStreamDeps): Promise<void> {
  using _limit = clock.timer(FINISH_MS, () => giveUp(new TimeoutError(FINISH_MS)));
  try {
    await intake.done();
  } catch (error) {
    log.warn({ err: error }, 'chunks of an upload stream were not stored');
    await intake.cleanup();
  }
}
