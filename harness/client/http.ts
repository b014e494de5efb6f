/** Requests to one node, with a deadline; failures have a class. */

import type { Agent } from 'node:http';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { Clock } from '../../formats/clock.ts';
import { argumentError, expectTimeout } from '../base/arguments.ts';
import { connectionsTo, socketAgent, type Whose } from '../base/direct.ts';
import { readBeginning, readLimited, readLimitedText } from '../base/read-limited.ts';
import { Authorization, type TokenSource } from '../base/token.ts';
import { ClientError, classOfAnswer, classOfFailure } from './errors.ts';
import { parseJson } from './json.ts';

/** As many as a node serves one client; more would wait inside the node. */
const CONNECTIONS_MAX = 128;
/** Below the node's 30 s: no request meets a closing connection. */
const KEEP_ALIVE_MS = 20_000;
const CONNECT_TIMEOUT_MS = 5000;
/** For small requests; transfers set their own. */
const REQUEST_TIMEOUT_MS = 30_000;
/** Answered once its two transactions are mined, or after two minutes for each. */
export const CHAIN_TIMEOUT_MS = 300_000;
/** Bytes of an error; larger ones are not a node's. */
const ERROR_BODY_MAX = 16_384;
/** 64 MiB are a million references. Metrics have a few hundred KiB. */
const TEXT_MAX = 64 * 2 ** 20;
/** `pieces` is for longer content. */
const CONTENT_MAX = 2 ** 30;
/** The status says all. */
const IGNORED_MAX = 2 ** 20;

/** What can be sent: bytes, text, or a stream that is read only as fast as the node takes it. */
export type Body = Uint8Array | string | Readable | AsyncIterable<Uint8Array>;

export interface RequestOptions {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Body;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** An answer whose status is no error. Its body can be read once. */
export interface HttpResponse {
  /** HTTP status. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** @param max longest body, bytes; default: a gibibyte */
  bytes(max?: number): Promise<Uint8Array>;
  /** At most 64 MiB. */
  text(): Promise<string>;
  json(): Promise<unknown>;
  /** Its first bytes; ends the transfer of a longer one. */
  beginning(max: number): Promise<Uint8Array>;
  /** Piece by piece; leaving the loop early ends the transfer. */
  pieces(): AsyncIterable<Uint8Array>;
}

/** @returns hears what becomes of the request */
export type ExchangeObserver = (node: string, request: RequestOptions) => ExchangeOutcome;

export interface ExchangeOutcome {
  answered(status: number, headers: Readonly<Record<string, string>>): void;
  /** The part of the body that was read, in pieces. */
  read(content: Uint8Array | string): void;
  /** @param kind class of the error */
  failed(kind: string): void;
}

export interface HttpClientOptions extends TokenSource, Whose {
  readonly node: string;
  readonly base: string;
  readonly clock: Clock;
}

export class HttpClient implements AsyncDisposable {
  /** Such as `http://127.0.0.1:1633`. */
  readonly base: string;
  readonly node: string;
  /** For WebSockets. */
  readonly agent: Agent;
  readonly clock: Clock;
  readonly #pool: Dispatcher;
  readonly #authorization: Authorization;
  #observer: ExchangeObserver | undefined;

  constructor(options: HttpClientOptions) {
    this.base = options.base;
    this.node = options.node;
    this.clock = options.clock;
    this.#authorization = new Authorization(options);
    this.agent = socketAgent(options.base, options);
    this.#pool = connectionsTo(options.base, options, {
      connections: CONNECTIONS_MAX,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connect: { timeout: CONNECT_TIMEOUT_MS },
      // The deadline covers a whole request; nothing else may end a slow transfer.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** @param observer undefined: none */
  observe(observer: ExchangeObserver | undefined): void {
    this.#observer = observer;
  }

  /** Headers of every request that let it in. */
  authorization(): Readonly<Record<string, string>> {
    return this.#authorization.headers();
  }

  /** @throws ClientError for statuses from 400 on, and the transport's failures */
  async request(options: RequestOptions): Promise<HttpResponse> {
    const answer = await this.attempt(options);
    if (answer.status < 400) return answer;
    const { message, reasons } = errorBody(Buffer.from(await answer.beginning(ERROR_BODY_MAX)).toString());
    throw new ClientError(message, {
      ...this.#about(options),
      class: classOfAnswer(answer.status, message),
      status: answer.status,
      reasons,
    });
  }

  /** Unchecked JSON. @throws ClientError */
  async json<T>(options: RequestOptions): Promise<T> {
    return (await (await this.request(options)).json()) as T;
  }

  /** A request that has only a path. */
  get<T>(path: string, signal: AbortSignal | undefined): Promise<T> {
    return this.json({ method: 'GET', path, signal });
  }

  /** Every status is an answer. */
  async attempt(options: RequestOptions): Promise<HttpResponse> {
    const timeoutMs = options.timeoutMs ?? REQUEST_TIMEOUT_MS;
    expectTimeout('timeoutMs', timeoutMs);
    const outcome = this.#observer?.(this.node, options);
    const headers = { ...this.authorization(), ...options.headers };
    // In the background: an unread body must not keep the process alive.
    const deadline = this.clock.deadline(timeoutMs, options.signal, true);
    try {
      const response = await this.#pool.request({
        origin: this.base,
        method: options.method,
        path: options.path,
        headers,
        // By default undici closes the connection after every HEAD; presence is queried thousands of times.
        reset: false,
        signal: deadline.signal,
        ...(options.body === undefined ? {} : { body: poolBody(options.body) }),
      });
      response.body.once('close', () => deadline[Symbol.dispose]());
      return this.#answer(response, options, outcome);
    } catch (error) {
      deadline[Symbol.dispose]();
      throw this.#failure(error, options, { outcome, bodyBegun: false });
    }
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #answer(
    response: Dispatcher.ResponseData,
    options: RequestOptions,
    outcome: ExchangeOutcome | undefined,
  ): HttpResponse {
    const whole = async <T extends Uint8Array | string>(read: () => Promise<T>): Promise<T> => {
      try {
        const content = await read();
        outcome?.read(content);
        return content;
      } catch (error) {
        throw this.#failure(error, options, { outcome, bodyBegun: true });
      }
    };
    const text = () => whole(() => readLimitedText(response.body, TEXT_MAX));
    const headers = Object.fromEntries(
      Object.entries(response.headers).map(([name, value]) => [
        name,
        Array.isArray(value) ? (value[0] ?? '') : (value ?? ''),
      ]),
    );
    outcome?.answered(response.statusCode, headers);
    return {
      status: response.statusCode,
      headers,
      bytes: (max = CONTENT_MAX) => whole(() => readLimited(response.body, max)),
      text,
      json: async () => {
        const content = await text();
        try {
          return parseJson(content);
        } catch (error) {
          throw this.#failure(error, options, { outcome, bodyBegun: true });
        }
      },
      beginning: (max) => whole(() => readBeginning(response.body, max)),
      pieces: () => this.#pieces(response.body, options, outcome),
    };
  }

  async *#pieces(
    body: Readable,
    options: RequestOptions,
    outcome: ExchangeOutcome | undefined,
  ): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of body) {
        outcome?.read(piece as Uint8Array);
        yield piece as Uint8Array;
      }
    } catch (error) {
      throw this.#failure(error, options, { outcome, bodyBegun: true });
    }
  }

  #failure(
    error: unknown,
    options: RequestOptions,
    { outcome, bodyBegun }: { readonly outcome: ExchangeOutcome | undefined; readonly bodyBegun: boolean },
  ): ClientError {
    const kind = classOfFailure(error, bodyBegun);
    outcome?.failed(kind);
    return new ClientError(kind === 'client.timeout' ? 'no answer in time' : reasonOf(error), {
      ...this.#about(options),
      class: kind,
      cause: error,
    });
  }

  #about({ method, path }: RequestOptions): { node: string; method: string; path: string } {
    return { node: this.node, method, path };
  }
}

/** A transaction of the node. @param field of the hash in the answer @returns the hash */
export async function sent(
  http: HttpClient,
  request: RequestOptions,
  field: 'transactionHash' | 'txHash' = 'transactionHash',
): Promise<string> {
  const answer = await http.json<Partial<Record<typeof field, string>>>({
    timeoutMs: CHAIN_TIMEOUT_MS,
    ...request,
  });
  return answer[field] as string;
}

/** The status says all; the body is read because a connection with an unread one is not reused. */
export async function settled(answer: Promise<HttpResponse>): Promise<HttpResponse> {
  const received = await answer;
  await received.bytes(IGNORED_MAX);
  return received;
}

/** @throws HarnessError `ARGUMENT_INVALID` */
export function expectBody(where: string, value: unknown): void {
  const isData = typeof value === 'string' || value instanceof Uint8Array || value instanceof Readable;
  const isIterable = typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
  if (isData || isIterable) return;
  const expected = 'a Uint8Array, a string, a Readable or an async iterable of Uint8Arrays';
  throw argumentError(where, value, expected);
}

function poolBody(body: Body): Uint8Array | string | Readable {
  return typeof body === 'string' || body instanceof Uint8Array || body instanceof Readable
    ? body
    : Readable.from(body, { objectMode: false });
}

/** `{"code", "message", "reasons"}`, a reason being a text or `{field, error}`; anything else is shown as it is. */
export function errorBody(text: string): { message: string; reasons: string[] } {
  const shown = text.slice(0, ERROR_BODY_MAX).trim();
  let parsed: unknown;
  try {
    parsed = JSON.parse(shown);
  } catch (error) {
    // Another server's text says more than our parser's complaint.
    return {
      message: shown === '' ? 'no body' : shown.slice(0, 200),
      reasons: error instanceof SyntaxError ? [] : [String(error)],
    };
  }
  const { message, reasons } = (parsed ?? {}) as { message?: unknown; reasons?: unknown };
  return {
    message: typeof message === 'string' ? message : shown.slice(0, 200),
    reasons: Array.isArray(reasons) ? reasons.map(reasonText) : [],
  };
}

const CLOSED = new Set(['UND_ERR_DESTROYED', 'UND_ERR_CLOSED']);

function reasonOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && CLOSED.has(String(error.code)))
    return 'this client is closed: its cluster has been stopped or detached';
  return error instanceof Error && error.message !== '' ? error.message : String(error);
}

function reasonText(reason: unknown): string {
  if (typeof reason === 'string') return reason;
  const { field, error } = (reason ?? {}) as { field?: unknown; error?: unknown };
  return `${String(field)}: ${String(error)}`;
}
