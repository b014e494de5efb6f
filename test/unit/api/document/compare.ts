/** What the node declares, against `vectors/http-document.json`. Each difference is one line. */
import { dialectOf } from '../../../../node/api/dialect.ts';
import { openApiDocument } from '../../../../node/api/route/openapi.ts';
import type { Route } from '../../../../node/api/route/route.ts';
import { schemas } from '../../../../node/api/route/schemas.ts';
import { ROUTES } from '../../../../node/api/routes/table.ts';
import document from '../../../vectors/http-document.json' with { type: 'json' };

interface QueryParam {
  readonly type: string;
  readonly required?: boolean;
  readonly [keyword: string]: unknown;
}

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, QueryParam>>;
  /** Name → whether it is required. */
  readonly headers: Readonly<Record<string, boolean>>;
  readonly body?: { readonly type: string; readonly required?: boolean };
  readonly success: readonly number[];
  readonly answer?: 'json' | 'octets' | 'socket';
  readonly shape?: string;
  readonly answerHeaders?: readonly string[];
  readonly errors: readonly number[];
}

interface Served {
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: Readonly<Record<string, unknown>>;
  }[];
  readonly requestBody?: { readonly required?: boolean };
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly content?: Readonly<Record<string, unknown>>;
        readonly headers?: Readonly<Record<string, unknown>>;
      }
    >
  >;
}

type Fields = { readonly [name: string]: Fields } | readonly Fields[] | string;
interface Schema {
  readonly type?: string;
  readonly pattern?: string;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly patternProperties?: Readonly<Record<string, Schema>>;
}

const dialect = dialectOf('svc');
const served = openApiDocument(ROUTES, dialect, 'main') as {
  paths: Record<string, Record<string, Served | undefined>>;
};
const shapes = schemas(dialect) as Readonly<Record<string, Schema>>;
export const OPERATIONS = document.operations as unknown as readonly Operation[];

export function undocumented(): string[] {
  const known = new Set(OPERATIONS.map(({ method, path }) => `${method} ${path}`));
  return ROUTES.filter(({ port }) => port !== 'debug')
    .map(({ method, path }) => `${method} ${path}`)
    .filter((name) => !known.has(name))
    .map((name) => `${name}: not in the document`);
}

export function differencesOf(operation: Operation): string[] {
  const { method, path } = operation;
  const row = ROUTES.find((one) => one.method === method && one.path === path && one.port !== 'debug');
  const own = served.paths[path]?.[method.toLowerCase()];
  const found = row === undefined || own === undefined ? ['not served'] : inputs(operation, own);
  if (row !== undefined && own !== undefined) found.push(...answers(operation, row, own));
  return found.map((difference) => `${method} ${path}: ${difference}`);
}

function inputs({ query, headers, body }: Operation, own: Served): string[] {
  const ownIn = (place: string) => own.parameters.filter((parameter) => parameter.in === place);
  const queried = ownIn('query').map(({ name, required, schema }) => {
    const { type, minimum, maximum, default: absent } = schema;
    return [name, { type, minimum, maximum, default: absent, required: required || undefined }] as const;
  });
  const sent = ownIn('header').map(
    ({ name, required }) => [name, { required: required || undefined }] as const,
  );
  const listed = Object.entries(headers).map(
    ([name, required]) => [name, { required: required || undefined }] as const,
  );
  return [
    ...parameters('query', Object.entries(query), queried),
    ...parameters('header', listed, sent),
    ...(body === undefined || own.requestBody !== undefined ? [] : ['takes no body']),
    ...(body?.required === true && own.requestBody !== undefined && own.requestBody.required !== true
      ? ['the body is optional']
      : []),
  ];
}

function said(value: unknown): string {
  return typeof value === 'bigint'
    ? String(value)
    : (JSON.stringify(value) ?? 'undefined').replaceAll('"', '');
}

type Listed = readonly (readonly [name: string, Readonly<Record<string, unknown>>])[];

function parameters(place: string, listed: Listed, own: Listed): string[] {
  const owned = new Map(own);
  const known = new Map(listed);
  return [
    ...listed.flatMap(([name, wanted]) => {
      const had = owned.get(name);
      if (had === undefined) return [`${place} ${name} is not read`];
      return ['type', 'required', 'minimum', 'maximum', 'default']
        .filter((keyword) => wanted[keyword] !== undefined || had[keyword] !== undefined)
        .filter((keyword) => said(wanted[keyword]) !== said(had[keyword]))
        .map(
          (keyword) =>
            `${place} ${name}: ${keyword} ${said(had[keyword])} instead of ${said(wanted[keyword])}`,
        );
    }),
    ...own.filter(([name]) => !known.has(name)).map(([name]) => `${place} ${name} is read, too`),
  ];
}

function answers(
  { success, answer, shape, answerHeaders = [], errors }: Operation,
  row: Route,
  own: Served,
): string[] {
  const successes = row.successIn?.(dialect) ?? row.success;
  const statuses = new Set(Object.keys(own.responses).map(Number));
  const [type] = Object.keys(own.responses[String(successes[0])]?.content ?? {});
  const sent = Object.keys(own.responses[String(successes[0])]?.headers ?? {});
  const kind = successes.includes(101) ? 'socket' : type === 'application/json' ? 'json' : 'octets';
  return [
    ...success.filter((status) => !statuses.has(status)).map((status) => `no success ${status}`),
    ...successes
      .filter((status) => success.length > 0 && !success.includes(status))
      .map((status) => `success ${status}, too`),
    ...errors.filter((status) => !statuses.has(status)).map((status) => `no error ${status}`),
    ...(answer === undefined || answer === kind ? [] : [`answers ${kind} instead of ${answer}`]),
    ...answerHeaders.filter((name) => !sent.includes(name)).map((name) => `answers no header ${name}`),
    ...sent.filter((name) => !answerHeaders.includes(name)).map((name) => `answers header ${name}, too`),
    ...(shape === undefined ? [] : shapeDifferences(shape, String(row.response))),
  ];
}

function shapeDifferences(shape: string, response: string): string[] {
  const wanted = (document.shapes as unknown as Record<string, Fields>)[shape];
  const own = shapes[response];
  if (wanted === undefined || own === undefined) return [`shape ${response} instead of ${shape}`];
  return fieldDifferences(wanted, own, []);
}

export function fieldDifferences(wanted: Fields, own: Schema, at: readonly string[]): string[] {
  const where = `field ${at.join('.') || '(whole)'}`;
  // Null stands for a part that is not there.
  const shape = own.anyOf?.find(({ type }) => type !== 'null') ?? own;
  if (typeof wanted === 'string') {
    const is = typeOf(shape);
    return is === wanted || (wanted === 'string' && shape.type === 'string')
      ? []
      : [`${where}: ${is} instead of ${wanted}`];
  }
  if (Array.isArray(wanted)) {
    return shape.items === undefined
      ? [`${where}: no list`]
      : fieldDifferences(wanted[0] as Fields, shape.items, [...at, '[]']);
  }
  const names = wanted as Readonly<Record<string, Fields>>;
  if (names['*'] !== undefined) {
    const [each] = Object.values(shape.patternProperties ?? {});
    return each === undefined
      ? [`${where}: names are fixed`]
      : fieldDifferences(names['*'], each, [...at, '*']);
  }
  const has = shape.properties ?? {};
  return [
    ...Object.entries(names).flatMap(([name, field]) => {
      const inner = has[name];
      if (inner === undefined) return [`field ${[...at, name].join('.')} is missing`];
      const optional =
        shape.required?.includes(name) === true ? [] : [`field ${[...at, name].join('.')} may be missing`];
      return [...optional, ...fieldDifferences(field, inner, [...at, name])];
    }),
    ...(Object.keys(names).length === 0 ? [] : Object.keys(has))
      .filter((name) => !Object.hasOwn(names, name))
      .map((name) => `field ${[...at, name].join('.')} is there, too`),
  ];
}

function typeOf({ type = 'anything', pattern = '' }: Schema): string {
  const words: Readonly<Record<string, string>> = {
    '^[a-f0-9]{64}$': 'hash',
    '^(0x)?[a-fA-F0-9]{40}$': 'address',
    '^0x[a-f0-9]{64}$': 'txHash',
    '^-?[0-9]+$': 'amount',
  };
  return words[pattern] ?? type;
}
