/** A body that can be left without cutting the connection. */
import type { IncomingMessage } from 'node:http';
import { interruptible } from '../../files/interruptible.ts';
import { ApiError } from '../errors.ts';
import type { Patience } from './patience.ts';

export interface RequestBody {
  readonly present: boolean;
  /** Once per request; may be ended early. An idle client ends it with ApiError `BODY_IDLE`. */
  stream(): AsyncIterable<Uint8Array>;
  /** @throws ApiError `BODY_TOO_LARGE` above `bodyLimit`, `BODY_IDLE` */
  read(): Promise<Uint8Array>;
}

/** Of an unwanted body, read so that the client sees its answer: more than the largest socket buffers. */
const DRAIN_BYTES_MAX = 16 * 1024 * 1024;

export function requestBody(
  raw: IncomingMessage,
  limit: number | undefined,
  patience: Patience,
): RequestBody {
  return {
    present: announcesBody(raw),
    stream: () => octets(raw, patience),
    async read() {
      const bound = limit ?? 0;
      const parts: Uint8Array[] = [];
      let size = 0;
      for await (const part of octets(raw, patience)) {
        size += part.length;
        if (size > bound) throw new ApiError('BODY_TOO_LARGE');
        parts.push(part);
      }
      return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
    },
  };
}

/** @throws ApiError when more than `limit` bytes are announced */
export function refuseOversized(raw: IncomingMessage, limit: number | undefined): void {
  const declared = contentLength(raw);
  if (limit !== undefined && declared !== undefined && declared > limit) throw new ApiError('BODY_TOO_LARGE');
}

/** @throws ApiError when the headers name an encoding */
export function refuseEncoded({ headers }: IncomingMessage): void {
  const coding = headers['content-encoding']?.trim() ?? '';
  if (coding === '' || coding.toLowerCase() === 'identity') return;
  const error = `want identity, got ${coding.slice(0, 40)}: send the body as it is to be stored`;
  throw new ApiError('INVALID_HEADER_PARAMS', { reasons: [{ field: 'content-encoding', error }] });
}

/** Up to a bound; beyond it, or from a silent client, the connection is cut. */
export function drain(raw: IncomingMessage, { idleMs, clock, over }: Patience): void {
  if (!announcesBody(raw) || raw.readableEnded || raw.destroyed) return;
  let left = DRAIN_BYTES_MAX;
  const limited = () =>
    clock.timer(idleMs, () => {
      over('body');
      raw.destroy();
    });
  let limit = limited();
  raw.on('data', (part: Uint8Array) => {
    left -= part.length;
    limit[Symbol.dispose]();
    if (left < 0) raw.destroy();
    else limit = limited();
  });
  for (const end of ['end', 'close']) raw.once(end, () => limit[Symbol.dispose]());
  // No one is interested any more.
  raw.on('error', () => undefined);
  raw.resume();
}

/** Runs only while a reader waits for the client. */
function octets(raw: IncomingMessage, { idleMs, clock, over }: Patience): AsyncIterable<Uint8Array> {
  // The stream's own iterator would destroy the socket.
  const source = raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
  const { parts, interrupt } = interruptible(source);
  const iterator = parts[Symbol.asyncIterator]();
  const giveUp = () => {
    over('body');
    interrupt(new ApiError('BODY_IDLE'));
  };
  const next = async () => {
    const limit = clock.timer(idleMs, giveUp);
    try {
      return await iterator.next();
    } finally {
      limit[Symbol.dispose]();
    }
  };
  return { [Symbol.asyncIterator]: () => ({ ...iterator, next }) };
}

function announcesBody(raw: IncomingMessage): boolean {
  return raw.headers['transfer-encoding'] !== undefined || (contentLength(raw) ?? 0) > 0;
}

function contentLength(raw: IncomingMessage): number | undefined {
  const header = raw.headers['content-length'];
  return header === undefined ? undefined : Number(header);
}
