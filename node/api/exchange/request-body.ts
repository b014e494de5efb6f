/** The body of a request as a stream that can be left early without cutting the connection. */
import type { IncomingMessage } from 'node:http';
import { ApiError } from '../errors.ts';

/** The body of a request. */
export interface RequestBody {
  /** False when the request says that it has none. */
  readonly present: boolean;
  /** Streams the body; ending the iteration early does not cut the connection. Once per request. */
  stream(): AsyncIterable<Uint8Array>;
  /** The whole body. @throws ApiError `BODY_TOO_LARGE` above the row's `bodyLimit` */
  read(): Promise<Uint8Array>;
}

/**
 * What is still read, and thrown away, of a body that nobody wants, so that the client gets to see its answer on
 * the same connection. More than the largest socket buffers of a client that sends before it listens.
 */
const DRAIN_BYTES_MAX = 16 * 1024 * 1024;

export function requestBody(raw: IncomingMessage, limit: number | undefined): RequestBody {
  return {
    present: announcesBody(raw),
    stream: () => octets(raw),
    async read() {
      const bound = limit ?? 0;
      const parts: Uint8Array[] = [];
      let size = 0;
      for await (const part of octets(raw)) {
        size += part.length;
        if (size > bound) throw new ApiError('BODY_TOO_LARGE');
        parts.push(part);
      }
      return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
    },
  };
}

/** @throws ApiError when the request announces more than `limit` bytes */
export function refuseOversized(raw: IncomingMessage, limit: number | undefined): void {
  const declared = contentLength(raw);
  if (limit !== undefined && declared !== undefined && declared > limit) throw new ApiError('BODY_TOO_LARGE');
}

/** Reads what is left of a body to its bound; beyond it the connection is cut. */
export function drain(raw: IncomingMessage): void {
  if (!announcesBody(raw) || raw.readableEnded || raw.destroyed) return;
  let left = DRAIN_BYTES_MAX;
  raw.on('data', (part: Uint8Array) => {
    left -= part.length;
    if (left < 0) raw.destroy();
  });
  // The connection may break while nobody is interested any more.
  raw.on('error', () => undefined);
  raw.resume();
}

/** The stream's own iterator would destroy the socket when it is left early. */
function octets(raw: IncomingMessage): AsyncIterable<Uint8Array> {
  return raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
}

function announcesBody(raw: IncomingMessage): boolean {
  return raw.headers['transfer-encoding'] !== undefined || (contentLength(raw) ?? 0) > 0;
}

function contentLength(raw: IncomingMessage): number | undefined {
  const header = raw.headers['content-length'];
  return header === undefined ? undefined : Number(header);
}
