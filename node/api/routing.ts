/** From the rows of the route table to the paths of one listener. */
import type { FastifyRequest } from 'fastify';
import type { Port, Route } from './route.ts';

/** Every row of one path. */
export interface PathRoutes {
  readonly path: string;
  /** Names of the path's variables in order. */
  readonly variables: readonly string[];
  readonly byMethod: ReadonlyMap<string, Route>;
}

/** Rows of one listener, grouped by path. */
export function pathsOf(rows: readonly Route[], port: Port): PathRoutes[] {
  const groups = new Map<string, Map<string, Route>>();
  for (const row of rows) {
    if (row.port !== 'both' && row.port !== port) continue;
    const group = groups.get(row.path) ?? new Map<string, Route>();
    group.set(row.method, row);
    groups.set(row.path, group);
  }
  return [...groups].map(([path, byMethod]) => ({
    path,
    variables: [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1] ?? ''),
    byMethod,
  }));
}

/** Variables that take the rest of the path. */
const REST_VARIABLES: ReadonlySet<string> = new Set(['path', 'multiAddress']);

/** The router's name of the n-th variable of a path (wire names may hold characters that it gives a meaning). */
function routerName(index: number): string {
  return `p${index}`;
}

export function pathVariable(routes: PathRoutes, request: FastifyRequest, name: string): string {
  const values = request.params as Readonly<Record<string, string>>;
  return values[REST_VARIABLES.has(name) ? '*' : routerName(routes.variables.indexOf(name))] ?? '';
}

/** Every variable but `path` takes at least one character; else the path is an unknown one. */
export function hasEmptyVariable(routes: PathRoutes, request: FastifyRequest): boolean {
  return routes.variables.some((name) => name !== 'path' && pathVariable(routes, request, name) === '');
}

/** `/stamps/{amount}/{depth}` → `/stamps/:p0/:p1`; the variables that take the rest of the path become `*`. */
export function routerPath({ path, variables }: PathRoutes): string {
  return path.replace(/\{([^}]+)\}/g, (_all, name: string) =>
    REST_VARIABLES.has(name) ? '*' : `:${routerName(variables.indexOf(name))}`,
  );
}

/** What matches a path of the table, for methods that the router does not know. */
export function patternOf(path: string): RegExp {
  const source = path
    .replace(/[.]/g, String.raw`\.`)
    .replace(/\{([^}]+)\}/g, (_all, name: string) => (REST_VARIABLES.has(name) ? '.+' : '[^/]+'));
  return new RegExp(`^${source}(\\?|$)`);
}
