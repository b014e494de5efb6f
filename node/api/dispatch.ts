/**
 * The way of one request once its path is known: gates, method, size, parameters, handler, answer.
 * Order: `http-api-completion.md` 3.3.
 */
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Dialect, HeaderKey } from './dialect.ts';
import { ApiError, answerOf, errorBody, standardText, statusOf } from './errors.ts';
import type { Gates } from './gates.ts';
import { JSON_CONTENT_TYPE, writeJson } from './json.ts';
import type { ApiMetrics } from './metrics.ts';
import { type HeaderTable, type ParamTable, readParams } from './params.ts';
import { drain, refuseOversized, requestBody } from './request-body.ts';
import type { Answer, GasHeaders, Port, RequestView, Route } from './route.ts';
import { hasEmptyVariable, type PathRoutes, pathVariable } from './routing.ts';
import type { NodeServices } from './services.ts';
import { HANDSHAKE_HEADERS, type Upgrades } from './websocket.ts';

export interface DispatchDeps {
  readonly services: NodeServices;
  readonly dialect: Dialect;
  readonly gates: Gates;
  readonly port: Port;
  readonly metrics: ApiMetrics;
  /** The whole table. */
  readonly routes: readonly Route[];
  /** Aborts when the server stops. */
  readonly stopping: AbortSignal;
}

/** Answers a request to a known path, whatever its method. Never rejects. */
export async function dispatch(
  routes: PathRoutes,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: DispatchDeps & { readonly upgrades: Upgrades },
): Promise<FastifyReply> {
  const { signal, release } = requestSignal(reply, deps.stopping);
  let answer: Answer;
  try {
    answer = await operate(routes, request, reply, { ...deps, signal });
  } catch (error) {
    answer = errorAnswer(error, deps, reply);
  }
  if (answer.socket === undefined) return send(answer, reply, release);
  release();
  try {
    deps.upgrades.upgrade(request, reply, answer.socket);
    return reply;
  } catch (error) {
    return send({ ...errorAnswer(error, deps, reply), headers: HANDSHAKE_HEADERS }, reply);
  }
}

async function operate(
  routes: PathRoutes,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: DispatchDeps & { signal: AbortSignal },
): Promise<Answer> {
  if (hasEmptyVariable(routes, request)) throw new ApiError('NOT_FOUND');
  const readHeader = (name: string) => firstValue(request, name);
  const [anyRow] = routes.byMethod.values();
  using passage = deps.gates.pass(anyRow?.gates ?? [], readHeader);
  const row = routes.byMethod.get(request.method);
  if (row === undefined) return methodAnswer(routes, request, reply);
  refuseOversized(request.raw, row.bodyLimit);
  try {
    const view = requestView(request, deps.dialect, readHeader);
    const early = row.early?.({ dialect: deps.dialect, request: view });
    if (early !== undefined) return early;
    return await row.handle(callOf(row, routes, request, { ...deps, readHeader, view, gas: passage.gas }));
  } catch (error) {
    throw answerOf(error, row.failure ?? 'INTERNAL', row.errors);
  }
}

type CallDeps = DispatchDeps & {
  readonly signal: AbortSignal;
  readonly gas: GasHeaders;
  readonly readHeader: (name: string) => string | undefined;
  readonly view: RequestView;
};

function requestView(
  request: FastifyRequest,
  dialect: Dialect,
  readHeader: (name: string) => string | undefined,
): RequestView {
  const { method, originalUrl: target } = request;
  return { method, target, header: (key: HeaderKey) => readHeader(dialect.headers[key].active) };
}

function callOf(
  row: Route,
  routes: PathRoutes,
  request: FastifyRequest,
  deps: CallDeps,
): Parameters<Route['handle']>[0] {
  const { dialect, readHeader } = deps;
  const readPath = (name: string) => pathVariable(routes, request, name);
  const readQuery = (name: string) => (request.query as URLSearchParams).get(name) ?? undefined;
  const headersOf = () => readParams('header', row.headers ?? NO_HEADERS, readHeader, dialect);
  const early = row.headersFirst === true ? headersOf() : undefined;
  return {
    services: deps.services,
    dialect,
    params: readParams('path', row.params ?? NO_PARAMS, readPath, dialect),
    query: readParams('query', row.query ?? NO_PARAMS, readQuery, dialect),
    headers: early ?? headersOf(),
    gas: deps.gas,
    body: requestBody(request.raw, row.bodyLimit),
    request: deps.view,
    signal: deps.signal,
    port: deps.port,
    routes: deps.routes,
    metrics: deps.metrics,
  };
}

const NO_PARAMS: ParamTable = {};
const NO_HEADERS: HeaderTable = {};

/** A wrong method, or OPTIONS: the list of methods, for browsers in the header that they read. */
export function methodAnswer(routes: PathRoutes, request: FastifyRequest, reply: FastifyReply): Answer {
  const methods = [...routes.byMethod.keys()].sort().join(', ');
  const crossOrigin = reply.hasHeader('access-control-allow-origin');
  const headers = { [crossOrigin ? 'access-control-allow-methods' : 'allow']: methods };
  if (request.method === 'OPTIONS') return { status: 204, headers };
  const body = { message: standardText(405), code: 405 };
  return { status: 405, headers, json: body };
}

export function errorAnswer(
  error: unknown,
  deps: Pick<DispatchDeps, 'services' | 'dialect'>,
  reply: FastifyReply,
): Answer {
  const refused = answerOf(error, 'INTERNAL');
  const status = statusOf(refused);
  const route = reply.request.routeOptions.url;
  if (status >= 500 && refused.code !== 'NODE_STARTING' && refused.code !== 'NOT_IMPLEMENTED') {
    deps.services.log.debug({ err: refused.cause ?? refused, code: refused.code, route }, 'operation failed');
  }
  return { status, json: errorBody(refused, deps.dialect) };
}

export function send(
  answer: Answer,
  reply: FastifyReply,
  release: () => void = () => undefined,
): FastifyReply {
  drain(reply.request.raw);
  reply.code(answer.status);
  for (const [name, value] of Object.entries(answer.headers ?? {})) {
    reply.header(name, typeof value === 'string' ? value : [...value]);
  }
  if (answer.stream !== undefined && reply.request.method !== 'HEAD') {
    return reply.send(Readable.from(answer.stream).once('close', release));
  }
  release();
  if (answer.json !== undefined) return reply.type(JSON_CONTENT_TYPE).send(writeJson(answer.json));
  if (answer.text !== undefined) return reply.send(answer.text);
  return reply.send(
    answer.bytes === undefined
      ? undefined
      : Buffer.from(answer.bytes.buffer, answer.bytes.byteOffset, answer.bytes.byteLength),
  );
}

/** Aborts when the connection closes before the answer is complete, or when the server stops. */
function requestSignal(
  reply: FastifyReply,
  stopping: AbortSignal,
): { signal: AbortSignal; release: () => void } {
  const gone = new AbortController();
  const onClose = () => {
    if (!reply.raw.writableFinished) gone.abort(new ClientGoneError());
  };
  const onStop = () => gone.abort(stopping.reason);
  if (stopping.aborted) onStop();
  reply.raw.once('close', onClose);
  stopping.addEventListener('abort', onStop, { once: true });
  return {
    signal: gone.signal,
    release() {
      reply.raw.off('close', onClose);
      stopping.removeEventListener('abort', onStop);
    },
  };
}

/** Reason of a request's signal when its client has left. */
class ClientGoneError extends Error {
  readonly code = 'CLIENT_GONE';

  constructor() {
    super('the client closed the connection');
    this.name = 'ClientGoneError';
  }
}

/** Header lines of one name are joined by the HTTP parser; only the first one counts. */
function firstValue(request: FastifyRequest, name: string): string | undefined {
  const joined = request.headers[name];
  if (typeof joined !== 'string') return joined?.[0];
  if (!joined.includes(', ')) return joined;
  const lines = request.raw.rawHeaders;
  for (let i = 0; i + 1 < lines.length; i += 2) {
    if (lines[i]?.toLowerCase() === name) return lines[i + 1];
  }
  return joined;
}
