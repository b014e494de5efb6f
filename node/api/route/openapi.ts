import { CANONICAL_SEGMENT, type Dialect } from '../dialect.ts';
import { ApiError, type ApiErrorCode, errorBody, inDialect, statusOf } from '../errors.ts';
import { GATE_REFUSALS } from '../gates.ts';
import { GAS_HEADERS } from '../values/gas.ts';
import {
  type AnyParam,
  type HeaderTable,
  type ParamTable,
  paramsIn,
  REFUSED,
  type Source,
  wireName,
} from '../values/params.ts';
import { effectOf, type Port, type Route } from './route.ts';
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
const TEXT_HEADER = { schema: { type: 'string' } } as const;
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
    security: [{}, { bearer: [] }],
  };
}

function operation(row: Route, dialect: Dialect): Record<string, unknown> {
  const parameters = [
    ...parametersOf('path', row.params ?? {}, dialect),
    ...parametersOf('query', row.query ?? {}, dialect),
    ...parametersOf('header', { ...row.headers, ...(row.gates.includes('gas') ? GAS_HEADERS : {}) }, dialect),
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

function requestBody({ content, schema, required }: NonNullable<Route['body']>): unknown {
  return {
    ...(required === undefined ? {} : { required }),
    content: { [CONTENT_TYPES[content]]: { schema: schema === undefined ? BINARY : refTo(schema) } },
  };
}

function responses(row: Route, dialect: Dialect): Record<string, unknown> {
  const answers: Record<string, unknown> = {};
  const success = row.successIn?.(dialect) ?? row.success;
  for (const [i, status] of success.entries()) {
    answers[status] = {
      description: `success (${status})`,
      ...answerHeaders(row, dialect),
      ...(i === 0 ? contentOf(row, dialect) : {}),
    };
  }
  for (const [status, { says, response }] of Object.entries(row.others ?? {}))
    answers[status] = {
      description: says,
      ...(response === undefined ? {} : contentOf({ ...row, response }, dialect)),
    };
  const problem =
    row.method === 'HEAD' ? {} : { content: { [CONTENT_TYPES.json]: { schema: refTo('Problem') } } };
  const errors = refusalsOf(row, dialect).map((code) => inDialect(new ApiError(code), dialect));
  for (const [status, refusals] of Map.groupBy(errors, statusOf)) {
    const messages = new Set(refusals.map((error) => String(errorBody(error, dialect)['message'])));
    const others = (answers[status] as { description: string } | undefined)?.description ?? [];
    const description = [others, ...messages].flat().join(BETWEEN_MESSAGES);
    answers[status] = { ...(answers[status] as object | undefined), description, ...problem };
  }
  return { ...answers, default: { description: 'what went wrong', ...problem } };
}

function answerHeaders({ answerHeaders: keys }: Route, dialect: Dialect): { headers?: object } {
  if (keys === undefined) return {};
  const named: Readonly<Record<string, { active: string }>> = dialect.headers;
  return { headers: Object.fromEntries(keys.map((key) => [named[key]?.active ?? key, TEXT_HEADER])) };
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

/**
 * From the row: admission, gates, parameters, body, and its own errors; each once, in the order in which they are tested.
 */
export function refusalsOf(row: Route, dialect: Dialect): readonly ApiErrorCode[] {
  return [
    ...new Set([
      ...admissionRefusals(row),
      ...row.gates.flatMap((gate) => GATE_REFUSALS[gate]),
      ...paramRefusals(row, dialect),
      ...(row.bodyLimit === undefined ? [] : (['BODY_TOO_LARGE'] as const)),
      ...(row.body !== undefined && dialect.strictRequests ? (['INVALID_HEADER_PARAMS'] as const) : []),
      ...(row.body === undefined && row.bodyLimit === undefined ? [] : (['BODY_IDLE'] as const)),
      ...(row.refusals ?? []),
      ...Object.values(row.errors ?? {}),
      ...(row.serverErrors ?? []),
      row.failure ?? 'INTERNAL',
    ]),
  ];
}

function admissionRefusals(row: Route): readonly ApiErrorCode[] {
  if (row.forProbes === true) return ['HOST_REFUSED'];
  const changing = effectOf(row) === undefined ? [] : (['TOKEN_SCOPE', 'ORIGIN_REFUSED'] as const);
  return ['HOST_REFUSED', 'TOKEN_REQUIRED', ...changing];
}

function paramRefusals({ params, query, headers }: Route, dialect: Dialect): readonly ApiErrorCode[] {
  const tables = { path: params, query, header: headers };
  return (Object.keys(tables) as Source[]).flatMap((source) => {
    const read = paramsIn(tables[source] ?? {}, dialect).map(([, param]) => param);
    return [
      ...(read.some((param) => canBeWrong(param, source)) ? [REFUSED[source]] : []),
      // This node lacks a service for names.
      ...(read.some(({ kind }) => kind.byName === true) ? (['SERVICE_UNAVAILABLE'] as const) : []),
    ];
  });
}

/** A path's part is never missing. */
function canBeWrong({ kind, checks, required }: AnyParam, source: Source): boolean {
  return kind.never !== 'refused' || checks.length > 0 || (required && source !== 'path');
}
