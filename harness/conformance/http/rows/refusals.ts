/**
 * Errors in a request are named: status 400, the source of the parameter, and a reason with its name for each
 * text that its type does not accept. A refused request changes nothing.
 */
import type { Level, Row } from '../../row.ts';
import type { Expectation, ExpectedReason } from '../expectation.ts';
import type { HttpRequest } from '../messages.ts';
import type { Names } from '../names.ts';
import { storedFeed, storedSoc } from '../prerequisites.ts';
import { probeOf, ROUTES, type RouteData, type RouteParam } from '../routes.ts';
import { fieldOf, type Refused, refusedInPath, refusedText, sampleOf, samplePath } from '../samples.ts';
import { type HttpSubject, httpRow, type RowSession } from '../subject.ts';

const MESSAGES = {
  path: 'invalid path params',
  query: 'invalid query params',
  header: 'invalid header params',
} as const;
type Source = keyof typeof MESSAGES;

/** These have rows of their own, or are read after something else. */
const SPECIAL = new Set(['type', 'accept', 'upgrade', 'name']);

/** In `swarm` a path of files without a slash is redirected before anything is read. */
export function refusalRows(names: Names): Row<HttpSubject>[] {
  return ROUTES.filter((route) => !(names.isSwarm && route.path === '/svc/{reference}')).flatMap((route) => [
    ...Object.entries(route.params).flatMap(([name, type]) =>
      refusedInPath(route, name, type, names).map((refused) =>
        refusalRow(route, names, { source: 'path', name, refused }),
      ),
    ),
    ...(['query', 'headers'] as const).flatMap((list) => paramRows(route, list, names)),
  ]);
}

function paramRows(route: RouteData, list: 'query' | 'headers', names: Names): Row<HttpSubject>[] {
  const source = list === 'query' ? 'query' : 'header';
  return route[list]
    .filter(({ name }) => !SPECIAL.has(name) && isRead(route, name, names))
    .flatMap((param) => [
      ...refusedText(param, names).map((refused) =>
        refusalRow(route, names, { source, name: param.name, refused }),
      ),
      ...(param.required === true ? [missingRow(route, names, { source, name: param.name })] : []),
    ]);
}

/** Whether the dialect knows a parameter: some exist in only one of them. */
function isRead({ method, path }: RouteData, name: string, { isSwarm }: Names): boolean {
  if (!isSwarm) return true;
  // Without a batch the chunks of a stream carry their stamps.
  if (name === 'all' || (path === '/chunks/stream' && name === 'svc-postage-batch-id')) return false;
  // Read only after the content has been found.
  if (name === 'svc-lookahead-buffer-size' && path.startsWith('/svc')) return false;
  return !(name === 'svc-cache' && (method === 'HEAD' || path.startsWith('/grantee')));
}

interface Refusal {
  readonly source: Source;
  readonly name: string;
  readonly refused: Refused;
}

function refusalRow(route: RouteData, names: Names, { source, name, refused }: Refusal): Row<HttpSubject> {
  const { text, error, checked } = refused;
  const shown = source === 'path' ? fieldOf(route, name) : name;
  const declared = source === 'header' ? names.declared(name) : shown;
  const field = checked === true ? declared.toLowerCase() : declared;
  const stored = names.isSwarm && source === 'header' ? STORED[`${route.method} ${route.path}`] : undefined;
  return rowOf(route, {
    ...(stored === undefined ? {} : { stored }),
    id: `${source} ${name} ${text}`,
    about: `refuses ${text} as ${name}: ${String(error)}`,
    request: requestOf(route, { source, name, text }),
    expected: refusalOf(source, [{ field, error }]),
  });
}

function missingRow(
  route: RouteData,
  names: Names,
  { source, name }: Omit<Refusal, 'refused'>,
): Row<HttpSubject> {
  const field = source === 'header' ? names.header(name) : name;
  return rowOf(route, {
    id: `without ${name}`,
    about: `requires ${name}`,
    request: requestOf(route, { source, name, text: undefined }),
    expected: refusalOf(source, [{ field, error: 'want required:' }]),
  });
}

function refusalOf(source: Source, reasons: readonly ExpectedReason[]): Expectation {
  return { status: 400, message: MESSAGES[source], reasons };
}

/** The public network's node reads these headers only after it has found the chunk. */
const STORED: Readonly<Record<string, (session: RowSession) => Promise<string>>> = {
  'GET /soc/{owner}/{id}': async (session) => (await storedSoc(session)).path,
  'GET /feeds/{owner}/{topic}': async (session) => (await storedFeed(session)).path,
};

interface RefusalRow {
  /** Path of something that the node has. */
  readonly stored?: (session: RowSession) => Promise<string>;
  readonly id: string;
  readonly about: string;
  readonly request: HttpRequest;
  readonly expected: Expectation;
}

function rowOf(route: RouteData, { id, about, request, expected, stored }: RefusalRow): Row<HttpSubject> {
  const { method, port } = route;
  const bodyless: Expectation = { status: expected.status, empty: true };
  return httpRow({
    id: `${method} ${route.path}${port === 'debug' ? ' debug' : ''} ${id}`,
    group: 'parameters',
    about,
    level: stored === undefined ? levelOf(route) : 'write',
    steps: async (session) => {
      if (port === 'debug') session.needs('debug');
      await session.enabled(probeOf(route));
      const place = port === 'debug' ? 'debug' : 'main';
      const path = stored === undefined ? request.path : await stored(session);
      await session.ask({ ...request, place, path }, method === 'HEAD' ? bodyless : expected);
    },
  });
}

/** Paths below which an accepted request sends a transaction. */
const PAID = /^\/(stake|chequebook|wallet|transactions|stamps\/(\{amount\}|topup|dilute))(\/|$)/;

/**
 * A node that does not refuse would do what was asked. The samples are small, but a transaction costs
 * something.
 */
function levelOf({ method, path }: RouteData): Level {
  if (method === 'GET' || method === 'HEAD') return 'read';
  return PAID.test(path) ? 'money' : 'write';
}

/** A request with one parameter set to a text, or left out, and all others valid. */
function requestOf(
  route: RouteData,
  { source, name, text }: { source: Source; name: string; text: string | undefined },
): HttpRequest {
  const needed = (params: readonly RouteParam[], own: Source) => {
    const known = params
      .filter(
        (param) =>
          param.required === true && param.name !== 'upgrade' && !(own === source && param.name === name),
      )
      .map((param) => [param.name, param.name === 'content-type' ? 'text/plain' : sampleOf(param)] as const);
    return own === source && text !== undefined ? [...known, [name, text] as const] : known;
  };
  const path = samplePath(route, source === 'path' && text !== undefined ? { [name]: text } : {});
  const query = new URLSearchParams(
    needed(route.query, 'query').map(([key, value]): [string, string] => [key, value]),
  ).toString();
  return {
    method: route.method,
    path: query === '' ? path : `${path}?${query}`,
    headers: Object.fromEntries(needed(route.headers, 'header')),
    ...(route.method === 'GET' || route.method === 'HEAD' || route.method === 'DELETE'
      ? {}
      : { body: bodyOf(route) }),
  };
}

/** Some operations check it before the parameters. */
function bodyOf({ path }: RouteData): string {
  return path.startsWith('/grantee') ? '{"grantees":[]}' : '';
}
