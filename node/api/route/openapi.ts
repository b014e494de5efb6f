/** The OpenAPI document of one listener, written from the route table. */
import type { Dialect } from '../dialect.ts';
import { CANONICAL_SEGMENT } from '../dialect.ts';
import { ApiError, errorBody, statusOf } from '../errors.ts';
import { reference } from '../values/kinds.ts';
import {
  type AnyParam,
  type HeaderTable,
  type ParamTable,
  paramsIn,
  type Source,
  wireName,
} from '../values/params.ts';
import type { Port, Route } from './route.ts';
import { type SchemaName, schemas } from './schemas.ts';

const CONTENT_TYPES = {
  octets: 'application/octet-stream',
  json: 'application/json',
  files: '*/*',
  text: 'text/plain',
} as const;
const BEARER = {
  type: 'http',
  scheme: 'bearer',
  description: 'one of the tokens of the node, when it has any',
} as const;
const BINARY = { type: 'string', format: 'binary' } as const;
/** The description of a status of 500 or more lists its messages. */
const BETWEEN_MESSAGES = '; ';
const TITLE: Readonly<Record<Port, string>> = { main: 'Storage node API', debug: 'Storage node debug API' };

export function openApiDocument(
  routes: readonly Route[],
  dialect: Dialect,
  port: Port,
): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const row of routes) {
    if (row.port !== 'both' && row.port !== port) continue;
    const path = row.path.replace(new RegExp(`^/${CANONICAL_SEGMENT}(?=/|$)`), `/${dialect.segment}`);
    paths[path] = { ...paths[path], [row.method.toLowerCase()]: operation(row, dialect) };
  }
  return {
    openapi: '3.1.0',
    info: { title: TITLE[port], version: dialect.versions[port] },
    servers: [{ url: '/' }, { url: '/v1' }],
    paths,
    components: { schemas: schemas(dialect), securitySchemes: { bearer: BEARER } },
    // Needed only on a node with configured tokens.
    security: [{}, { bearer: [] }],
  };
}

function operation(row: Route, dialect: Dialect): Record<string, unknown> {
  const parameters = [
    ...parametersOf('path', row.params ?? {}, dialect),
    ...parametersOf('query', row.query ?? {}, dialect),
    ...parametersOf('header', row.headers ?? {}, dialect),
  ];
  return {
    summary: row.summary,
    parameters,
    ...(row.body === undefined ? {} : { requestBody: requestBody(row.body) }),
    responses: responses(row, dialect),
    ...(row.forProbes === true ? { security: [] } : {}),
  };
}

function parametersOf(place: Source, table: ParamTable | HeaderTable, dialect: Dialect): unknown[] {
  return paramsIn(table, dialect).map(([key, param]) => ({
    name: wireName(place, key, param, dialect),
    in: place,
    required: place === 'path' || param.required,
    schema: schemaOf(param, dialect),
  }));
}

function schemaOf({ kind, absent, checks }: AnyParam, dialect: Dialect): Record<string, unknown> {
  const keywords = checks.map((check) => check.keywords?.(dialect) ?? {});
  const value = kind.schema.type === 'string' && typeof absent === 'boolean' ? String(absent) : absent;
  return Object.assign({}, kind.schema, ...keywords, value === undefined ? {} : { default: value });
}

function requestBody({ content, schema }: NonNullable<Route['body']>): unknown {
  return { content: { [CONTENT_TYPES[content]]: { schema: schema === undefined ? BINARY : refTo(schema) } } };
}

function responses(row: Route, dialect: Dialect): Record<string, unknown> {
  const answers: Record<string, unknown> = {};
  for (const [i, status] of row.success.entries()) {
    answers[status] = { description: `success (${status})`, ...(i === 0 ? contentOf(row, dialect) : {}) };
  }
  const problem = { 'application/json': { schema: refTo('Problem') } };
  for (const { status, message } of serverErrors(row, dialect)) {
    const described = (answers[status] as { description: string } | undefined)?.description;
    const description = described === undefined ? message : `${described}${BETWEEN_MESSAGES}${message}`;
    answers[status] = { description, content: problem };
  }
  return { ...answers, default: { description: 'what went wrong', content: problem } };
}

function serverErrors(
  { serverErrors: declared = [], params = {} }: Route,
  dialect: Dialect,
): { status: number; message: string }[] {
  // Names would be looked up by a service that this node lacks.
  const takesNames = paramsIn(params, dialect).some(([, { kind }]) => kind === reference);
  const errors = [...declared, ...(takesNames ? (['SERVICE_UNAVAILABLE'] as const) : [])].map(
    (code) => new ApiError(code),
  );
  return errors.map((error) => ({
    status: statusOf(error),
    message: String(errorBody(error, dialect)['message']),
  }));
}

function contentOf({ response, method, mediaType }: Route, dialect: Dialect): Record<string, unknown> {
  if (response === undefined || method === 'HEAD') return {};
  const type = typeof mediaType === 'function' ? mediaType(dialect) : (mediaType ?? CONTENT_TYPES.octets);
  if (response === 'octets') return { content: { [type]: { schema: BINARY } } };
  if (response === 'text') return { content: { [CONTENT_TYPES.text]: { schema: { type: 'string' } } } };
  return { content: { [CONTENT_TYPES.json]: { schema: refTo(response) } } };
}

function refTo(name: SchemaName): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}
