/**
 * A failed request has one class of the error taxonomy (scenarios.md 8.4). Codes tell the transport's failures apart; one
 * table has telling statuses; the rest is `http.<status>`.
 */
import { inLine } from '../base/foreign-text.ts';

/** What kind of failure it was: the transport's, an answer that names its cause, or just its status. */
export type ClientErrorClass =
  | 'client.timeout'
  | 'client.connect'
  | 'client.reset'
  | 'client.short_body'
  | 'client.long_body'
  | 'client.aborted'
  | 'stamp.full'
  | 'stamp.unknown'
  | 'stamp.not_usable'
  | 'retr.not_found'
  | `http.${number}`;

/** What a `ClientError` is made of. */
export interface ClientErrorFields {
  readonly class: ClientErrorClass;
  readonly node: string;
  readonly method: string;
  readonly path: string;
  /** HTTP status; undefined when no answer arrived. */
  readonly status?: number | undefined;
  /** `field: error` lines of the answer. */
  readonly reasons?: readonly string[];
  readonly cause?: unknown;
}

/** A request that a node did not answer, or answered with an error. `class` says which kind of failure it was. */
export class ClientError extends Error {
  readonly code = 'CLIENT_ERROR';
  readonly class: ClientErrorClass;
  readonly node: string;
  /** HTTP status; undefined when there was no answer. */
  readonly status: number | undefined;
  readonly reasons: readonly string[];

  constructor(detail: string, fields: ClientErrorFields) {
    const reasons = fields.reasons ?? [];
    const why = reasons.length === 0 ? '' : ` (${reasons.join('; ')})`;
    const status = fields.status === undefined ? '' : `${fields.status} `;
    // A node may say anything, at any length.
    const said = inLine(`${status}${detail}${why}`);
    super(`${fields.node}: ${fields.method} ${shortPath(fields.path)}: ${said}`, {
      cause: fields.cause,
    });
    this.name = 'ClientError';
    this.class = fields.class;
    this.node = fields.node;
    this.status = fields.status;
    this.reasons = reasons;
  }
}

/** They name their cause: `http-api-completion.md` 5, groups BATCHERR and FULL, and the chunk look-up. */
const CLASS_OF_ANSWER: readonly (readonly [status: number, message: string, ClientErrorClass])[] = [
  [402, 'batch is overissued', 'stamp.full'],
  [404, 'batch with id not found', 'stamp.unknown'],
  [422, 'batch not usable yet or does not exist', 'stamp.not_usable'],
  [400, 'batch not usable', 'stamp.not_usable'],
  [404, 'chunk not found', 'retr.not_found'],
];

export function classOfAnswer(status: number, message: string): ClientErrorClass {
  const row = CLASS_OF_ANSWER.find(([code, text]) => code === status && text === message);
  return row?.[2] ?? `http.${status}`;
}

const CLASS_OF_CODE: Readonly<Record<string, ClientErrorClass>> = {
  ECONNREFUSED: 'client.connect',
  EHOSTUNREACH: 'client.connect',
  ENETUNREACH: 'client.connect',
  ENOTFOUND: 'client.connect',
  EAI_AGAIN: 'client.connect',
  EADDRNOTAVAIL: 'client.connect',
  UND_ERR_CONNECT_TIMEOUT: 'client.connect',
  ETIMEDOUT: 'client.timeout',
  UND_ERR_HEADERS_TIMEOUT: 'client.timeout',
  UND_ERR_BODY_TIMEOUT: 'client.timeout',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'client.short_body',
  ANSWER_TOO_LONG: 'client.long_body',
};

/** @param bodyBegun the answer's head had arrived: a connection lost then is a body cut short */
export function classOfFailure(error: unknown, bodyBegun: boolean): ClientErrorClass {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === 'TimeoutError') return 'client.timeout';
    if (cause.name === 'AbortError') return 'client.aborted';
    const known = CLASS_OF_CODE[(cause as NodeJS.ErrnoException).code ?? ''];
    if (known !== undefined) return known;
  }
  return bodyBegun ? 'client.short_body' : 'client.reset';
}

function shortPath(path: string): string {
  return path.replace(/[0-9a-f]{64,}/g, (hex) => `${hex.slice(0, 8)}…`);
}
