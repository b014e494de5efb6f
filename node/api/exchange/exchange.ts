/** One request and its answer on the wire. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { JSON_CONTENT_TYPE, writeJson } from '../values/json.ts';
import type { Answer } from './answer.ts';
import { drain } from './request-body.ts';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly method: string;
  /** For its answer and for the log. */
  readonly id: string;
  /** Path of the route table, once it is known. */
  route: string;
}

/** Never throws. @param failed makes an answer of an error that a stream ends with before its first byte */
export function send(exchange: Exchange, answer: Answer, failed: (error: unknown) => Answer): void {
  const { request, response, method } = exchange;
  drain(request);
  response.statusCode = answer.status;
  setHeaders(response, answer.headers ?? {});
  if (answer.stream !== undefined && method !== 'HEAD') {
    void sendStream(response, answer.stream, (error) => {
      for (const name of Object.keys(answer.headers ?? {})) response.removeHeader(name);
      send(exchange, failed(error), failed);
    });
  } else if (answer.json !== undefined) sendBytes(exchange, writeJson(answer.json), JSON_CONTENT_TYPE);
  else if (answer.text !== undefined)
    sendBytes(exchange, Buffer.from(answer.text), 'text/plain; charset=utf-8');
  else if (answer.bytes !== undefined) sendBytes(exchange, answer.bytes, 'application/octet-stream');
  else sendNothing(exchange);
}

/**
 * The length goes last: once Node.js knows it, it decodes a `content-disposition` that follows, and UTF-8 in it comes
 * out as something else.
 */
function setHeaders(response: ServerResponse, headers: NonNullable<Answer['headers']>): void {
  const { 'content-length': length, ...others } = headers;
  for (const [name, value] of Object.entries(others)) response.setHeader(name, value);
  if (length !== undefined) response.setHeader('content-length', length);
}

function sendBytes({ response, method }: Exchange, bytes: Uint8Array, contentType: string): void {
  if (!response.hasHeader('content-type')) response.setHeader('content-type', contentType);
  // An answer to HEAD may have told the length of what it leaves out.
  if (method !== 'HEAD' || !response.hasHeader('content-length')) {
    response.setHeader('content-length', bytes.length);
  }
  // Before `end`, which would take the length from the bytes ahead of all headers.
  response.writeHead(response.statusCode);
  response.end(bytes);
}

function sendNothing({ response, method }: Exchange): void {
  const mayHaveBody = response.statusCode !== 204 && response.statusCode !== 304 && method !== 'HEAD';
  if (mayHaveBody) response.setHeader('content-length', 0);
  response.end();
}

async function sendStream(
  response: ServerResponse,
  pieces: AsyncIterable<Uint8Array>,
  failedEarly: (error: unknown) => void,
): Promise<void> {
  try {
    for await (const piece of pieces) {
      await taken(response, piece);
      if (response.destroyed) return;
    }
    response.end();
  } catch (error) {
    // What has begun can only be broken off: short of its length, so that the client sees it.
    if (response.headersSent || response.destroyed) response.destroy();
    else failedEarly(error);
  }
}

/** Resolves when the system has the bytes, or nobody wants them any more. */
function taken(response: ServerResponse, piece: Uint8Array): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = () => resolve();
  response.once('close', done);
  response.write(piece, () => {
    response.off('close', done);
    resolve();
  });
  return promise;
}
