/** What holds for every path: methods, slashes, path cleaning, prefixes, both interfaces, origins. */
import type { Row } from '../../row.ts';
import type { Expectation } from '../expectation.ts';
import type { HttpRequest, Method, Place } from '../messages.ts';
import type { Names } from '../names.ts';
import { placesOf, probeOf, ROUTES } from '../routes.ts';
import { samplePath } from '../samples.ts';
import { type HttpSubject, httpRow, type RowSession } from '../subject.ts';

const NOT_FOUND: Expectation = { status: 404, json: '{code:int,message:text}', message: 'Not Found' };
/** HEAD is served as well as GET. */
const TECHNICAL = ['/health', '/readiness', '/metrics', '/', '/robots.txt'];
/** The public network's node answers any method there. */
const ANY_METHOD = new Set([...TECHNICAL, '/svc/{reference}', '/svc/{reference}/{path}']);
/** Methods that change nothing, should a node serve them. */
const HARMLESS = new Set<Method>(['GET', 'HEAD', 'OPTIONS']);
const CANDIDATES: readonly Method[] = ['HEAD', 'GET', 'PUT', 'PATCH', 'POST', 'DELETE'];

export function transportRows(names: Names): Row<HttpSubject>[] {
  return [...methodRows(names), ...pathRows(names), ...interfaceRows(), ...originRows()];
}

/** Methods of a path on one interface. */
function methodsOf(path: string, place: Place): Method[] {
  const methods = ROUTES.filter((route) => route.path === path && placesOf(route).includes(place)).map(
    ({ method }) => method,
  );
  return [...methods, ...(TECHNICAL.includes(path) ? ['HEAD' as const] : [])].sort();
}

function methodRows(names: Names): Row<HttpSubject>[] {
  const paths = new Set(ROUTES.filter(({ port }) => port !== 'debug').map(({ path }) => path));
  return [...paths]
    .filter((path) => !(names.isSwarm && ANY_METHOD.has(path)))
    .flatMap((path) => {
      const methods = methodsOf(path, 'main');
      const allow = methods.join(', ');
      const ask = async (session: RowSession, request: HttpRequest, expected: Expectation) => {
        await session.enabled(probeOf({ path }));
        await session.ask(request, expected);
      };
      const wrong = CANDIDATES.filter((method) => !methods.includes(method)).slice(0, 2);
      return [
        ...wrong.map((method) =>
          httpRow({
            id: `${method} ${path} method`,
            group: 'methods',
            about: `${method} is refused, with the methods that there are: ${allow}`,
            level: HARMLESS.has(method) ? 'read' : 'write',
            steps: (session) =>
              ask(
                session,
                { method, path: samplePath({ path }) },
                {
                  status: 405,
                  headers: { allow },
                  ...(method === 'HEAD' ? { empty: true } : { message: 'Method Not Allowed' }),
                },
              ),
          }),
        ),
        httpRow({
          id: `OPTIONS ${path}`,
          group: 'methods',
          about: `OPTIONS tells the methods: ${allow}`,
          level: 'read',
          steps: (session) =>
            ask(
              session,
              { method: 'OPTIONS', path: samplePath({ path }) },
              { status: 204, headers: { allow }, empty: true },
            ),
        }),
      ];
    });
}

function pathRows(names: Names): Row<HttpSubject>[] {
  const paths = new Set(ROUTES.filter(({ port }) => port !== 'debug').map(({ path }) => path));
  const get = (id: string, about: string, path: string, expected: Expectation) =>
    httpRow({
      id,
      group: 'paths',
      about,
      level: 'read',
      steps: (session) => session.ask({ path }, expected),
    });
  const redirected = (path: string, location: string) =>
    get(`GET ${path}`, `is sent to ${location}`, path, { status: 301, headers: { location }, empty: true });
  return [
    ...[...paths]
      .filter((path) => path !== '/' && !/^\/(svc\/|connect\/)/.test(path))
      .map((path) =>
        get(`${path}/`, 'is another path with a slash at its end', `${samplePath({ path })}/`, NOT_FOUND),
      ),
    get('unknown path', 'is not found', '/nothing-here', NOT_FOUND),
    get('unknown path below a known one', 'is not found', '/health/nothing', NOT_FOUND),
    redirected('//health', '/health'),
    redirected('/./health', '/health'),
    redirected('/x/../health?a=b', '/health?a=b'),
    redirected('/chequebook//address', '/chequebook/address'),
    get('%2F in a path', 'is a slash', '/chequebook%2Faddress', { status: 200, json: 'any' }),
    ...TECHNICAL.map((path) =>
      httpRow({
        id: `HEAD ${path}`,
        group: 'methods',
        about: 'is answered without a body',
        level: 'read',
        steps: (session) => session.ask({ method: 'HEAD', path }, { status: 200, empty: true }),
      }),
    ),
    ...(names.isSwarm
      ? []
      : [
          get('GET /bzz', "the other dialect's path is served", '/bzz/zz', {
            status: 400,
            message: 'invalid path params',
          }),
        ]),
  ];
}

/** The debug interface serves some of the paths, and nothing on it is cached. */
function interfaceRows(): Row<HttpSubject>[] {
  const here = new Set(ROUTES.filter(({ port }) => port !== 'main').map(({ path }) => path));
  const elsewhere = new Set(ROUTES.map(({ path }) => path).filter((path) => !here.has(path)));
  return [
    ...[...elsewhere]
      .filter((path) => path !== '/chunks/stream')
      .map((path) =>
        httpRow({
          id: `${path} debug`,
          group: 'interfaces',
          about: 'is not served on the debug interface',
          level: 'read',
          steps: async (session) => {
            session.needs('debug');
            await session.ask({ place: 'debug', path: samplePath({ path }) }, NOT_FOUND);
          },
        }),
      ),
    httpRow({
      id: 'caching debug',
      group: 'interfaces',
      about: 'nothing of the debug interface is cached',
      level: 'read',
      steps: async (session) => {
        session.needs('debug');
        await session.ask(
          { place: 'debug', path: '/health' },
          {
            status: 200,
            headers: {
              'cache-control': 'no-cache, no-store, must-revalidate',
              pragma: 'no-cache',
              expires: '0',
            },
          },
        );
      },
    }),
    httpRow({
      id: 'caching main',
      group: 'interfaces',
      about: 'the main interface says nothing of caching',
      level: 'read',
      steps: (session) =>
        session.ask({ path: '/health' }, { status: 200, headers: { 'cache-control': null } }),
    }),
  ];
}

function originRows(): Row<HttpSubject>[] {
  const row = (id: string, about: string, origin: string | undefined, headers: Expectation['headers']) =>
    httpRow({
      id,
      group: 'origins',
      about,
      level: 'read',
      steps: (session) =>
        session.ask(
          { path: '/health', headers: { origin: origin ?? session.subject.origin } },
          { status: 200, headers: headers ?? { 'access-control-allow-origin': session.subject.origin } },
        ),
    });
  return [
    row('foreign origin', 'a page of a foreign origin reads nothing', 'http://elsewhere.example', {
      'access-control-allow-origin': null,
      'access-control-allow-credentials': null,
    }),
    row('own origin', "a page of the node's own origin is let in", undefined, undefined),
    row('own origin, what is allowed', 'methods, age and credentials are told', undefined, {
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'GET, HEAD, OPTIONS, POST, PUT, DELETE',
      'access-control-max-age': '3600',
      'access-control-allow-headers': /Range/,
    }),
  ];
}
