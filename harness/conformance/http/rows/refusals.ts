/** Errors name the parameter: status 400, its source and a reason. Nothing changes. */
import type { Level, Row } from '../../row.ts';
import { refusal, type Source } from '../expectation.ts';
import type { HttpRequest } from '../messages.ts';
import type { Names } from '../names.ts';
import { type Question, table } from '../question.ts';
import { probeOf, ROUTES, type RouteData, type RouteParam } from '../routes.ts';
import { fieldOf, type Refused, refusedInPath, refusedText, sampleOf, samplePath } from '../samples.ts';
import type { Expected, HttpSubject } from '../subject.ts';

const SPECIAL = new Set(['type', 'accept', 'upgrade', 'name']);

/** `swarm` first redirects a path of files without a slash. */
export function refusalRows(names: Names): Row<HttpSubject>[] {
  const routes = ROUTES.filter((route) => !(names.isSwarm && route.path === '/svc/{reference}'));
  const rows = routes.flatMap((route) => [
    ...Object.entries(route.params).flatMap(([name, type]) =>
      refusedInPath(route, name, type, names).map((refused) =>
        refusalRow(route, names, { source: 'path', name, refused }),
      ),
    ),
    ...(['query', 'headers'] as const).flatMap((list) => paramRows(route, list, names)),
  ]);
  return table('parameters', { level: 'read' }, rows);
}

function paramRows(route: RouteData, list: 'query' | 'headers', names: Names): Question[] {
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

function isRead({ method, path }: RouteData, name: string, { isSwarm }: Names): boolean {
  if (!isSwarm) return true;
  // Without a batch, a stream's chunks carry stamps.
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

function refusalRow(route: RouteData, names: Names, { source, name, refused }: Refusal): Question {
  const { text, error, checked } = refused;
  const shown = source === 'path' ? fieldOf(route, name) : name;
  const declared = source === 'header' ? names.declared(name) : shown;
  const field = checked === true ? declared.toLowerCase() : declared;
  const stored = names.isSwarm && source === 'header' ? STORED[`${route.method} ${route.path}`] : undefined;
  return rowOf(route, {
    stored,
    id: `${source} ${name} ${text}`,
    about: `refuses ${text} as ${name}: ${String(error)}`,
    request: requestOf(route, { source, name, text }),
    expect: refusal(source, { [field]: error }),
  });
}

function missingRow(route: RouteData, names: Names, { source, name }: Omit<Refusal, 'refused'>): Question {
  const field = source === 'header' ? names.header(name) : name;
  return rowOf(route, {
    id: `without ${name}`,
    about: `requires ${name}`,
    request: requestOf(route, { source, name, text: undefined }),
    expect: refusal(source, { [field]: 'want required:' }),
  });
}

/** The public network's node reads these headers only after it has found the chunk. */
const STORED: Readonly<Record<string, string>> = {
  'GET /soc/{owner}/{id}': '{soc}',
  'GET /feeds/{owner}/{topic}': '{feed}',
};

interface RefusalRow {
  readonly stored?: string | undefined;
  readonly id: string;
  readonly about: string;
  readonly request: HttpRequest;
  readonly expect: Expected;
}

function rowOf(route: RouteData, { id, about, request, expect, stored }: RefusalRow): Question {
  const { method, port } = route;
  const place = port === 'debug' ? 'debug' : 'main';
  return {
    id: `${method} ${route.path}${port === 'debug' ? ' debug' : ''} ${id}`,
    about,
    level: stored === undefined ? levelOf(route) : 'write',
    needs: port === 'debug' ? 'debug' : undefined,
    enabled: probeOf(route),
    ask: { ...request, place, path: stored ?? request.path },
    expect: method === 'HEAD' ? { status: expect.status, empty: true } : expect,
  };
}

/** Accepted requests below these paths send transactions. */
const PAID = /^\/(stake|chequebook|wallet|transactions|stamps\/(\{amount\}|topup|dilute))(\/|$)/;

/** A node that does not refuse does what was asked: samples are small, but a transaction costs. */
function levelOf({ method, path }: RouteData): Level {
  if (method === 'GET' || method === 'HEAD') return 'read';
  return PAID.test(path) ? 'money' : 'write';
}

/** Versions before 2.8 require a content type; the transport sets the upgrade. */
function isNeeded({ name, required }: RouteParam): boolean {
  return name === 'content-type' || (required === true && name !== 'upgrade');
}

function requestOf(
  route: RouteData,
  { source, name, text }: { source: Source; name: string; text: string | undefined },
): HttpRequest {
  const needed = (params: readonly RouteParam[], own: Source) => {
    const known = params
      .filter((param) => isNeeded(param) && !(own === source && param.name === name))
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

/** Some check it before the parameters. */
function bodyOf({ path }: RouteData): string {
  return path.startsWith('/grantee') ? '{"grantees":[]}' : '';
}
