/** What an answer must be, as data, so that a test can break each claim. */

import type { HttpAnswer } from './messages.ts';
import { misfits, parseShape } from './shape.ts';

export interface ExpectedReason {
  readonly field: string;
  readonly error: string | RegExp;
}

export interface Expectation {
  /** One of them. */
  readonly status: number | readonly number[];
  /** Lower-case names; null: must be absent. */
  readonly headers?: Readonly<Record<string, string | RegExp | null>> | undefined;
  readonly json?: string;
  /** Path such as `a.b` → value. */
  readonly values?: Readonly<Record<string, unknown>> | undefined;
  /** Of an error or acknowledgement; `code` is the status. */
  readonly message?: string | RegExp;
  readonly reasons?: readonly ExpectedReason[];
  readonly bytes?: Uint8Array | undefined;
  readonly text?: string | RegExp;
  readonly empty?: true;
}

const SOURCES = {
  path: 'invalid path params',
  query: 'invalid query params',
  header: 'invalid header params',
  body: 'invalid body params',
} as const;
export type Source = keyof typeof SOURCES;

/** @param reasons by field */
export function refusal(source: Source, reasons: Readonly<Record<string, string | RegExp>>) {
  const listed = Object.entries(reasons).map(([field, error]): ExpectedReason => ({ field, error }));
  return { status: 400, message: SOURCES[source], reasons: listed } satisfies Expectation;
}

export type ReasonForm = 'text' | 'object';

/** @returns differences, each as a sentence's end */
export function differences(answer: HttpAnswer, expected: Expectation, form: ReasonForm): string[] {
  const statuses = [expected.status].flat();
  const found: string[] = [];
  if (!statuses.includes(answer.status))
    found.push(`status ${answer.status}, expected ${statuses.join(' or ')}`);
  for (const [name, wanted] of Object.entries(expected.headers ?? {})) {
    const value = answer.headers[name];
    if (wanted === null && value !== undefined) found.push(`header ${name}: ${value}, expected none`);
    if (wanted !== null && (value === undefined || !fits(value, wanted)))
      found.push(`header ${name}: ${value ?? 'none'}, expected ${wanted}`);
  }
  if (expected.empty === true && answer.body.length > 0)
    found.push(`a body of ${answer.body.length} bytes, expected none`);
  if (expected.bytes !== undefined && Buffer.compare(answer.body, expected.bytes) !== 0)
    found.push(`${answer.body.length} bytes, expected the ${expected.bytes.length} that were stored`);
  const text = Buffer.from(answer.body).toString('utf8');
  if (expected.text !== undefined && !fits(text, expected.text))
    found.push(`text ${JSON.stringify(text.slice(0, 200))}, expected ${expected.text}`);
  if (needsJson(expected)) found.push(...jsonDifferences(text, answer, expected, form));
  return found;
}

function needsJson({ json, values, message, reasons }: Expectation): boolean {
  return [json, values, message, reasons].some((claim) => claim !== undefined);
}

function jsonDifferences(
  text: string,
  answer: HttpAnswer,
  expected: Expectation,
  form: ReasonForm,
): string[] {
  const found: string[] = [];
  const type = answer.headers['content-type'] ?? 'none';
  if (!/^application\/json; charset=utf-8$/.test(type))
    found.push(`content-type ${type}, expected application/json; charset=utf-8`);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    return [...found, `no JSON: ${(error as SyntaxError).message}`];
  }
  if (expected.json !== undefined) found.push(...misfits(parseShape(expected.json), body));
  for (const [path, wanted] of Object.entries(expected.values ?? {})) {
    const value = memberAt(body, path);
    if (JSON.stringify(value) !== JSON.stringify(wanted))
      found.push(`${path} ${shown(value)}, expected ${JSON.stringify(wanted)}`);
  }
  if (expected.message !== undefined) {
    const { message, code } = (body ?? {}) as { message?: unknown; code?: unknown };
    if (typeof message !== 'string' || !fits(message, expected.message))
      found.push(`message ${shown(message)}, expected ${wantedText(expected.message)}`);
    // An answer of another kind has no code, as its status shows.
    const isOther = code === undefined && message === undefined;
    if (code !== answer.status && !isOther) found.push(`code ${shown(code)}, expected ${answer.status}`);
  }
  if (expected.reasons !== undefined) found.push(...reasonDifferences(body, expected.reasons, form));
  return found;
}

function reasonDifferences(body: unknown, wanted: readonly ExpectedReason[], form: ReasonForm): string[] {
  const { reasons } = (body ?? {}) as { reasons?: unknown };
  const list = Array.isArray(reasons) ? reasons : [];
  const told = list.map((reason) => {
    if (form === 'text') return typeof reason === 'string' ? reason : undefined;
    const { field, error } = (reason ?? {}) as { field?: unknown; error?: unknown };
    return typeof field === 'string' && typeof error === 'string' ? `${field}: ${error}` : undefined;
  });
  const isSame =
    told.length === wanted.length &&
    wanted.every(({ field, error }) =>
      told.some(
        (text) => text?.startsWith(`${field}: `) === true && fits(text.slice(field.length + 2), error),
      ),
    );
  if (isSame) return [];
  const expected = wanted.map(({ field, error }) =>
    form === 'text'
      ? wantedText(typeof error === 'string' ? `${field}: ${error}` : new RegExp(`${field}: ${error.source}`))
      : `{"field":"${field}","error":${wantedText(error)}}`,
  );
  return [`reasons ${shown(reasons)}, expected [${expected.join(',')}]`];
}

function shown(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value);
}

function wantedText(wanted: string | RegExp): string {
  return typeof wanted === 'string' ? JSON.stringify(wanted) : String(wanted);
}

function fits(text: string, wanted: string | RegExp): boolean {
  return typeof wanted === 'string' ? text === wanted : wanted.test(text);
}

export function memberAt(value: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((at, key) => (at as Record<string, unknown> | null | undefined)?.[key], value);
}
