import type { IncomingMessage, ServerResponse } from 'node:http';
import { JSON_CONTENT_TYPE, writeJson } from '../values/json.ts';
import type { Answer } from './answer.ts';
import type { Patience } from './patience.ts';
import { drain } from './request-body.ts';

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly method: string;
  readonly id: string;
  readonly patience: Patience;
  route: string;
}

/** Never throws. @param failed makes an answer from an error before the first byte */
export function send(exchange: Exchange, answer: Answer, failed: (error: unknown) => Answer): void {
  const { response } = exchange;
  const cut = () => void response.destroy();
  const refuse = (error: unknown) => {
    // A started answer can only be cut: the client notices its length.
    if (response.headersSent || response.destroyed) return cut();
    for (const name of Object.keys(answer.headers ?? {})) response.removeHeader(name);
    attempt(() => write(exchange, failed(error), cut), cut);
  };
  attempt(() => write(exchange, answer, refuse), refuse);
}

function attempt(step: () => void, failed: (error: unknown) => void): void {
  try {
    step();
  } catch (error) {
    failed(error);
  }
}

function write(exchange: Exchange, answer: Answer, refuse: (error: unknown) => void): void {
  const { request, response, method, patience } = exchange;
  drain(request, patience);
  response.statusCode = answer.status;
  setHeaders(response, answer.headers ?? {});
  if (answer.stream !== undefined && method !== 'HEAD') void sendStream(exchange, answer.stream, refuse);
  else if (answer.json !== undefined) sendBytes(exchange, writeJson(answer.json), JSON_CONTENT_TYPE);
  else if (answer.text !== undefined)
    sendBytes(exchange, Buffer.from(answer.text), 'text/plain; charset=utf-8');
  else if (answer.bytes !== undefined) sendBytes(exchange, answer.bytes, 'application/octet-stream');
  else sendNothing(exchange, answer);
}

/** The length goes last: after it, Node.js would decode `content-disposition`, which garbles UTF-8. */
function setHeaders(response: ServerResponse, headers: NonNullable<Answer['headers']>): void {
  const { 'content-length': length, ...others } = headers;
  for (const [name, value] of Object.entries(others)) response.setHeader(name, value);
  if (length !== undefined) response.setHeader('content-length', length);
}

function sendBytes(exchange: Exchange, bytes: Uint8Array, contentType: string): void {
  const { response, method } = exchange;
  if (!response.hasHeader('content-type')) response.setHeader('content-type', contentType);
  // HEAD may state the omitted body's length.
  if (method !== 'HEAD' || !response.hasHeader('content-length')) {
    response.setHeader('content-length', bytes.length);
  }
  // Otherwise `end` would send the length before all other headers.
  response.writeHead(response.statusCode);
  if (bytes.length <= PIECE_SIZE || method === 'HEAD') response.end(bytes);
  // More than a connection takes at once.
  else void sendStream(exchange, piecesOf(bytes), () => void response.destroy());
}

const PIECE_SIZE = 65_536;

export async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  for (let at = 0; at < bytes.length; at += PIECE_SIZE) yield bytes.subarray(at, at + PIECE_SIZE);
}

/** No body, or HEAD: the stream is not read. */
function sendNothing({ response }: Exchange, { status, stream }: Answer): void {
  if (stream === undefined && status !== 204 && status !== 304) response.setHeader('content-length', 0);
  response.end();
}

async function sendStream(
  { response, patience }: Exchange,
  pieces: AsyncIterable<Uint8Array>,
  refuse: (error: unknown) => void,
): Promise<void> {
  try {
    for await (const piece of pieces) {
      await taken(response, piece, patience);
      if (response.destroyed) return;
    }
    response.end();
  } catch (error) {
    refuse(error);
  }
}

/** Also resolves when no one wants the bytes any more. */
async function taken(
  response: ServerResponse,
  piece: Uint8Array,
  { idleMs, clock, over }: Patience,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const limit = clock.timer(idleMs, () => {
    over('answer');
    response.destroy();
  });
  const done = () => resolve();
  response.once('close', done);
  response.write(piece, done);
  await promise;
  response.off('close', done);
  limit[Symbol.dispose]();
}
