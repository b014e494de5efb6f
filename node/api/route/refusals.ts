/**
 * Which errors an operation can answer, read from its row: what admits requests, its gates, its parameters, its body,
 * and the errors that the row itself names.
 */
import type { Dialect } from '../dialect.ts';
import type { ApiErrorCode } from '../errors.ts';
import { GATE_REFUSALS } from '../gates.ts';
import { type AnyParam, paramsIn, REFUSED, type Source } from '../values/params.ts';
import { effectOf, type Route } from './route.ts';

/** Each once, in the order in which they are tested. */
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
      // Names would be looked up by a service that this node lacks.
      ...(read.some(({ kind }) => kind.byName === true) ? (['SERVICE_UNAVAILABLE'] as const) : []),
    ];
  });
}

/** A part of a path is never missing. */
function canBeWrong({ kind, checks, required }: AnyParam, source: Source): boolean {
  return kind.never !== 'refused' || checks.length > 0 || (required && source !== 'path');
}
