/**
 * A cluster's parts need no proxy, but with `NODE_USE_ENV_PROXY` even loopback requests go to `HTTP_PROXY`. Attached
 * networks may be behind proxies.
 */
import type { AgentOptions, Agent as HttpAgent } from 'node:http';
import { Agent, type Dispatcher, EnvHttpProxyAgent, Pool, request } from 'undici';
import { shownUrl } from '../../formats/shown-url.ts';
import { HarnessError } from './errors.ts';
import { connectorFor, isInMemory, MemoryAgent } from './memory-servers.ts';
import { orAborted } from './wait.ts';

const { Agent: SocketAgent } = process.getBuiltinModule('node:http');
const { Agent: TlsAgent } = process.getBuiltinModule('node:https');

/** A busy process accepts one connection per turn of its event loop; the others must fit its queue of 511. */
const CONNECTIONS_MAX = 32;

/** For undici. A living part may be busy for any time, so only the caller's signal ends a request. */
export const directDispatcher = new Agent({
  connections: CONNECTIONS_MAX,
  connect: connectorFor({ timeout: 0 }),
  headersTimeout: 0,
  bodyTimeout: 0,
});

/** For networks that svcnet has not started, whose machines may be gone: undici's own limits hold. */
const foreignDispatcher = new Agent({ connect: connectorFor() });

/** For agents of `node:http`. */
const directAgent = new SocketAgent();
const directTlsAgent = new TlsAgent();
const memoryAgent = new MemoryAgent();

/** `HTTPS_PROXY` is for `https:`, `NO_PROXY` lists exceptions; lower-case names win. */
const PROXIES = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY'] as const;
const THIS_MACHINE = /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/i;

type RequestOptions = Pick<Dispatcher.RequestOptions, 'body'> & {
  readonly signal?: AbortSignal | null;
  readonly method?: Dispatcher.HttpMethod;
  readonly headers?: Readonly<Record<string, string>>;
};

/** A connection for each request: undici ends kept ones by the machine's time. */
const IN_MEMORY: Pool.Options = { pipelining: 0, connect: connectorFor() };

/** `foreign`: of a network that svcnet has not started. */
export interface Whose {
  readonly foreign?: boolean | undefined;
}

/**
 * Proxy variables for a foreign URL.
 * @returns undefined: none, or this machine @throws HarnessError `USAGE` for a proxy that is no URL
 */
export function proxyEnvironment(url: string, { foreign = false }: Whose): NodeJS.ProcessEnv | undefined {
  if (!foreign || THIS_MACHINE.test(new URL(url).hostname)) return undefined;
  const named = PROXIES.filter((name) => (process.env[name] ?? '') !== '');
  for (const name of named) {
    const value = process.env[name] ?? '';
    if (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)) continue;
    throw new HarnessError('USAGE', `${name}: got '${shownUrl(value)}', expected an http:// or https:// URL`);
  }
  return named.length === 0 ? undefined : process.env;
}

export function socketAgent(url: string, whose: Whose): HttpAgent {
  if (isInMemory(new URL(url).hostname)) return memoryAgent;
  const isTls = /^(?:https|wss):/.test(url);
  if (proxyEnvironment(url, whose) === undefined) return isTls ? directTlsAgent : directAgent;
  return agentOf(url, whose, {});
}

export function agentOf(url: string, whose: Whose, options: AgentOptions): HttpAgent {
  if (isInMemory(new URL(url).hostname)) return new MemoryAgent();
  const proxyEnv = proxyEnvironment(url, whose);
  const proxied = proxyEnv === undefined ? options : { ...options, proxyEnv };
  return /^(?:https|wss):/.test(url) ? new TlsAgent(proxied) : new SocketAgent(proxied);
}

export function connectionsTo(
  url: string,
  whose: Whose,
  options: Pool.Options & { readonly connect: { readonly timeout: number } },
): Dispatcher {
  if (isInMemory(new URL(url).hostname)) return new Pool(url, { ...options, ...IN_MEMORY });
  if (proxyEnvironment(url, whose) === undefined) return new Pool(url, options);
  return new EnvHttpProxyAgent({
    connectTimeout: options.connect.timeout,
    factory: (origin, more) => new Pool(origin, Object.assign({}, options, more)),
  });
}

/** @throws the system's Error when unreachable; the signal's reason */
export function requestDirectly(url: string, options: RequestOptions = {}): Promise<Dispatcher.ResponseData> {
  return send(url, {
    ...options,
    // undici ends kept connections by the machine's time.
    reset: isInMemory(new URL(url).hostname),
    dispatcher: directDispatcher,
  });
}

let proxied: Dispatcher | undefined;

/** The same of a foreign network. The URL's user and password become basic authorisation. */
export function requestForeign(url: string, options: RequestOptions = {}): Promise<Dispatcher.ResponseData> {
  const { username, password } = new URL(url);
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
  const headers = {
    ...(username + password === '' ? {} : { authorization: `Basic ${credentials.toString('base64')}` }),
    ...options.headers,
  };
  const isProxied = proxyEnvironment(url, { foreign: true }) !== undefined;
  if (isProxied) proxied ??= new EnvHttpProxyAgent();
  return send(url, {
    ...options,
    headers,
    dispatcher: (isProxied ? proxied : undefined) ?? foreignDispatcher,
  });
}

/** undici hears of an abort only once it has a connection. */
function send(
  url: string,
  options: RequestOptions & { readonly dispatcher: Dispatcher; readonly reset?: boolean },
): Promise<Dispatcher.ResponseData> {
  const answer = request(url, options);
  return options.signal ? orAborted(answer, options.signal) : answer;
}
