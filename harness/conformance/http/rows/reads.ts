/** Operations that only read: status, type and every field of the body, on each interface and below `/v1`. */
import type { Row } from '../../row.ts';
import type { Expectation } from '../expectation.ts';
import type { Names } from '../names.ts';
import { placesOf, probeOf, ROUTES, type RouteData, responseOf } from '../routes.ts';
import { type HttpSubject, httpRow } from '../subject.ts';

/** Reading these costs the node time, or depends on more than the node. */
const SPECIAL = new Set(['GET /loggers/{exp}', 'GET /pins/check', 'GET /chunks/stream']);

/** The public network's node has no `/v1` for these. */
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
  return ROUTES.filter(
    ({ method, path }) => method === 'GET' && !path.includes('{') && !SPECIAL.has(`${method} ${path}`),
  ).flatMap((route) => rowsOf(route, names));
}

function rowsOf(route: RouteData, names: Names): Row<HttpSubject>[] {
  const { path } = route;
  const expected = expectedOf(route, names);
  const read = (id: string, about: string, place: 'main' | 'debug', prefix = '') =>
    httpRow({
      id,
      group: 'fields',
      about,
      level: 'read',
      steps: async (session) => {
        if (place === 'debug') session.needs('debug');
        await session.enabled(probeOf(route));
        await session.ask({ place, path: `${prefix}${path}` }, expected);
      },
    });
  return [
    ...placesOf(route).map((place) =>
      read(
        `GET ${path} ${place}`,
        `answers with all its fields on the ${place} interface`,
        place as 'main' | 'debug',
      ),
    ),
    ...(path === '/' || (names.isSwarm && WITHOUT_PREFIX.has(path))
      ? []
      : [read(`GET /v1${path}`, 'is served below /v1 as well', 'main', '/v1')]),
  ];
}

function expectedOf(route: RouteData, names: Names): Expectation {
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
