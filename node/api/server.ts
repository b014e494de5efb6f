/**
 * The HTTP server of a node: two listeners built from one route table. Fastify routes and writes; everything that the
 * API promises about paths, methods, headers and bodies is done here and in `dispatch.ts`, because the promises are
 * those of another HTTP library (`http-api-completion.md` 3).
 */
import { type IncomingMessage, METHODS } from 'node:http';
import type { Socket } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type Cors, createCors } from './cors.ts';
import { type DialectName, dialectOf } from './dialect.ts';
import {
  type DispatchDeps,
  dispatch,
  errorAnswer,
  methodAnswer,
  type PathRoutes,
  REST_VARIABLES,
  routerName,
  send,
} from './dispatch.ts';
import { ApiError, standardText } from './errors.ts';
import { createGates } from './gates.ts';
import { JSON_CONTENT_TYPE } from './json.ts';
import { API_METRICS } from './metrics.ts';
import { type Target, targetOf } from './paths.ts';
import type { Port, Route } from './route.ts';
import { ROUTES } from './routes/table.ts';
import type { NodeServices } from './services.ts';

/** Time in which the headers of a request must have arrived. */
const HEADERS_TIMEOUT_MS = 3000;
/** Idle time after which a kept connection is closed. */
const KEEP_ALIVE_MS = 30_000;
/** How often Node.js looks for connections past the limits above. */
const CONNECTIONS_CHECK_MS = 1000;
/** Running requests get this long to end after their signal was aborted, then their connections are cut. */
const STOP_GRACE_MS = 2000;
/** Longest path variable; Node.js refuses longer heads than this anyway. */
const PARAM_LENGTH_MAX = 16_384;

export interface ApiOptions {
  /** `host:port`; port 0 takes a free one. */
  readonly address: string;
  /** Absent: no debug listener. */
  readonly debugAddress?: string;
  readonly dialect: DialectName;
  readonly corsAllowedOrigins: readonly string[];
}

export interface Api {
  /** Listens. The technical routes answer from here on, the others when the node is ready. @throws ApiStartError */
  start(): Promise<void>;
  /** Ends running requests and closes both listeners. */
  stop(): Promise<void>;
  /** Where the listeners are reachable, as `host:port`; known after `start`. */
  readonly addresses: { readonly main: string | undefined; readonly debug: string | undefined };
}

export class ApiStartError extends Error {
  readonly code = 'LISTEN_FAILED';
  readonly address: string;

  constructor(address: string, cause: NodeJS.ErrnoException) {
    const why = cause.code === 'EADDRINUSE' ? 'address already in use' : cause.message;
    super(`cannot listen on ${address}: ${why}`, { cause });
    this.name = 'ApiStartError';
    this.address = address;
  }
}

export function createApi(options: ApiOptions, services: NodeServices): Api {
  const listeners = createListeners(options, services);
  const addresses: { main: string | undefined; debug: string | undefined } = {
    main: undefined,
    debug: undefined,
  };

  return {
    addresses,
    async start() {
      addresses.main = await listen(listeners.main, options.address);
      if (listeners.debug === undefined || options.debugAddress === undefined) return;
      addresses.debug = await listen(listeners.debug, options.debugAddress);
    },
    async stop() {
      listeners.abort();
      const open = [listeners.main, ...(listeners.debug === undefined ? [] : [listeners.debug])];
      await Promise.all(open.map((listener) => close(listener, services)));
    },
  };
}

/** The listeners, not listening yet; the debug one when it has an address. Tests inject requests into them. */
export function createListeners(
  options: Omit<ApiOptions, 'address'>,
  services: NodeServices,
): { readonly main: FastifyInstance; readonly debug: FastifyInstance | undefined; abort(): void } {
  const dialect = dialectOf(options.dialect);
  const stopping = new AbortController();
  const shared = {
    services,
    dialect,
    gates: createGates(services, dialect),
    stopping: stopping.signal,
    routes: ROUTES,
    cors: createCors(options.corsAllowedOrigins, dialect),
    metrics: services.metrics.register(API_METRICS),
  };
  return {
    main: createListener({ ...shared, port: 'main' }),
    debug: options.debugAddress === undefined ? undefined : createListener({ ...shared, port: 'debug' }),
    abort: () => stopping.abort(new ServerStoppingError()),
  };
}

type ListenerDeps = DispatchDeps & { readonly cors: Cors };

function createListener(deps: ListenerDeps): FastifyInstance {
  const targets = new WeakMap<IncomingMessage, Target>();
  const server = fastify({
    http: { headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: CONNECTIONS_CHECK_MS },
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: 0,
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    // Parameters are read by `params.ts` and bodies written by `json.ts`: the default compilers, which take longer to
    // load than everything else of the server together, stay out.
    schemaController: { compilersFactory: { buildValidator: unused, buildSerializer: unused } },
    routerOptions: {
      maxParamLength: PARAM_LENGTH_MAX,
      querystringParser: (query) => new URLSearchParams(query) as never,
    },
    clientErrorHandler: refuseMalformed,
    rewriteUrl(raw) {
      const target = targetOf(raw.url ?? '/');
      targets.set(raw, target);
      return target.kind === 'route' ? target.url : '/';
    },
  });
  // No method has a body as far as fastify is concerned: handlers pull it from the socket themselves.
  for (const method of METHODS) server.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  const paths = pathsOf(deps.routes, deps.port);
  server.addHook('onRequest', (request, reply, done) => {
    deps.metrics.requestCount.inc();
    prepare(request, reply, targets.get(request.raw), deps);
    if (!reply.sent) done();
  });
  server.addHook('onResponse', (request, reply, done) => {
    record(request, reply, deps);
    done();
  });
  server.setErrorHandler((error, _request, reply) => send(errorAnswer(error, deps, reply), reply));
  server.setNotFoundHandler((request, reply) => {
    const isRouted = ROUTED_METHODS.includes(request.method);
    const known = isRouted ? undefined : paths.find(({ path }) => patternOf(path).test(request.url));
    if (known !== undefined) return send(methodAnswer(known, request, reply), reply);
    return send(errorAnswer(new ApiError('NOT_FOUND'), deps, reply), reply);
  });
  for (const routes of paths) {
    server.route({
      method: ROUTED_METHODS,
      url: routerPath(routes),
      handler: (request, reply) => dispatch(routes, request, reply, deps),
    });
  }
  return server;
}

/** Methods that are routed; the rarer ones get their answer, always 405, without a route for each. */
const ROUTED_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

function unused(): never {
  throw new TypeError('no route has a schema for fastify');
}

function patternOf(path: string): RegExp {
  const source = path
    .replace(/[.]/g, String.raw`\.`)
    .replace(/\{([^}]+)\}/g, (_all, name: string) => (REST_VARIABLES.has(name) ? '.+' : '[^/]+'));
  return new RegExp(`^${source}(\\?|$)`);
}

/** What every answer carries, and the two answers that need no route. */
function prepare(
  request: FastifyRequest,
  reply: FastifyReply,
  target: Target | undefined,
  deps: ListenerDeps,
): void {
  reply.headers(deps.cors.headersFor(request.headers.origin, request.headers.host) ?? {});
  if (deps.port === 'debug' || deps.services.readiness.state() !== 'ready') reply.headers(NO_STORE);
  if (target?.kind === 'redirect') void reply.code(301).header('location', target.location).send();
  if (target?.kind === 'malformed') void send(errorAnswer(new ApiError('MALFORMED_URL'), deps, reply), reply);
}

const NO_STORE = {
  'cache-control': 'no-cache, no-store, must-revalidate',
  pragma: 'no-cache',
  expires: '0',
} as const;

function record(request: FastifyRequest, reply: FastifyReply, deps: ListenerDeps): void {
  const durationMs = reply.elapsedTime;
  deps.metrics.responseCodeCount.inc({ code: String(reply.statusCode), method: request.method });
  deps.metrics.responseDuration.observe(durationMs / 1000);
  if (!deps.services.log.isLevelEnabled('debug')) return;
  const { method } = request;
  const route = request.routeOptions.url ?? '';
  deps.services.log.debug(
    { method, route, status: reply.statusCode, durationMs, port: deps.port },
    'request answered',
  );
}

/** Rows of one listener, grouped by path. */
export function pathsOf(rows: readonly Route[], port: Port): PathRoutes[] {
  const groups = new Map<string, Map<string, Route>>();
  for (const row of rows) {
    if (row.port !== 'both' && row.port !== port) continue;
    const group = groups.get(row.path) ?? new Map<string, Route>();
    group.set(row.method, row);
    groups.set(row.path, group);
  }
  return [...groups].map(([path, byMethod]) => ({
    path,
    variables: [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1] ?? ''),
    byMethod,
  }));
}

/** `/stamps/{amount}/{depth}` → `/stamps/:p0/:p1`; the variables that take the rest of the path become `*`. */
function routerPath({ path, variables }: PathRoutes): string {
  return path.replace(/\{([^}]+)\}/g, (_all, name: string) =>
    REST_VARIABLES.has(name) ? '*' : `:${routerName(variables.indexOf(name))}`,
  );
}

/** Answers bytes that are no HTTP request; there is no request object to answer through. */
function refuseMalformed(this: FastifyInstance, error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = MALFORMED_STATUS.get(error.code ?? '') ?? 400;
  const message = standardText(status);
  const body = JSON.stringify({ code: status, message });
  const head = [
    `HTTP/1.1 ${status} ${message}`,
    'Connection: close',
    `Content-Type: ${JSON_CONTENT_TYPE}`,
    `Content-Length: ${body.length}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

const MALFORMED_STATUS: ReadonlyMap<string, number> = new Map([
  ['HPE_HEADER_OVERFLOW', 431],
  ['ERR_HTTP_REQUEST_TIMEOUT', 408],
]);

async function listen(server: FastifyInstance, address: string): Promise<string> {
  const { host, port } = splitAddress(address);
  try {
    await server.listen({ host, port });
  } catch (error) {
    throw new ApiStartError(address, error as NodeJS.ErrnoException);
  }
  const bound = server.server.address();
  if (bound === null || typeof bound === 'string') throw new TypeError(`${address} is no TCP address`);
  return bound.family === 'IPv6' ? `[${bound.address}]:${bound.port}` : `${bound.address}:${bound.port}`;
}

/** An empty host means all interfaces. */
function splitAddress(address: string): { host: string; port: number } {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, colon).replace(/^\[|\]$/g, '');
  return { host: host === '' ? '::' : host, port: Number(address.slice(colon + 1)) };
}

async function close(server: FastifyInstance, { clock }: NodeServices): Promise<void> {
  using grace = clock.deadline(STOP_GRACE_MS);
  grace.signal.addEventListener('abort', () => server.server.closeAllConnections(), { once: true });
  await server.close();
}

/** Reason of every request's signal when the server stops. */
class ServerStoppingError extends Error {
  readonly code = 'SERVER_STOPPING';

  constructor() {
    super('the node is stopping');
    this.name = 'ServerStoppingError';
  }
}
