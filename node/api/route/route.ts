/** What a route declares: the source of routing, parameters, handler types, gates and the OpenAPI document. */

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
/** Changes something, pays others, or subscribes to news. */
type Effect = 'changes' | 'costs' | 'subscribes';

export interface RequestView {
  readonly method: string;
  /** Path and query, undecoded. */
  readonly target: string;
  /** First value; undefined when not sent. */
  header(key: HeaderKey): string | undefined;
}

export interface EarlyCall {
  readonly dialect: Dialect;
  readonly request: RequestView;
  readonly hasBody: boolean;
}

export interface Call<P extends ParamTable, Q extends ParamTable, H extends HeaderTable> {
  readonly services: NodeServices;
  readonly dialect: Dialect;
  readonly params: ValuesOf<P>;
  readonly query: ValuesOf<Q>;
  readonly headers: ValuesOf<H>;
  /** Behind the gate `gas`. */
  readonly gas: Gas;
  /** For a slot that is no gate. @throws ApiError when none is free */
  readonly takeSlot: Gates['takeSlot'];
  readonly body: RequestBody;
  readonly request: RequestView;
  /** The client is gone or the server stops. */
  readonly signal: AbortSignal;
  readonly port: Port;
  readonly routes: readonly Route[];
  readonly metrics: ApiMetrics;
  readonly reads: Reads;
  readonly expressions: Expressions;
  /** Files and manifest nodes that uploads store in one turn. */
  readonly uploadTurns: TurnAllowance;
  /** Bytes of bodies that uploads store in one turn. */
  readonly bodyTurns: TurnAllowance;
  readonly manifestRoom: SharedRoom;
}

/** A header of the dialect or of HTTP. */
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

/** Absent `response`: no body. */
export type OtherAnswers = Readonly<
  Record<number, { readonly says: string; readonly response?: SchemaName | 'text' }>
>;

interface RouteSpec<P extends ParamTable, Q extends ParamTable, H extends HeaderTable> {
  readonly method: Method;
  /** `{name}` is one segment; `{path}`, `{prefix}` and `{multiAddress}` take the rest. */
  readonly path: string;
  readonly port: Port | 'both';
  readonly summary: string;
  /** What a GET does besides; other methods change something. */
  readonly effect?: Effect;
  /** Answered under every host name, without a token. */
  readonly forProbes?: true;
  /** No operation shares the content's origin: it needs no sandbox. */
  readonly ownOrigin?: true;
  /** The same in every row of a path. */
  readonly gates: readonly GateName[];
  readonly params?: P;
  readonly query?: Q;
  readonly headers?: H;
  /** Headers are read before path and query. */
  readonly headersFirst?: true;
  readonly body?: {
    readonly content: 'octets' | 'json' | 'files';
    readonly schema?: SchemaName;
    readonly required?: true;
  };
  /** Bytes, of `Content-Length` and of what is read. */
  readonly bodyLimit?: number;
  readonly success: readonly number[];
  readonly successIn?: (dialect: Dialect) => readonly number[];
  /** Body of the first success; absent: none. */
  readonly response?: SchemaName | 'octets' | 'text';
  /** Default: application/octet-stream. */
  readonly mediaType?: string | ((dialect: Dialect) => string);
  /** Headers besides those of every answer. */
  readonly answerHeaders?: readonly AnswerHeader[];
  /** Answer to a failure without a code of its own. */
  readonly failure?: ApiErrorCode;
  /** 500 or more that a request alone can cause. */
  readonly serverErrors?: readonly ApiErrorCode[];
  /** Errors besides those of gates, parameters and body. */
  readonly refusals?: readonly ApiErrorCode[];
  /** Answers that are neither success nor error of the table. */
  readonly others?: OtherAnswers;
  readonly errors?: ErrorWording;
  /** Before any parameter is read; may refuse with an ApiError. */
  early?(call: EarlyCall): Answer | undefined;
  handle(call: Call<P, Q, H>): Answer | Promise<Answer>;
}

/** Its handler knows the parameter types. */
export type Route = RouteSpec<ParamTable, ParamTable, HeaderTable>;

type NoParams = Readonly<Record<string, never>>;

/** Infers the row's parameter types. */
export function route<
  P extends ParamTable = NoParams,
  Q extends ParamTable = NoParams,
  H extends HeaderTable = NoParams,
>(row: RouteSpec<P, Q, H>): Route {
  return row;
}

export function headOf({ mediaType: _mediaType, ...get }: Route, summary: string): Route {
  return { ...get, method: 'HEAD', summary };
}

/** @returns undefined: only reads */
export function effectOf({ method, effect }: Route): Effect | undefined {
  return effect ?? (method === 'GET' || method === 'HEAD' ? undefined : 'changes');
}

/** The main listener's rows when others are only on the debug one. */
export function dataRoutes(rows: readonly Route[]): Route[] {
  return rows.filter(({ port, forProbes }) => port === 'main' || forProbes === true);
}

export const SOCKET_REFUSALS = ['UPGRADE_FAILED'] as const;

export const ACKNOWLEDGEMENT: Answer = { status: 200, json: { code: 200, message: 'OK' } };

export const CREATED: Answer = { status: 201, json: { code: 201, message: 'Created' } };
