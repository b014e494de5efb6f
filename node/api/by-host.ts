/**
 * Content by host name: `http://{name}.svc.localhost/{path}` is the file that `/svc/{name}/{path}` is, so that a page's
 * absolute links work. `http-api-completion.md` 5.3, end.
 */
import { HOST_SUFFIXES } from './dialect.ts';
import type { Target } from './paths.ts';
import type { Port, Route } from './route/route.ts';
import { HOST_FILE_ROUTE } from './routes/files.ts';
import { createRouter, type Match, type PathRoutes, pathsOf } from './routing.ts';

/** Finds the operation of a request by its host where that names content and the path is none that wins on any host. */
export function createMatcher(
  routes: readonly Route[],
  port: Port,
): (target: Target, host: string | undefined) => Match | undefined {
  const router = createRouter(pathsOf(routes, port));
  const [files] = pathsOf([HOST_FILE_ROUTE], port);
  return (target, host) => {
    if (target.kind !== 'route') return undefined;
    const known = router(target.path);
    const name = contentName(host);
    if (name === undefined || files === undefined || winsOnAnyHost(known)) return known;
    const params = { subdomain: name, path: target.sent.slice(1) };
    return { routes: files, params: new Map(Object.entries(params)) };
  };
}

/** What stands before the suffix; undefined for the host of a node. */
function contentName(host = ''): string | undefined {
  const name = host.replace(/:[0-9]*$/, '');
  const suffix = HOST_SUFFIXES.find((end) => name.toLowerCase().endsWith(end));
  return suffix === undefined ? undefined : name.slice(0, -suffix.length);
}

/** The node's own operations, which the debug listener has too; a site may have a description of another API. */
function winsOnAnyHost(known: Match | undefined): boolean {
  const rows: PathRoutes['byMethod'] = known?.routes.byMethod ?? new Map();
  return known?.routes.path !== '/openapi.json' && rows.values().some(({ port }) => port === 'both');
}
