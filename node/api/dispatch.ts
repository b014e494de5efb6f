/** A request to a known path: gates, method, size, parameters, handler, answer, as in `http-api-completion.md` 3.3. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Expressions } from '../env/expression.ts';
import type { Tracing } from '../env/tracing/tracing.ts';
import type { SharedRoom } from '../env/turns/shared-room.ts';
import type { TurnAllowance } from '../env/turns/turn-allowance.ts';
import type { Reads } from './content/reads.ts';
import type { Dialect, HeaderKey } from './dialect.ts';
import { answerOf, errorBody, HEADERS_OF, inDialect, standardText, statusOf } from './errors.ts';
import type { Answer } from './exchange/answer.ts';
import { type Exchange, send } from './exchange/exchange.ts';
import type { Patience } from './exchange/patience.ts';
import { type RequestBody, refuseEncoded, refuseOversized, requestBody } from './exchange/request-body.ts';
import { HANDSHAKE_HEADERS, type Upgrades } from './exchange/websocket.ts';
import type { Gates } from './gates.ts';
import type { ApiMetrics } from './metrics.ts';
import { mistakeOf } from './mistakes.ts';
import type { Port, RequestView, Route } from './route/route.ts';
import type { Match, PathRoutes } from './routing.ts';
import type { NodeServices } from './services.ts';
import type { Gas } from './values/gas.ts';
import { type HeaderTable, type ParamTable, readParams } from './values/params.ts';
import { queryValues } from './values/percent.ts';

export interface DispatchDeps {
  readonly services: NodeServices;
  readonly dialect: Dialect;
  readonly gates: Gates;
  readonly port: Port;
  readonly metrics: ApiMetrics;
  readonly reads: Reads;
  readonly expressions: Expressions;
  readonly uploadTurns: TurnAllowance;
  readonly bodyTurns: TurnAllowance;
  readonly manifestRoom: SharedRoom;
  readonly patience: Patience;
  /** The table without the rows of the other listener. */
  readonly routes: readonly Route[];
  readonly stopping: AbortSignal;
}

export interface KnownExchange extends Exchange, Match {
  readonly query: string;
}

export async function dispatch(
  exchange: KnownExchange,
  deps: DispatchDeps & { readonly upgrades: Upgrades },
): Promise<void> {
  const { signal, release } = requestSignal(exchange.response, deps.stopping);
  exchange.response.once('close', release);
  const failed = (error: unknown) => errorAnswer(error, deps, exchange);
  let answer: Answer;
  try {
    answer = bound(await operate(exchange, { ...deps, signal }), deps.services.tracing);
  } catch (error) {
    answer = failed(error);
  }
  if (answer.socket === undefined) return send(exchange, answer, failed);
  release();
  try {
    deps.upgrades.upgrade(exchange, answer.socket);
  } catch (error) {
    send(exchange, { ...failed(error), headers: HANDSHAKE_HEADERS }, failed);
  }
}

/** Its stream runs in the request's span. */
function bound(answer: Answer, tracing: Tracing | undefined): Answer {
  if (tracing === undefined || answer.stream === undefined) return answer;
  return { ...answer, stream: tracing.bind(answer.stream) };
}

async function operate(
  exchange: KnownExchange,
  deps: DispatchDeps & { signal: AbortSignal },
): Promise<Answer> {
  const { request, routes } = exchange;
  const readHeader = (name: string) => firstValue(request, name);
  const [anyRow] = routes.byMethod.values();
  using passage = deps.gates.pass(anyRow?.gates ?? [], readHeader);
  const row = routes.byMethod.get(exchange.method);
  if (row === undefined) return methodAnswer(routes, exchange);
  refuseOversized(request, row.bodyLimit);
  if (deps.dialect.strictRequests && row.body !== undefined) refuseEncoded(request);
  try {
    const view = requestView(request, deps.dialect, readHeader);
    const body = requestBody(request, row.bodyLimit, deps.patience);
    const early = row.early?.({ dialect: deps.dialect, request: view, hasBody: body.present });
    if (early !== undefined) return early;
    return await row.handle(callOf(row, exchange, { ...deps, readHeader, view, body, gas: passage.gas }));
  } catch (error) {
    throw answerOf(error, row.failure ?? 'INTERNAL', row.errors);
  }
}

type CallDeps = DispatchDeps & {
  readonly signal: AbortSignal;
  readonly gas: Gas;
  readonly readHeader: (name: string) => string | undefined;
  readonly view: RequestView;
  readonly body: RequestBody;
};

function requestView(
  { method = '', url: target = '' }: IncomingMessage,
  dialect: Dialect,
  readHeader: (name: string) => string | undefined,
): RequestView {
  return { method, target, header: (key: HeaderKey) => readHeader(dialect.headers[key].active) };
}

function callOf(
  row: Route,
  { params, query }: KnownExchange,
  deps: CallDeps,
): Parameters<Route['handle']>[0] {
  const { dialect, readHeader } = deps;
  const readPath = (name: string) => params.get(name) ?? '';
  const queried = queryValues(query);
  const readQuery = (name: string) => queried.get(name);
  const headersOf = () => readParams('header', row.headers ?? NO_HEADERS, readHeader, dialect);
  const early = row.headersFirst === true ? headersOf() : undefined;
  return {
    services: deps.services,
    dialect,
    params: readParams('path', row.params ?? NO_PARAMS, readPath, dialect),
    query: readParams('query', row.query ?? NO_PARAMS, readQuery, dialect),
    headers: early ?? headersOf(),
    gas: deps.gas,
    takeSlot: deps.gates.takeSlot,
    body: deps.body,
    request: deps.view,
    signal: deps.signal,
    port: deps.port,
    routes: deps.routes,
    metrics: deps.metrics,
    reads: deps.reads,
    expressions: deps.expressions,
    uploadTurns: deps.uploadTurns,
    bodyTurns: deps.bodyTurns,
    manifestRoom: deps.manifestRoom,
  };
}

const NO_PARAMS: ParamTable = {};
const NO_HEADERS: HeaderTable = {};

/** To a wrong method or OPTIONS, for browsers in the header that they read. */
function methodAnswer(routes: PathRoutes, { method, response }: Exchange): Answer {
  const methods = [...routes.byMethod.keys()].sort().join(', ');
  const crossOrigin = response.hasHeader('access-control-allow-origin');
  const headers = { [crossOrigin ? 'access-control-allow-methods' : 'allow']: methods };
  if (method === 'OPTIONS') return { status: 204, headers };
  const body = { message: standardText(405), code: 405 };
  return { status: 405, headers, json: body };
}

export function errorAnswer(
  error: unknown,
  deps: Pick<DispatchDeps, 'services' | 'dialect'>,
  { id, route }: Pick<Exchange, 'id' | 'route'>,
): Answer {
  const refused = inDialect(answerOf(error, 'INTERNAL'), deps.dialect);
  const refusal = mistakeOf(refused, deps.dialect) ?? { status: statusOf(refused), reasons: refused.reasons };
  const { status } = refusal;
  if (status >= 500 && refused.code !== 'NODE_STARTING') {
    deps.services.log.debug(
      { id, err: refused.cause ?? refused, code: refused.code, route },
      'operation failed',
    );
  }
  const headers = HEADERS_OF[refused.code];
  return {
    status,
    headers,
    json: errorBody(refused, deps.dialect, refusal),
  };
}

/** Aborts when the connection closes early, or the server stops. */
function requestSignal(
  response: ServerResponse,
  stopping: AbortSignal,
): { signal: AbortSignal; release: () => void } {
  const gone = new AbortController();
  const onClose = () => {
    if (!response.writableFinished) gone.abort(new ClientGoneError());
  };
  const onStop = () => gone.abort(stopping.reason);
  if (stopping.aborted) onStop();
  response.once('close', onClose);
  stopping.addEventListener('abort', onStop, { once: true });
  return {
    signal: gone.signal,
    release() {
      response.off('close', onClose);
      stopping.removeEventListener('abort', onStop);
    },
  };
}

/** Reason of a request's signal when its client has disconnected. */
class ClientGoneError extends Error {
  readonly code = 'CLIENT_GONE';

  constructor() {
    super('the client closed the connection');
    this.name = 'ClientGoneError';
  }
}

/** Node.js joins header lines of one name. */
function firstValue(request: IncomingMessage, name: string): string | undefined {
  const joined = request.headers[name];
  if (typeof joined !== 'string') return joined?.[0];
  if (!joined.includes(', ')) return joined;
  const lines = request.rawHeaders;
  for (let i = 0; i + 1 < lines.length; i += 2) {
    if (lines[i]?.toLowerCase() === name) return lines[i + 1];
  }
  return joined;
}
