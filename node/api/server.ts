/**
 * The HTTP server of a node: two listeners built from one route table. Fastify routes and writes; everything that the
 * API promises about paths, methods, headers and bodies is done here and in `dispatch.ts`, because the promises are
 * those of another HTTP library (`http-api-completion.md` 3).
 */
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { observeRequest } from './access.ts';
import { type Cors, createCors } from './cors.ts';
import { type DialectName, dialectOf } from './dialect.ts';
import { type DispatchDeps, dispatch, errorAnswer, methodAnswer, send } from './dispatch.ts';
import { ApiError } from './errors.ts';
import { createGates } from './gates.ts';
import { close, listen, refuseMalformed } from './listen.ts';
import { API_METRICS } from './metrics.ts';
import { type Target, targetOf } from './paths.ts';
import { ROUTES } from './routes/table.ts';
import { pathsOf, patternOf, routerPath } from './routing.ts';
import type { NodeServices } from './services.ts';
import { acceptUpgrades, wantsWebSocket } from './websocket.ts';

/** Time in which the headers of a request must have arrived. */
const HEADERS_TIMEOUT_MS = 3000;
/** Idle time after which a kept connection is closed. */
const KEEP_ALIVE_MS = 30_000;
/** How often Node.js looks for connections past the limits above. */
const CONNECTIONS_CHECK_MS = 1000;
/** Longest path variable; Node.js refuses longer heads than this anyway. */
const PARAM_LENGTH_MAX = 16_384;

interface ApiOptions {
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
      await Promise.all(open.map((listener) => close(listener, services.clock)));
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
  const targets = new WeakMap<FastifyRequest['raw'], Target>();
  const server = fastify({
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      shouldUpgradeCallback: wantsWebSocket,
    },
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
  for (const method of server.supportedMethods)
    server.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  const paths = pathsOf(deps.routes, deps.port);
  const { cors, stopping } = deps;
  const upgrades = acceptUpgrades(server, { cors, stopping, clock: deps.services.clock });
  server.addHook('onRequest', (request, reply, done) => {
    observeRequest(request, reply, deps);
    prepare(request, reply, targets.get(request.raw), deps);
    if (!reply.sent) done();
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
      handler: (request, reply) => dispatch(routes, request, reply, { ...deps, upgrades }),
    });
  }
  return server;
}

/** Methods that are routed; the rarer ones get their answer, always 405, without a route for each. */
const ROUTED_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

function unused(): never {
  throw new TypeError('no route has a schema for fastify');
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
  if (target?.kind === 'redirect') void send({ status: 301, headers: { location: target.location } }, reply);
  if (target?.kind === 'malformed') void send(errorAnswer(new ApiError('MALFORMED_URL'), deps, reply), reply);
}

const NO_STORE = {
  'cache-control': 'no-cache, no-store, must-revalidate',
  pragma: 'no-cache',
  expires: '0',
} as const;

/** Reason of every request's signal when the server stops. */
class ServerStoppingError extends Error {
  readonly code = 'SERVER_STOPPING';

  constructor() {
    super('the node is stopping');
    this.name = 'ServerStoppingError';
  }
}
