/** The HTTP server: two listeners from one route table, `http-api-completion.md` 3, with `dispatch.ts`. */
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../formats/clock.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import { hostOf } from '../../formats/hosts.ts';
import { Expressions } from '../env/expression.ts';
import { heapLimit } from '../env/heap.ts';
import { SharedRoom } from '../env/turns/shared-room.ts';
import { TurnAllowance } from '../env/turns/turn-allowance.ts';
import { type Admission, type AdmissionOptions, createAdmission } from './admission/admission.ts';
import { matcherOf } from './by-host.ts';
import { Reads } from './content/reads.ts';
import { type Cors, createCors } from './cors.ts';
import { type DialectName, dialectOf } from './dialect.ts';
import { type DispatchDeps, dispatch, errorAnswer } from './dispatch.ts';
import { ApiError } from './errors.ts';
import type { Answer } from './exchange/answer.ts';
import { type Exchange, send } from './exchange/exchange.ts';
import type { Patience } from './exchange/patience.ts';
import { acceptUpgrades, type Upgrades } from './exchange/websocket.ts';
import { createGates } from './gates.ts';
import type { Listener, Listening } from './listen.ts';
import { API_METRICS, type ApiMetrics } from './metrics.ts';
import { type Target, targetOf } from './paths.ts';
import { dataRoutes, type Port } from './route/route.ts';
import { ROUTES } from './routes/table.ts';
import type { NodeServices } from './services.ts';
import { tracedRequest } from './traced.ts';
import { httpDate } from './values/http-date.ts';

const REQUEST_ID_HEADER = 'x-request-id';
/** Ids of clients: short, and nothing that a log must escape. */
const WELL_FORMED = /^[\w.~+/=:-]{1,128}$/;

/** The client did not wait. */
const CLIENT_GONE_STATUS = 499;

/** Files and manifest nodes, mostly chunks to hash and stamp: two ms. One packet may contain hundreds. */
const UPLOADS_PER_TURN = 8;
/** Bytes of all uploads: two packets of two ms. */
const BODY_BYTES_PER_TURN = 128 * 1024;

/** Part of the heap for manifests of collections being uploaded. */
const MANIFESTS_SHARE = 1 / 4;

interface ApiOptions extends AdmissionOptions {
  /** Port 0 takes a free one. */
  readonly address: string;
  /** Absent: no debug listener. */
  readonly debugAddress?: string;
  /** Operations of both listeners are on the debug one alone. */
  readonly dataOnly: boolean;
  readonly dialect: DialectName;
  readonly corsAllowedOrigins: readonly string[];
  /** How long clients may send or take nothing. */
  readonly idleTimeoutMs: number;
}

export interface Api {
  /** Technical routes answer from here on, others when the node is ready. @throws ApiStartError */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Known after `start`. */
  readonly addresses: { readonly main: string | undefined; readonly debug: string | undefined };
}

/** Sockets, or a substitute. @throws ApiStartError */
type Listen = (listener: Listener, address: string, deps: { readonly clock: Clock }) => Promise<Listening>;

export function createApi(options: ApiOptions, services: NodeServices, listen: Listen): Api {
  const listeners = createListeners(options, services);
  const open: Listening[] = [];
  const addresses: { main: string | undefined; debug: string | undefined } = {
    main: undefined,
    debug: undefined,
  };
  const started = async (listener: Listener, address: string) => {
    const listening = await listen(listener, address, services);
    open.push(listening);
    return listening.address;
  };

  return {
    addresses,
    async start() {
      addresses.main = await started(listeners.main, options.address);
      if (listeners.debug === undefined || options.debugAddress === undefined) return;
      addresses.debug = await started(listeners.debug, options.debugAddress);
    },
    async stop() {
      listeners.abort();
      const closing = open.splice(0).map((listening) => listening.close());
      await Promise.all([...closing, listeners.finished()]);
    },
  };
}

/** They do not listen yet; the debug one exists with an address. Tests inject requests. */
export function createListeners(
  options: Omit<ApiOptions, 'address'>,
  services: NodeServices,
): {
  readonly main: Listener;
  readonly debug: Listener | undefined;
  abort(): void;
  finished(): Promise<void>;
} {
  const dialect = dialectOf(options.dialect);
  const stopping = new AbortController();
  const metrics = services.metrics.register(API_METRICS);
  const { clock, log } = services;
  const shared = {
    services,
    dialect,
    gates: createGates(services, dialect),
    stopping: stopping.signal,
    cors: createCors(options.corsAllowedOrigins, dialect),
    metrics,
    reads: new Reads({ clock, metrics }),
    expressions: new Expressions({ clock }),
    uploadTurns: new TurnAllowance(UPLOADS_PER_TURN, clock),
    bodyTurns: new TurnAllowance(BODY_BYTES_PER_TURN, clock),
    manifestRoom: new SharedRoom(heapLimit() * MANIFESTS_SHARE),
    patience: {
      idleMs: options.idleTimeoutMs,
      clock,
      over(what) {
        metrics.idleEnded.inc({ what });
        log.info({ what }, 'connection closed: its client neither sends nor reads');
      },
    } satisfies Patience,
  };
  const upgrades = acceptUpgrades({ stopping: stopping.signal, clock: services.clock });
  const { ethereum } = services.node;
  const started = services.clock.now().toString(36);
  const requestId = createRequestIds(`${toHex(ethereum.subarray(0, 4))}-${started}`);
  const onPort = (port: Port) => {
    const admission = createAdmission(options, { cors: shared.cors, port });
    const routes = port === 'main' && options.dataOnly ? dataRoutes(ROUTES) : ROUTES;
    return createListener({ ...shared, routes, upgrades, requestId, admission, port });
  };
  return {
    main: onPort('main'),
    debug: options.debugAddress === undefined ? undefined : onPort('debug'),
    abort: () => stopping.abort(new ServerStoppingError()),
    finished: () => upgrades.finished(),
  };
}

type ListenerDeps = DispatchDeps & {
  readonly cors: Cors;
  readonly upgrades: Upgrades;
  readonly admission: Admission;
  readonly requestId: (request: IncomingMessage) => string;
};

function createListener(deps: ListenerDeps): Listener {
  const matchOf = matcherOf(deps.routes, deps.port);
  const handle: Listener['handle'] = (request, response) => {
    const { method = '' } = request;
    const { patience } = deps;
    const exchange: Exchange = {
      request,
      response,
      method,
      id: deps.requestId(request),
      patience,
      route: '',
    };
    observeRequest(exchange, deps);
    prepare(exchange, deps);
    const target = targetOf(request.url ?? '/');
    const match = matchOf(target, hostOf(request));
    const row = match?.routes.byMethod.get(method);
    const failed = (error: unknown) => errorAnswer(error, deps, exchange);
    const refusal = deps.admission.refusal(request, row);
    if (refusal !== undefined) {
      return send(exchange, { ...failed(refusal.error), headers: refusal.headers }, failed);
    }
    if (row?.response === 'octets' && row.ownOrigin !== true) response.setHeader(...SANDBOX);
    if (target.kind === 'route' && match !== undefined) {
      const { routes, params } = match;
      const known = Object.assign(exchange, { route: routes.path, routes, params, query: target.query });
      const { tracing } = deps.services;
      const { dialect } = deps;
      if (tracing === undefined) void dispatch(known, deps);
      else void tracedRequest(known, { tracing, dialect }, () => dispatch(known, deps));
      return;
    }
    send(exchange, answerWithoutRoute(target, exchange, failed), failed);
  };
  return {
    handle,
    upgrade(request, socket, head) {
      const response = deps.upgrades.released(request, socket, head);
      if (response !== undefined) handle(request, response);
    },
  };
}

function prepare({ request, response, id }: Exchange, deps: ListenerDeps): void {
  const { origin } = request.headers;
  const host = hostOf(request);
  const allowed = deps.admission.isHostAllowed(host);
  const headers = {
    date: httpDate(deps.services.clock.now()),
    [REQUEST_ID_HEADER]: id,
    'x-content-type-options': 'nosniff',
    ...(allowed ? deps.cors.headersFor(origin, host) : {}),
    ...(deps.port === 'debug' || deps.services.readiness.state() !== 'ready' ? NO_STORE : {}),
    // No further request on this connection.
    ...(deps.stopping.aborted ? { connection: 'close' } : {}),
  };
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

function answerWithoutRoute(
  target: Target,
  { method, request }: Exchange,
  failed: (error: unknown) => Answer,
): Answer {
  // About the server, not a path. As Bee 2.8.1 answers it.
  if (method === 'OPTIONS' && request.url === '*') return { status: 200 };
  if (target.kind === 'redirect') return { status: 301, headers: { location: target.location } };
  return failed(new ApiError(target.kind === 'malformed' ? 'MALFORMED_URL' : 'NOT_FOUND'));
}

/**
 * A page under the API's host runs with an opaque origin, without access to the API. Images, scripts and downloads are
 * unaffected.
 */
const SANDBOX = [
  'content-security-policy',
  'sandbox allow-downloads allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-scripts',
] as const;

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

interface AccessDeps {
  readonly services: Pick<NodeServices, 'clock' | 'log'>;
  readonly metrics: ApiMetrics;
  readonly port: Port;
}

/** Every request, even if its client left. Called on arrival. */
function observeRequest(exchange: Exchange, deps: AccessDeps): void {
  const { clock, log } = deps.services;
  const { id, method, response } = exchange;
  const startMs = clock.monotonic();
  let recorded = false;
  deps.metrics.requestCount.inc();
  response.once('finish', () => record(response.statusCode));
  response.once('close', () => record(CLIENT_GONE_STATUS));

  function record(status: number): void {
    if (recorded) return;
    recorded = true;
    const durationMs = clock.monotonic() - startMs;
    deps.metrics.responseCodeCount.inc({ code: String(status), method });
    deps.metrics.responseDuration.observe(durationMs / 1000);
    if (!log.isLevelEnabled('debug')) return;
    log.debug({ id, method, route: exchange.route, status, durationMs, port: deps.port }, 'request answered');
  }
}

/**
 * Links an answer, a log line and a client's record: the header's id if well-formed, else a counted one.
 * @param prefix distinguishes nodes and starts; not random, so that a simulation repeats
 */
function createRequestIds(prefix: string): (request: IncomingMessage) => string {
  let count = 0;
  return ({ headers }) => {
    const given = headers[REQUEST_ID_HEADER];
    if (typeof given === 'string' && WELL_FORMED.test(given)) return given;
    return `${prefix}-${(count++).toString(36)}`;
  };
}
