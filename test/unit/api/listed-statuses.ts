/** What the served document lists, held against what a node answers. */
import type { InjectOptions, Response } from 'light-my-request';
import { type Matcher, matcherOf } from '../../../node/api/by-host.ts';
import type { Dialect } from '../../../node/api/dialect.ts';
import { targetOf } from '../../../node/api/paths.ts';
import { openApiDocument } from '../../../node/api/route/openapi.ts';
import { dataRoutes, type Port, type Route } from '../../../node/api/route/route.ts';
import { ROUTES } from '../../../node/api/routes/table.ts';

interface Document {
  readonly paths: Record<
    string,
    Record<string, { readonly responses: Record<string, { readonly headers?: Record<string, unknown> }> }>
  >;
}

const COMMON_HEADERS =
  /^(date|connection|keep-alive|transfer-encoding|content-(type|length|security-policy)|x-(request-id|content-type-options)|access-control-allow-.*|access-control-max-age)$/;
/** On the debug port, and while the node starts. */
const UNCACHED_HEADERS = new Set(['cache-control', 'pragma', 'expires']);

const KNOWN = new Map<string, ListedStatuses>();

/** For all nodes that serve the same: the document depends on nothing else. */
export function listedStatuses(dialect: Dialect, port: Port, dataOnly = false): ListedStatuses {
  const key = `${dialect.name} ${port} ${dataOnly}`;
  const known = KNOWN.get(key) ?? new ListedStatuses(dialect, port, dataOnly ? dataRoutes(ROUTES) : ROUTES);
  KNOWN.set(key, known);
  return known;
}

export class ListedStatuses {
  readonly #document: Document;
  readonly #segment: string;
  readonly #match: Matcher;

  constructor(dialect: Dialect, port: Port, routes: readonly Route[]) {
    this.#document = openApiDocument(routes, dialect, port) as unknown as Document;
    this.#segment = dialect.segment;
    this.#match = matcherOf(routes, port);
  }

  /** @throws for an answer that is not listed */
  expect({ method = 'GET', url = '/', path = url, headers = {} }: InjectOptions, answer: Response): void {
    const target = targetOf(typeof path === 'string' ? path : path.pathname);
    const host = (headers as Record<string, string>)['host'];
    const found = target.kind === 'route' ? this.#match(target, host) : undefined;
    const row = found?.routes.byMethod.get(method.toUpperCase());
    if (row === undefined || row.ownOrigin === true) return;
    const operation = this.#document.paths[row.path.replace(/^\/svc(?=\/|$)/, `/${this.#segment}`)];
    const listed = operation?.[method.toLowerCase()]?.responses ?? {};
    const status = listed[answer.statusCode];
    if (status !== undefined && row.success.includes(answer.statusCode)) {
      const isUncached = Object.hasOwn(answer.headers, 'pragma');
      const unlisted = Object.keys(answer.headers).filter(
        (name) =>
          !COMMON_HEADERS.test(name) &&
          !(isUncached && UNCACHED_HEADERS.has(name)) &&
          !Object.hasOwn(status.headers ?? {}, name),
      );
      if (unlisted.length === 0) return;
      throw new Error(
        `${method} ${row.path} answers the headers ${unlisted.join(', ')}, which its document does not list`,
      );
    }
    if (status !== undefined) return;
    throw new Error(
      `${method} ${row.path} answers ${answer.statusCode} (${answer.body.slice(0, 200)}), which its document does not list`,
    );
  }
}
