import type { Port, Route } from './route/route.ts';
import { percentDecode } from './values/percent.ts';

export interface PathRoutes {
  readonly path: string;
  readonly byMethod: ReadonlyMap<string, Route>;
}

export function pathsOf(rows: readonly Route[], port: Port): PathRoutes[] {
  const groups = new Map<string, Map<string, Route>>();
  for (const row of rows) {
    if (row.port !== 'both' && row.port !== port) continue;
    const group = groups.get(row.path) ?? new Map<string, Route>();
    group.set(row.method, row);
    groups.set(row.path, group);
  }
  return [...groups].map(([path, byMethod]) => ({ path, byMethod }));
}

/** They take the rest of the path. */
const REST_VARIABLES: ReadonlySet<string> = new Set(['path', 'prefix', 'multiAddress']);

/** Paths may name one variable differently. */
interface Branch {
  readonly exact: Map<string, Branch>;
  variable: Branch | undefined;
  rest: PathRoutes | undefined;
  routes: PathRoutes | undefined;
}

export interface Match {
  readonly routes: PathRoutes;
  readonly params: ReadonlyMap<string, string>;
}

export type Router = (path: string) => Match | undefined;

/** Literal segments go before a variable, a variable before one that takes the rest. */
export function createRouter(paths: readonly PathRoutes[]): Router {
  const root = emptyBranch();
  for (const routes of paths) grow(root, routes);
  return (path) => {
    const found = find(root, path.slice(1).split('/').map(decoded));
    if (found === undefined) return undefined;
    const names = [...found.routes.path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1] as string);
    return {
      routes: found.routes,
      params: new Map(names.map((name, i) => [name, found.values[i] as string])),
    };
  };
}

function decoded(segment: string): string {
  return percentDecode(segment) ?? segment;
}

function emptyBranch(): Branch {
  return { exact: new Map(), variable: undefined, rest: undefined, routes: undefined };
}

function grow(root: Branch, routes: PathRoutes): void {
  let branch = root;
  for (const segment of routes.path.slice(1).split('/')) {
    const variable = /^\{(.+)\}$/.exec(segment)?.[1];
    if (variable !== undefined && REST_VARIABLES.has(variable)) {
      branch.rest = routes;
      return;
    }
    const known = variable === undefined ? branch.exact.get(segment) : branch.variable;
    const next = known ?? emptyBranch();
    if (variable === undefined) branch.exact.set(segment, next);
    else branch.variable = next;
    branch = next;
  }
  branch.routes = routes;
}

interface Found {
  readonly routes: PathRoutes;
  readonly values: readonly string[];
}

function find(branch: Branch, segments: readonly string[]): Found | undefined {
  const [segment, ...others] = segments;
  if (segment === undefined) return branch.routes && { routes: branch.routes, values: [] };
  const next = branch.exact.get(segment);
  const written = next && find(next, others);
  if (written !== undefined) return written;
  // A variable takes at least one character.
  const found = segment === '' || branch.variable === undefined ? undefined : find(branch.variable, others);
  if (found !== undefined) return { ...found, values: [segment, ...found.values] };
  const value = segments.join('/');
  const mayBeEmpty = branch.rest?.path.endsWith('{multiAddress}') === false;
  return branch.rest && (mayBeEmpty || value !== '') ? { routes: branch.rest, values: [value] } : undefined;
}
