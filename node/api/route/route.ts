/**
 * A row from which come routing, parameters and their types, gates, the OpenAPI document and checks against the
 * carried-over route list.
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
/** Changes something, costs money, or subscribes to news. */
type Effect = 'changes' | 'costs' | 'subscribes';

/** The request line and its headers, as sent. */
export interface RequestView {
  readonly method: string;
  /** Undecoded path and query. */
  readonly target: string;
  /** A header's first value; undefined: not sent. */
  header(key: HeaderKey): string | undefined;
}

/** Known before any parameter is read. */
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
  /** For a slot that is no gate. @throws ApiError when none is free */
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
  /** Files and manifest nodes that uploads store per turn. */
  readonly uploadTurns: TurnAllowance;
  /** Bytes of bodies that uploads store per turn. */
  readonly bodyTurns: TurnAllowance;
  /** Bytes for manifests of collections under way. */
  readonly manifestRoom: SharedRoom;
}

/** Named by the dialect, or HTTP's. */
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

/** Status → text and body; absent: none. */
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
  /** For monitoring: any host name, no token. */
  readonly forProbes?: true;
  /** An origin without operations: needs no sandbox. */
  readonly ownOrigin?: true;
  /** The same for all rows of a path. */
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
  /** Bytes, checked against `Content-Length` and while reading. */
  readonly bodyLimit?: number;
  /** Statuses of success. */
  readonly success: readonly number[];
  /** Those of them that a dialect answers; absent: all. */
  readonly successIn?: (dialect: Dialect) => readonly number[];
  /** Shape of the first success; absent: no body. */
  readonly response?: SchemaName | 'octets' | 'text';
  /** Media type of its octets; default: application/octet-stream. */
  readonly mediaType?: string | ((dialect: Dialect) => string);
  /** Headers of a success, besides the common ones. */
  readonly answerHeaders?: readonly AnswerHeader[];
  /** For a failure without a code. */
  readonly failure?: ApiErrorCode;
  /** 500 or more, from a request alone, on a healthy node. */
  readonly serverErrors?: readonly ApiErrorCode[];
  /** The handler's errors, besides those of gates, parameters and body. */
  readonly refusals?: readonly ApiErrorCode[];
  /** Neither success nor error: status → text and shape. */
  readonly others?: OtherAnswers;
  /** This operation's words for domain errors. */
  readonly errors?: ErrorWording;
  /** Before parameters are read; may refuse with an ApiError. */
  early?(call: EarlyCall): Answer | undefined;
  handle(call: Call<P, Q, H>): Answer | Promise<Answer>;
}

/** Only the handler knows the parameter types. */
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

/** The same answer without a body. */
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
