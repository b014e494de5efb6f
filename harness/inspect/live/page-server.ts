/** The page's server on loopback. Requests look or set the pace of what the page shows; none reaches a node. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../../formats/clock.ts';
import { type Addressed, hasTwoHosts, hostOf } from '../../../formats/hosts.ts';
import { HarnessError, messageOf } from '../../base/errors.ts';
import type { Asset } from './assets.ts';
import { Viewers } from './viewers.ts';
import type { Told, Watcher } from './watcher.ts';

const TOKEN_BYTES = 24;
const HOST = '127.0.0.1';

export interface UiOptions {
  readonly port: number;
}

export interface PageDeps<W extends Watcher> {
  readonly clock: Pick<Clock, 'now' | 'timer'>;
  readonly assets: ReadonlyMap<string, Asset>;
  readonly watcher: (told: Told) => W;
}

export interface ServedPage<W extends Watcher = Watcher> {
  /** Includes the token, which allows viewing. */
  readonly url: string;
  /** Leads to the page only the first time: other users can read a browser's arguments. */
  onceUrl(): string;
  readonly watcher: W;
  /** Ends all streams; waits for pending requests. */
  close(): Promise<void>;
}

/** @throws HarnessError `PORT_IN_USE` */
export async function servePage<W extends Watcher>(
  { port }: UiOptions,
  { clock, assets, watcher: open }: PageDeps<W>,
): Promise<ServedPage<W>> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const watcher = open({
    tell: (delta) => viewers.tell(JSON.stringify(delta)),
    renewed: () => viewers.renew(),
  });
  const viewers = new Viewers({
    clock,
    snapshot: () => (watcher.snapshot === undefined ? undefined : JSON.stringify(watcher.snapshot)),
    onWatched: (watched) => watcher.watch(watched),
  });
  let ticket: string | undefined;
  const server = process.getBuiltinModule('node:http').createServer((request, response) => {
    const { method, url } = request;
    const verdict = judge(request, token, { port: portOf(server), controls: watcher.control !== undefined });
    // Only the token is missing.
    if ('refused' in verdict && verdict.refused === 404 && method === 'GET' && isTicket(url)) {
      ticket = undefined;
      response.writeHead(303, { ...SECURITY_HEADERS, location: `/${token}/` }).end();
      return;
    }
    void answer(verdict, request, response);
  });
  const isTicket = (url: string | undefined) => ticket !== undefined && url === `/${ticket}`;
  await listen(server, port);
  return {
    url: `http://${HOST}:${portOf(server)}/${token}/`,
    onceUrl() {
      ticket = randomBytes(TOKEN_BYTES).toString('base64url');
      return `http://${HOST}:${portOf(server)}/${ticket}`;
    },
    watcher,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      // It has a last word for viewers.
      await watcher.close();
      await viewers.close();
      server.closeAllConnections();
      await closed;
    },
  };

  async function answer(verdict: Verdict, request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
    if ('refused' in verdict) {
      if (verdict.refused === 405) response.setHeader('allow', 'GET, HEAD');
      send(response, verdict.refused, { type: 'text/plain', body: `${verdict.why}\n` });
      return;
    }
    const { path, query } = verdict;
    const [kind, part = ''] = path.split('/');
    const asset = assets.get(path);
    if (path === 'events' && request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      viewers.add(response);
    } else if (kind === 'log') {
      await sendLog(part, query.get('after') ?? undefined, response);
    } else if (kind === 'control' && request.method === 'POST') {
      const isKnown = watcher.control?.(part) ?? false;
      const found = isKnown ? { status: 200, body: '' } : { status: 404, body: `there is no ${path}\n` };
      send(response, found.status, { type: 'text/plain', body: found.body });
    } else if (asset !== undefined) {
      send(response, 200, asset);
    } else {
      send(response, 404, { type: 'text/plain', body: `there is no ${path}\n` });
    }
  }

  async function sendLog(part: string, after: string | undefined, response: ServerResponse): Promise<void> {
    try {
      const body = JSON.stringify(await watcher.log(part, after));
      send(response, 200, { type: 'application/json', body });
    } catch (error) {
      // The page shows the reason beside the node.
      const status = error instanceof HarnessError && error.code === 'NODE_NOT_FOUND' ? 404 : 503;
      const body = JSON.stringify({ error: messageOf(error) });
      send(response, status, { type: 'application/json', body });
    }
  }
}

function send(response: ServerResponse, status: number, { type, body }: Asset): void {
  response.writeHead(status, { 'content-type': `${type}; charset=utf-8` });
  response.end(body);
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new HarnessError('PORT_IN_USE', `port ${port} is in use`, {
              hint: 'Leave out --port: a free one is taken then.',
            })
          : error,
      ),
    );
    server.listen(port, HOST, resolve);
  });
}

interface PageRequest extends Addressed {
  readonly method?: string | undefined;
  readonly headers: Addressed['headers'] & { readonly origin?: string | undefined };
}

/**
 * The path below the token, or the refusal's status. Any page in a local browser can reach loopback: requests must carry the
 * token and our `Host`, which excludes rebound names.
 */
type Verdict =
  | { readonly path: string; readonly query: URLSearchParams }
  | { readonly refused: 400 | 403 | 404 | 405 | 421; readonly why: string };

/** Scripts, styles and connections only from here; no other page may frame or read it. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

export function judge(
  request: PageRequest,
  token: string,
  { port, controls }: { readonly port: number; readonly controls: boolean },
): Verdict {
  const { method, url = '', headers } = request;
  if (hasTwoHosts(request)) return { refused: 400, why: 'more than one Host header' };
  const host = hostOf(request);
  if (host !== `127.0.0.1:${port}` && host !== `localhost:${port}`) {
    return { refused: 421, why: 'this server answers to 127.0.0.1 only' };
  }
  if (method === 'POST' && controls) {
    // A browser names the asking page, which must be ours.
    if (headers.origin !== undefined && headers.origin !== `http://${host}`)
      return { refused: 403, why: 'only the page itself has the controls' };
  } else if (method !== 'GET' && method !== 'HEAD') {
    return { refused: 405, why: 'this page only looks: GET only' };
  }
  if (!URL.canParse(url, 'http://127.0.0.1')) return { refused: 400, why: 'not a path' };
  const { pathname, searchParams } = new URL(url, 'http://127.0.0.1');
  const [, given = '', ...rest] = pathname.split('/');
  if (!same(given, token) || rest.length === 0) {
    return { refused: 404, why: 'open the address that svcnet has printed' };
  }
  return { path: rest.join('/'), query: searchParams };
}

/** Compares in constant time. */
function same(given: string, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}
