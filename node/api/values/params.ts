/**
 * Parameters, read in the two passes of `http-api-completion.md` 3.2: all parse failures of a source are reported together;
 * only then is everything validated.
 */
import type { Dialect, HeaderKey, Reason } from '../dialect.ts';
import { ApiError, type ApiErrorCode } from '../errors.ts';
import { type Kind, ParseFailure } from './kinds.ts';

export type Source = 'path' | 'query' | 'header';

/** Undefined when the value is right. */
export interface Check<T> {
  (value: T, dialect: Dialect): string | undefined;
  /** The rule in JSON Schema, for the served document. */
  readonly keywords?: (dialect: Dialect) => Readonly<Record<string, unknown>>;
}

export interface Param<T> {
  readonly kind: Kind<NonNullable<T>>;
  readonly absent: T;
  readonly required: boolean;
  readonly checks: readonly Check<NonNullable<T>>[];
  readonly field?: string;
  /** A query parameter named like a header. */
  readonly named?: HeaderKey;
  /** Always has the value `absent`. */
  readonly unread?: true;
}

export interface VaryingParam<T> {
  readonly in: (dialect: Dialect) => Param<T>;
}

export interface AnyParam extends Omit<Param<unknown>, 'kind' | 'checks'> {
  readonly kind: Kind<unknown>;
  readonly checks: readonly Check<never>[];
}

interface AnyVaryingParam {
  readonly in: (dialect: Dialect) => AnyParam;
}

/** Keys of path and unnamed query parameters are wire names; those of headers are `HeaderKey`s. */
export type ParamTable = Readonly<Record<string, AnyParam | AnyVaryingParam>>;
export type HeaderTable = { readonly [K in HeaderKey]?: AnyParam | AnyVaryingParam };
type ParamIn<P> = P extends { readonly in: (dialect: Dialect) => infer Q } ? Q : P;
export type ValuesOf<S> = {
  readonly [K in keyof S]: ParamIn<S[K]> extends { readonly absent: infer T } ? T : never;
};

interface Extras<T> {
  readonly checks?: readonly Check<T>[];
  readonly field?: string;
  readonly named?: HeaderKey;
}

/** Else it has the value `absent`. */
export function optional<T, A extends T | undefined>(
  kind: Kind<T>,
  absent: A,
  extras: Extras<T> = {},
): Param<A extends undefined ? T | undefined : T> {
  const param = { checks: [], ...extras, kind, absent, required: false };
  return param as unknown as Param<A extends undefined ? T | undefined : T>;
}

/** Must be neither zero nor empty. */
export function required<T>(kind: Kind<T>, extras: Extras<T> = {}): Param<T> {
  return { checks: [], ...extras, kind, absent: undefined, required: true } as unknown as Param<T>;
}

/** Otherwise optional. */
export function requiredIf<T>(
  isRequired: boolean,
  kind: Kind<T>,
  extras: Extras<T> = {},
): Param<T | undefined> {
  return { ...required(kind, extras), required: isRequired };
}

export function varying<T>(choose: (dialect: Dialect) => Param<T>): VaryingParam<T> {
  return { in: choose };
}

export function readIf<T>(isRead: boolean, param: Param<T>): Param<T> {
  return isRead ? param : { ...param, required: false, unread: true };
}

export function paramsIn(table: ParamTable | HeaderTable, dialect: Dialect): [string, AnyParam][] {
  return allIn(table, dialect).filter(([, param]) => param.unread !== true);
}

function allIn(table: ParamTable | HeaderTable, dialect: Dialect): [string, AnyParam][] {
  return Object.entries(table as ParamTable).map(([key, param]) => [
    key,
    'in' in param ? param.in(dialect) : param,
  ]);
}

export function wireName(source: Source, key: string, { named }: AnyParam, dialect: Dialect): string {
  const header = source === 'header' ? (key as HeaderKey) : named;
  return header === undefined ? key : dialect.headers[header].active;
}

/** A check with its keywords of the document. */
export function described<T>(
  check: (value: T, dialect: Dialect) => string | undefined,
  keywords: NonNullable<Check<T>['keywords']>,
): Check<T> {
  return Object.assign((value: T, dialect: Dialect) => check(value, dialect), { keywords });
}

export const notNegative: Check<bigint> = described(
  (value) => (value < 0n ? 'want min:0' : undefined),
  () => ({ pattern: '^(0|[1-9][0-9]*)$' }),
);

export const aboveZero: Check<bigint> = described(
  (value) => (value <= 0n ? 'want min:1' : undefined),
  () => ({ pattern: '^[1-9][0-9]*$' }),
);
export const min = (bound: number): Check<number> =>
  described(
    (value) => (value < bound ? `want min:${bound}` : undefined),
    () => ({ minimum: bound }),
  );
export const max = (bound: number): Check<number> =>
  described(
    (value) => (value > bound ? `want max:${bound}` : undefined),
    () => ({ maximum: bound }),
  );
export const length = (bytes: number): Check<Uint8Array> =>
  described(
    (value) => (value.length === bytes ? undefined : `want len:${bytes}`),
    () => ({ pattern: `^[A-Fa-f0-9]{${2 * bytes}}$` }),
  );
export const referenceLength: Check<Uint8Array> = described(
  (value) => (value.length === 32 || value.length === 64 ? undefined : 'want len:32 or 64'),
  () => ({ pattern: '^([A-Fa-f0-9]{64}|[A-Fa-f0-9]{128})$' }),
);
/** Checks only in the dialect that states the rule. */
export const strictly = <T>(check: Check<T>): Check<T> =>
  described(
    (value, dialect) => (dialect.strictRequests ? check(value, dialect) : undefined),
    (dialect) => (dialect.strictRequests ? (check.keywords?.(dialect) ?? {}) : {}),
  );
/** Addresses, peers and batches: 64 hex digits. */
export const ONE_HASH = { checks: [strictly(length(32))] } as const;
export const startsNotWith = (start: string): Check<string> =>
  described(
    (value) => (value.startsWith(start) ? `want startsnotwith:${start}` : undefined),
    () => ({ pattern: `^(?!${start})` }),
  );
export const oneOf = (words: readonly string[]): Check<string> =>
  described(
    (value) => (words.includes(value) ? undefined : `want oneof:${words.join(' ')}`),
    () => ({ enum: words }),
  );
export const redundancyLevelInRange: Check<number> = described(
  (value) => (value > 4 ? 'want redundancy level to be between 0 and 4' : undefined),
  () => ({ maximum: 4 }),
);

export const REFUSED: Readonly<Record<Source, ApiErrorCode>> = {
  path: 'INVALID_PATH_PARAMS',
  query: 'INVALID_QUERY_PARAMS',
  header: 'INVALID_HEADER_PARAMS',
};

/** @param read by wire name; undefined when not sent @throws ApiError with all reasons of the first pass that failed */
export function readParams<S extends ParamTable | HeaderTable>(
  source: Source,
  table: S,
  read: (name: string) => string | undefined,
  dialect: Dialect,
): ValuesOf<S> {
  const values: Record<string, unknown> = {};
  const sent = new Set<string>();
  const failures: (Reason & { unavailable: boolean })[] = [];
  const params = allIn(table, dialect);
  for (const [key, param] of params) {
    try {
      const raw = param.unread === true ? undefined : rawOf(source, key, param, { read, dialect });
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
  const problems = validate(source, params, { values, sent }, dialect);
  if (problems.length > 0) throw new ApiError(REFUSED[source], { reasons: problems });
  return values as ValuesOf<S>;
}

function refusal(source: Source, failures: readonly (Reason & { unavailable: boolean })[]): ApiError {
  const reasons = failures.map(({ field, error }) => ({ field, error }));
  const unavailable = failures.some((failure) => failure.unavailable);
  return new ApiError(unavailable ? 'SERVICE_UNAVAILABLE' : REFUSED[source], { reasons });
}

function validate(
  source: Source,
  params: readonly [string, AnyParam][],
  { values, sent }: { values: Readonly<Record<string, unknown>>; sent: ReadonlySet<string> },
  dialect: Dialect,
): Reason[] {
  const problems: Reason[] = [];
  for (const [key, param] of params) {
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

/** A zero counts as missing where a value is required. */
function isZero(value: unknown): boolean {
  return value === 0 || value === '' || (value instanceof Uint8Array && value.length === 0);
}

function rawOf(
  source: Source,
  key: string,
  { named }: AnyParam,
  { read, dialect }: { read: (name: string) => string | undefined; dialect: Dialect },
): string | undefined {
  const header = source === 'header' ? (key as HeaderKey) : named;
  if (header === undefined) return read(key);
  const name = dialect.headers[header];
  return read(name.active) ?? (name.other === undefined ? undefined : read(name.other));
}

function declaredName(source: Source, key: string, param: AnyParam, dialect: Dialect): string {
  return source === 'header' ? dialect.headers[key as HeaderKey].declared : (param.field ?? key);
}
