import type { Row } from '../../row.ts';
import type { Method, Place } from '../messages.ts';
import type { Names } from '../names.ts';
import { type Question, table } from '../question.ts';
import { placesOf, probeOf, ROUTES } from '../routes.ts';
import { samplePath } from '../samples.ts';
import type { Expected, HttpSubject } from '../subject.ts';

const NOT_FOUND: Expected = { status: 404, json: '{code:int,message:text}', message: 'Not Found' };
/** Served by HEAD and GET. */
const TECHNICAL = ['/health', '/readiness', '/metrics', '/', '/robots.txt'];
/** Any method on the public network. */
const ANY_METHOD = new Set([...TECHNICAL, '/svc/{reference}', '/svc/{reference}/{path}']);
/** Change nothing if served. */
const HARMLESS = new Set<Method>(['GET', 'HEAD', 'OPTIONS']);
const CANDIDATES: readonly Method[] = ['HEAD', 'GET', 'PUT', 'PATCH', 'POST', 'DELETE'];
/** Main interface, each once. */
const PATHS = [...new Set(ROUTES.filter(({ port }) => port !== 'debug').map(({ path }) => path))];

export function transportRows(names: Names): Row<HttpSubject>[] {
  const level = 'read';
  return [
    ...table('methods', { level }, methods(names)),
    ...table('paths', { level }, paths()),
    ...table('methods', { level }, HEADS),
    ...table('paths', { level }, names.either(OTHER_PATHS, [])),
    ...table('interfaces', { level }, interfaces()),
    ...table('origins', { level }, ORIGINS),
  ];
}

function methodsOf(path: string, place: Place): Method[] {
  const methods = ROUTES.filter((route) => route.path === path && placesOf(route).includes(place)).map(
    ({ method }) => method,
  );
  return [...methods, ...(TECHNICAL.includes(path) ? ['HEAD' as const] : [])].sort();
}

function methods(names: Names): Question[] {
  return PATHS.filter((path) => !(names.isSwarm && ANY_METHOD.has(path))).flatMap((path) => {
    const methods = methodsOf(path, 'main');
    const allow = methods.join(', ');
    const ask = { path: samplePath({ path }) };
    const enabled = probeOf({ path });
    const refused = { status: 405, headers: { allow } };
    const wrong = CANDIDATES.filter((method) => !methods.includes(method)).slice(0, 2);
    return [
      ...wrong.map(
        (method): Question => ({
          id: `${method} ${path} method`,
          about: `${method} is refused, with the methods that there are: ${allow}`,
          level: HARMLESS.has(method) ? 'read' : 'write',
          enabled,
          ask: { method, ...ask },
          expect:
            method === 'HEAD' ? { ...refused, empty: true } : { ...refused, message: 'Method Not Allowed' },
        }),
      ),
      {
        id: `OPTIONS ${path}`,
        about: `OPTIONS tells the methods: ${allow}`,
        enabled,
        ask: { method: 'OPTIONS', ...ask },
        expect: { status: 204, headers: { allow }, empty: true },
      },
    ];
  });
}

function paths(): Question[] {
  const redirected = (path: string, location: string): Question => ({
    id: `GET ${path}`,
    about: `is sent to ${location}`,
    ask: { path },
    expect: { status: 301, headers: { location }, empty: true },
  });
  return [
    ...PATHS.filter((path) => path !== '/' && !/^\/(svc\/|connect\/)/.test(path)).map((path) => ({
      id: `${path}/`,
      about: 'is another path with a slash at its end',
      ask: { path: `${samplePath({ path })}/` },
      expect: NOT_FOUND,
    })),
    { id: 'unknown path', about: 'is not found', ask: { path: '/nothing-here' }, expect: NOT_FOUND },
    {
      id: 'unknown path below a known one',
      about: 'is not found',
      ask: { path: '/health/nothing' },
      expect: NOT_FOUND,
    },
    redirected('//health', '/health'),
    redirected('/./health', '/health'),
    redirected('/x/../health?a=b', '/health?a=b'),
    redirected('/chequebook//address', '/chequebook/address'),
    {
      id: '%2F in a path',
      about: 'is a slash',
      ask: { path: '/chequebook%2Faddress' },
      expect: { status: 200, json: 'any' },
    },
  ];
}

const HEADS = TECHNICAL.map(
  (path): Question => ({
    id: `HEAD ${path}`,
    about: 'is answered without a body',
    ask: { method: 'HEAD', path },
    expect: { status: 200, empty: true },
  }),
);

const OTHER_PATHS: readonly Question[] = [
  {
    id: 'GET /bzz',
    about: "the other dialect's path is served",
    ask: { path: '/bzz/zz' },
    expect: { status: 400, message: 'invalid path params' },
  },
];

/** The debug interface serves some paths and caches nothing. */
function interfaces(): Question[] {
  const here = new Set(ROUTES.filter(({ port }) => port !== 'main').map(({ path }) => path));
  const elsewhere = new Set(ROUTES.map(({ path }) => path).filter((path) => !here.has(path)));
  elsewhere.delete('/chunks/stream');
  return [
    ...[...elsewhere].map(
      (path): Question => ({
        id: `${path} debug`,
        about: 'is not served on the debug interface',
        needs: 'debug',
        ask: { place: 'debug', path: samplePath({ path }) },
        expect: NOT_FOUND,
      }),
    ),
    {
      id: 'caching debug',
      about: 'nothing of the debug interface is cached',
      needs: 'debug',
      ask: { place: 'debug', path: '/health' },
      expect: {
        status: 200,
        headers: {
          'cache-control': 'no-cache, no-store, must-revalidate',
          pragma: 'no-cache',
          expires: '0',
        },
      },
    },
    {
      id: 'caching main',
      about: 'the main interface says nothing of caching',
      ask: { path: '/health' },
      expect: { status: 200, headers: { 'cache-control': null } },
    },
  ];
}

const ORIGINS: readonly Question[] = [
  {
    id: 'foreign origin',
    about: 'a page of a foreign origin reads nothing',
    ask: { path: '/health', headers: { origin: 'http://elsewhere.example' } },
    expect: {
      status: 200,
      headers: { 'access-control-allow-origin': null, 'access-control-allow-credentials': null },
    },
  },
  {
    id: 'own origin',
    about: "a page of the node's own origin is let in",
    ask: { path: '/health', headers: { origin: '{origin}' } },
    expect: { status: 200, headers: { 'access-control-allow-origin': '{origin}' } },
  },
  {
    id: 'own origin, what is allowed',
    about: 'methods, age and credentials are told',
    ask: { path: '/health', headers: { origin: '{origin}' } },
    expect: {
      status: 200,
      headers: {
        'access-control-allow-credentials': 'true',
        'access-control-allow-methods': 'GET, HEAD, OPTIONS, POST, PUT, DELETE',
        'access-control-max-age': '3600',
        'access-control-allow-headers': /Range/,
      },
    },
  },
];
