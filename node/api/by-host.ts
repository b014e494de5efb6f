/**
 * Content by host name: `http://{name}.svc.localhost/{path}` is the file `/svc/{name}/{path}`, so that absolute links work:
 * `http-api-completion.md` 5.3, end. Contrary to that text, no operation is available there: pages would share its origin.
 */
import { nameOf } from '../../formats/hosts.ts';
import { HOST_SUFFIXES } from './dialect.ts';
import type { Target } from './paths.ts';
import type { Port, Route } from './route/route.ts';
import { HOST_FILE_ROUTE } from './routes/files.ts';
import { createRouter, type Match, type PathRoutes, pathsOf } from './routing.ts';

export type Matcher = (target: Target, host: string | undefined) => Match | undefined;

const matchers = new WeakMap<readonly Route[], Map<Port, Matcher>>();

export function matcherOf(routes: readonly Route[], port: Port): Matcher {
  const ofTable = matchers.get(routes) ?? new Map<Port, Matcher>();
  matchers.set(routes, ofTable);
  const matcher = ofTable.get(port) ?? createMatcher(routes, port);
  ofTable.set(port, matcher);
  return matcher;
}

/** The host decides if it names content, except for probes. */
function createMatcher(routes: readonly Route[], port: Port): Matcher {
  const router = createRouter(pathsOf(routes, port));
  const [files] = pathsOf([HOST_FILE_ROUTE], port);
  return (target, host) => {
    if (target.kind !== 'route') return undefined;
    const known = router(target.path);
    const name = contentName(host);
    if (name === undefined || isForProbes(known)) return known;
    if (files === undefined) return undefined;
    const params = { subdomain: name, path: target.sent.slice(1) };
    return { routes: files, params: new Map(Object.entries(params)) };
  };
}

/** Undefined: a node's host. */
function contentName(host = ''): string | undefined {
  const name = nameOf(host) ?? '';
  const suffix = HOST_SUFFIXES.find((end) => name.endsWith(end));
  return suffix === undefined ? undefined : name.slice(0, -suffix.length);
}

function isForProbes(known: Match | undefined): boolean {
  const rows: PathRoutes['byMethod'] = known?.routes.byMethod ?? new Map();
  return rows.values().some(({ forProbes }) => forProbes === true);
}
