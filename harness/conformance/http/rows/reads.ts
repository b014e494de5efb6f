import type { Row } from '../../row.ts';
import type { Names } from '../names.ts';
import { type Question, table } from '../question.ts';
import { placesOf, probeOf, ROUTES, type RouteData, responseOf } from '../routes.ts';
import type { Expected, HttpSubject } from '../subject.ts';

/** Slow, or dependent on more than the node. */
const SPECIAL = new Set(['GET /loggers/{exp}', 'GET /pins/check', 'GET /chunks/stream']);

/** Without `/v1` on the public network. */
const WITHOUT_PREFIX = new Set([
  '/node',
  '/addresses',
  '/chainstate',
  '/debugstore',
  '/metrics',
  '/loggers',
  '/readiness',
  '/health',
  '/robots.txt',
]);

export function readRows(names: Names): Row<HttpSubject>[] {
  const routes = ROUTES.filter(
    ({ method, path }) => method === 'GET' && !path.includes('{') && !SPECIAL.has(`${method} ${path}`),
  );
  const rows = routes.flatMap((route) => rowsOf(route, names));
  return table('fields', { level: 'read' }, rows);
}

function rowsOf(route: RouteData, names: Names): Question[] {
  const { path } = route;
  const common = { enabled: probeOf(route), expect: expectedOf(route, names) };
  const isUnprefixed = path === '/' || (names.isSwarm && WITHOUT_PREFIX.has(path));
  const prefixed = {
    id: `GET /v1${path}`,
    about: 'is served below /v1 as well',
    ask: { place: 'main', path: `/v1${path}` },
    ...common,
  } as const;
  return [
    ...placesOf(route).map(
      (place): Question => ({
        id: `GET ${path} ${place}`,
        about: `answers with all its fields on the ${place} interface`,
        needs: place === 'debug' ? place : undefined,
        ask: { place, path },
        ...common,
      }),
    ),
    ...(isUnprefixed ? [] : [prefixed]),
  ];
}

function expectedOf(route: RouteData, names: Names): Expected {
  const status = route.success;
  switch (route.path) {
    case '/metrics':
      return { status, headers: { 'content-type': /^text\/plain/ }, text: /^# (HELP|TYPE) \w+/m };
    case '/':
      return { status, text: names.either<string | RegExp>(/./, 'Ethereum Swarm Bee\n') };
    case '/robots.txt':
      return { status, text: /^User-agent: \*\nDisallow: \/\n?$/ };
    default:
      return { status, json: responseOf(route, names) ?? 'any' };
  }
}
