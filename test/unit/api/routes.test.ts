import { describe, expect, test } from 'vitest';
import listed from '../../../harness/conformance/http/routes.json' with { type: 'json' };
import { dialectOf } from '../../../node/api/dialect.ts';
import { GATES } from '../../../node/api/gates.ts';
import type { Route } from '../../../node/api/route/route.ts';
import { ROUTES } from '../../../node/api/routes/table.ts';
import { paramsIn } from '../../../node/api/values/params.ts';

interface VectorParam {
  readonly name: string;
  readonly required?: boolean;
}

const dialect = dialectOf('svc');
const BEYOND = new Set([
  'HEAD /health',
  'HEAD /readiness',
  'HEAD /metrics',
  'HEAD /',
  'HEAD /robots.txt',
  'GET /openapi.json',
  'GET /status/backlog',
  'GET /chunk-events',
  'GET /manifest/{reference}/{prefix}',
]);

/** Later nodes of the public network read them: a single-owner chunk can be stored first, pushed later. */
const READ_BEYOND: Readonly<Record<string, readonly string[]>> = {
  'POST /soc/{owner}/{id}': ['svc-tag', 'svc-pin', 'svc-deferred-upload'],
};

/** Listed with less than GET has, but served alike. */
const AS_GET = ['/bytes/{reference}', '/svc/{reference}', '/svc/{reference}/{path}'];

const vector = listed.map((row) => {
  if (row.method !== 'HEAD' || !AS_GET.includes(row.path)) return row;
  const get = listed.find(({ method, path }) => method === 'GET' && path === row.path) ?? row;
  return { ...row, success: get.success, headers: get.headers };
});

function rowOf(method: string, path: string, port: string): Route | undefined {
  return ROUTES.find((row) => row.method === method && row.path === path && row.port === port);
}

/** Without the header of the handshake: parameters are read before it. */
function namesOf(params: readonly VectorParam[]): string[] {
  return params
    .map(({ name }) => name)
    .filter((name) => name !== 'upgrade')
    .sort();
}

describe('the route list', () => {
  test.each(vector)(
    '$method $path on $port is served with its success statuses',
    ({ method, path, port, success }) => {
      expect(rowOf(method, path, port)?.success).toEqual(success);
    },
  );

  test.each(vector)('$method $path on $port reads the listed parameters', (row) => {
    const served = rowOf(row.method, row.path, row.port);
    const gas = served?.gates.includes('gas') === true ? ['gas-price', 'gas-limit'] : [];
    const headers = paramsIn(served?.headers ?? {}, dialect).map(
      ([key]) => dialect.headers[key as keyof typeof dialect.headers].active,
    );
    const beyond = READ_BEYOND[`${row.method} ${row.path}`] ?? [];
    expect([...headers, ...gas].sort()).toEqual([...namesOf(row.headers), ...beyond].sort());
    expect(
      paramsIn(served?.query ?? {}, dialect)
        .map(([key]) => key)
        .sort(),
    ).toEqual(namesOf(row.query));
    expect(Object.keys(served?.params ?? {}).sort()).toEqual(Object.keys(row.params).sort());
  });

  test.each(vector)('$method $path on $port requires what the list requires', (row) => {
    const served = rowOf(row.method, row.path, row.port);
    const required = paramsIn(served?.headers ?? {}, dialect)
      .filter(([, param]) => param.required)
      .map(([key]) => dialect.headers[key as keyof typeof dialect.headers].active);
    expect(required.sort()).toEqual(
      namesOf((row.headers as VectorParam[]).filter((header) => header.required === true)),
    );
  });

  test('nothing is served that is neither listed nor an exception named here', () => {
    const known = new Set(vector.map(({ method, path, port }) => `${method} ${path} ${port}`));
    const extra = ROUTES.filter((row) => !known.has(`${row.method} ${row.path} ${row.port}`));
    expect(new Set(extra.map(({ method, path }) => `${method} ${path}`))).toEqual(BEYOND);
  });

  test('no method of a path is served twice on one port', () => {
    for (const port of ['main', 'debug'] as const) {
      const keys = ROUTES.filter((row) => row.port === 'both' || row.port === port).map(
        (row) => `${row.method} ${row.path}`,
      );
      expect(new Set(keys).size).toBe(keys.length);
    }
  });

  test('the methods of one path have the same gates, in the listed order', () => {
    const byPath = Map.groupBy(ROUTES, ({ path }) => path);
    for (const [path, rows] of byPath) {
      for (const { gates } of rows) {
        expect(gates, path).toEqual(rows[0]?.gates);
        expect(gates, path).toEqual(GATES.filter((gate) => gates.includes(gate)));
      }
    }
  });
});
