/**
 * Parameters of a request as a route declares them, read in the two passes of `http-api-completion.md` 3.2: every
 * member of one source is parsed and all parse failures are reported together; only then everything is validated.
 */
import type { Dialect, HeaderKey, Reason } from '../dialect.ts';
import { ApiError, type ApiErrorCode } from '../errors.ts';
import { type Kind, ParseFailure } from './kinds.ts';

export type Source = 'path' | 'query' | 'header';

/** Returns the validation text, or undefined when the value is right. */
export type Check<T> = (value: T, dialect: Dialect) => string | undefined;

export interface Param<T> {
  readonly kind: Kind<NonNullable<T>>;
  /** Value when the parameter is absent. */
  readonly absent: T;
  readonly required: boolean;
  readonly checks: readonly Check<NonNullable<T>>[];
  /** Name in `reasons` when it is not the wire name. */
  readonly field?: string;
}

/** A parameter of whatever type. */
export interface AnyParam extends Omit<Param<unknown>, 'kind' | 'checks'> {
  readonly kind: Kind<unknown>;
  readonly checks: readonly Check<never>[];
}

/** Name in code → parameter. Keys of path and query tables are wire names, those of header tables `HeaderKey`s. */
export type ParamTable = Readonly<Record<string, AnyParam>>;
export type HeaderTable = { readonly [K in HeaderKey]?: AnyParam };
export type ValuesOf<S> = { readonly [K in keyof S]: S[K] extends { readonly absent: infer T } ? T : never };

interface Extras<T> {
  readonly checks?: readonly Check<T>[];
  readonly field?: string;
}

/** A parameter that may be left out; then it has the value `absent`. */
export function optional<T, A extends T | undefined>(
  kind: Kind<T>,
  absent: A,
  extras: Extras<T> = {},
): Param<A extends undefined ? T | undefined : T> {
  const param = { kind, absent, required: false, checks: extras.checks ?? [] };
  const named = extras.field === undefined ? param : { ...param, field: extras.field };
  return named as unknown as Param<A extends undefined ? T | undefined : T>;
}

/** A parameter that must be there and must not be zero or empty. */
export function required<T>(kind: Kind<T>, extras: Extras<T> = {}): Param<T> {
  const param = { kind, absent: undefined, required: true, checks: extras.checks ?? [] };
  return (extras.field === undefined ? param : { ...param, field: extras.field }) as unknown as Param<T>;
}

export const notNegative: Check<bigint> = (value) => (value < 0n ? 'want min:0' : undefined);

export const min =
  (bound: number): Check<number> =>
  (value) =>
    value < bound ? `want min:${bound}` : undefined;
export const max =
  (bound: number): Check<number> =>
  (value) =>
    value > bound ? `want max:${bound}` : undefined;
export const length =
  (bytes: number): Check<Uint8Array> =>
  (value) =>
    value.length === bytes ? undefined : `want len:${bytes}`;
export const startsNotWith =
  (start: string): Check<string> =>
  (value) =>
    value.startsWith(start) ? `want startsnotwith:${start}` : undefined;
export const oneOf =
  (words: readonly string[]): Check<string> =>
  (value) =>
    words.includes(value) ? undefined : `want oneof:${words.join(' ')}`;
export const redundancyLevelInRange: Check<number> = (value) =>
  value > 4 ? 'want redundancy level to be between 0 and 4' : undefined;

const CODE_OF: Readonly<Record<Source, ApiErrorCode>> = {
  path: 'INVALID_PATH_PARAMS',
  query: 'INVALID_QUERY_PARAMS',
  header: 'INVALID_HEADER_PARAMS',
};

/**
 * @param read raw text of a wire name of this source, undefined when it was not sent
 * @throws ApiError with all reasons of the first pass that failed
 */
export function readParams<S extends ParamTable | HeaderTable>(
  source: Source,
  table: S,
  read: (name: string) => string | undefined,
  dialect: Dialect,
): ValuesOf<S> {
  const values: Record<string, unknown> = {};
  const sent = new Set<string>();
  const failures: (Reason & { unavailable: boolean })[] = [];
  for (const [key, param] of Object.entries(table as ParamTable)) {
    try {
      const raw = rawOf(source, key, read, dialect);
      const value = raw === undefined ? undefined : param.kind.parse(raw, dialect);
      if (value !== undefined) sent.add(key);
      values[key] = value ?? param.absent;
    } catch (error) {
      if (!(error instanceof ParseFailure)) throw error;
      const field = declaredName(source, key, param, dialect);
      failures.push({ field, error: error.message, unavailable: error.unavailable });
    }
  }
  if (failures.length > 0) throw refusal(source, failures);
  const problems = validate(source, table, { values, sent }, dialect);
  if (problems.length > 0) throw new ApiError(CODE_OF[source], { reasons: problems });
  return values as ValuesOf<S>;
}

function refusal(source: Source, failures: readonly (Reason & { unavailable: boolean })[]): ApiError {
  const reasons = failures.map(({ field, error }) => ({ field, error }));
  const unavailable = failures.some((failure) => failure.unavailable);
  return new ApiError(unavailable ? 'SERVICE_UNAVAILABLE' : CODE_OF[source], { reasons });
}

function validate(
  source: Source,
  table: ParamTable,
  { values, sent }: { values: Readonly<Record<string, unknown>>; sent: ReadonlySet<string> },
  dialect: Dialect,
): Reason[] {
  const problems: Reason[] = [];
  for (const [key, param] of Object.entries(table)) {
    const problem = problemOf(param, values[key], sent.has(key), dialect);
    if (problem !== undefined)
      problems.push({ field: declaredName(source, key, param, dialect).toLowerCase(), error: problem });
  }
  return problems;
}

function problemOf(param: AnyParam, value: unknown, sent: boolean, dialect: Dialect): string | undefined {
  if (param.required && (!sent || isZero(value))) return 'want required:';
  if (!sent) return undefined;
  for (const check of param.checks) {
    const problem = check(value as never, dialect);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** A required zero counts as missing, as do an empty text and empty bytes. */
function isZero(value: unknown): boolean {
  return value === 0 || value === '' || (value instanceof Uint8Array && value.length === 0);
}

function rawOf(
  source: Source,
  key: string,
  read: (name: string) => string | undefined,
  dialect: Dialect,
): string | undefined {
  if (source !== 'header') return read(key);
  const name = dialect.headers[key as HeaderKey];
  return read(name.active) ?? (name.other === undefined ? undefined : read(name.other));
}

function declaredName(source: Source, key: string, param: AnyParam, dialect: Dialect): string {
  return source === 'header' ? dialect.headers[key as HeaderKey].declared : (param.field ?? key);
}
