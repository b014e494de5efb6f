/**
 * What a route declares. From this one row come routing, reading and validating of parameters, the types its handler
 * sees, the gates in front of it, the OpenAPI document and the checks against the carried-over route list.
 */

import type { Expressions } from '../../env/expression.ts';
import type { SharedRoom } from '../../env/turns/shared-room.ts';
import type { TurnAllowance } from '../../env/turns/turn-allowance.ts';
import type { Reads } from '../content/reads.ts';
import type { Dialect, HeaderKey } from '../dialect.ts';
import type { ApiErrorCode, ErrorWording } from '../errors.ts';
import type { Answer } from '../exchange/answer.ts';
import type { RequestBody } from '../exchange/request-body.ts';
import type { GateName, Gates } from '../gates.ts';
import type { ApiMetrics } from '../metrics.ts';
import type { NodeServices } from '../services.ts';
import type { Gas } from '../values/gas.ts';
import type { HeaderTable, ParamTable, ValuesOf } from '../values/params.ts';
import type { SchemaName } from './schemas.ts';

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Port = 'main' | 'debug';
/** What an operation does besides answering: it changes something, pays others for work, or subscribes to news. */
type Effect = 'changes' | 'costs' | 'subscribes';

/** The request line and its headers, as sent. */
export interface RequestView {
  readonly method: string;
  /** Undecoded path and query. */
  readonly target: string;
  /** First value of a header by its key; undefined when it was not sent. */
  header(key: HeaderKey): string | undefined;
}

/** What is known of a call before any parameter is read. */
export interface EarlyCall {
  readonly dialect: Dialect;
  readonly request: RequestView;
  /** Whether the request says that it has a body. */
  readonly hasBody: boolean;
}

/** One call of a handler. */
export interface Call<P extends ParamTable, Q extends ParamTable, H extends HeaderTable> {
  readonly services: NodeServices;
  readonly dialect: Dialect;
  readonly params: ValuesOf<P>;
  readonly query: ValuesOf<Q>;
  readonly headers: ValuesOf<H>;
  /** On routes behind the gate `gas`. */
  readonly gas: Gas;
  /** Takes a slot of an operation whose slot is not a gate. @throws ApiError when none is free */
  readonly takeSlot: Gates['takeSlot'];
  readonly body: RequestBody;
  readonly request: RequestView;
  /** Aborts when the client is gone or the server stops. */
  readonly signal: AbortSignal;
  readonly port: Port;
  /** Of this listener, for the document that describes them. */
  readonly routes: readonly Route[];
  readonly metrics: ApiMetrics;
  /** For content that is downloaded. */
  readonly reads: Reads;
  /** For expressions that the client gives. */
  readonly expressions: Expressions;
  /** Limits how many files and manifest nodes uploads store in one turn of the event loop. */
  readonly uploadTurns: TurnAllowance;
  /** Limits how many bytes of bodies uploads store in one turn of the event loop. */
  readonly bodyTurns: TurnAllowance;
  /** Memory for manifests of collections that are being uploaded, bytes. */
  readonly manifestRoom: SharedRoom;
}

/** A header of an answer: one that the dialect names, or one of HTTP. */
export type AnswerHeader =
  | HeaderKey
  | 'accept-ranges'
  | 'access-control-expose-headers'
  | 'cache-control'
  | 'content-disposition'
  | 'content-length'
  | 'content-range'
  | 'content-type'
  | 'etag'
  | 'last-modified'
  | 'location'
  | 'vary';

/** Status → what it says, and its body; absent: none. */
export type OtherAnswers = Readonly<
  Record<number, { readonly says: string; readonly response?: SchemaName | 'text' }>
>;

interface RouteSpec<P extends ParamTable, Q extends ParamTable, H extends HeaderTable> {
  readonly method: Method;
  /** `{name}` is one segment; `{path}`, `{prefix}` and `{multiAddress}` take the rest. */
  readonly path: string;
  readonly port: Port | 'both';
  readonly summary: string;
  /** Effect of a GET; every other method changes something. */
  readonly effect?: Effect;
  /** For monitoring: answered under every host name, and without a token. */
  readonly forProbes?: true;
  /** Its content has its own origin, shared with no operation: it needs no sandbox. */
  readonly ownOrigin?: true;
  /** Gates of the path; every row of one path has the same. */
  readonly gates: readonly GateName[];
  readonly params?: P;
  readonly query?: Q;
  readonly headers?: H;
  /** Headers are read before path and query. */
  readonly headersFirst?: true;
  readonly body?: {
    readonly content: 'octets' | 'json' | 'files';
    readonly schema?: SchemaName;
    /** A request without one is refused. */
    readonly required?: true;
  };
  /** Longest body in bytes, compared with `Content-Length` before the handler and with what is read. */
  readonly bodyLimit?: number;
  /** Statuses of success. */
  readonly success: readonly number[];
  /** Those of them that a dialect answers; absent: all. */
  readonly successIn?: (dialect: Dialect) => readonly number[];
  /** Shape of the first success; absent: no body. */
  readonly response?: SchemaName | 'octets' | 'text';
  /** Media type of its octets; default: application/octet-stream. */
  readonly mediaType?: string | ((dialect: Dialect) => string);
  /** Headers that a success may have, besides those of every answer. */
  readonly answerHeaders?: readonly AnswerHeader[];
  /** Answer to a failure without a code of its own. */
  readonly failure?: ApiErrorCode;
  /** Answers of 500 or more that a request alone can cause, on a healthy node. */
  readonly serverErrors?: readonly ApiErrorCode[];
  /** The handler's errors, besides those of gates, parameters and body. */
  readonly refusals?: readonly ApiErrorCode[];
  /** Answers that are neither a success nor an error of the table: status → what it says, and its shape. */
  readonly others?: OtherAnswers;
  /** This operation's words for domain errors. */
  readonly errors?: ErrorWording;
  /** An answer given before any parameter is read; it may also refuse with an ApiError. */
  early?(call: EarlyCall): Answer | undefined;
  handle(call: Call<P, Q, H>): Answer | Promise<Answer>;
}

/** A row whose parameter types are known only to its handler. */
export type Route = RouteSpec<ParamTable, ParamTable, HeaderTable>;

/** A route without parameters of a kind. */
type NoParams = Readonly<Record<string, never>>;

/** Gives a row the types of its own parameters. */
export function route<
  P extends ParamTable = NoParams,
  Q extends ParamTable = NoParams,
  H extends HeaderTable = NoParams,
>(row: RouteSpec<P, Q, H>): Route {
  return row;
}

/** The row of its path that answers the same without a body. */
export function headOf({ mediaType: _mediaType, ...get }: Route, summary: string): Route {
  return { ...get, method: 'HEAD', summary };
}

/** @returns undefined: it only reads */
export function effectOf({ method, effect }: Route): Effect | undefined {
  return effect ?? (method === 'GET' || method === 'HEAD' ? undefined : 'changes');
}

/** The main listener's rows when other operations are only on the debug one. */
export function dataRoutes(rows: readonly Route[]): Route[] {
  return rows.filter(({ port, forProbes }) => port === 'main' || forProbes === true);
}

/** Of operations that continue as a WebSocket. */
export const SOCKET_REFUSALS = ['UPGRADE_FAILED'] as const;

/** Answer of an operation without a result. */
export const ACKNOWLEDGEMENT: Answer = { status: 200, json: { code: 200, message: 'OK' } };

/** The same for one that has created something. */
export const CREATED: Answer = { status: 201, json: { code: 201, message: 'Created' } };
