/**
 * Who may request what, decided before a request runs: host name, token, then the page a browser asks for. See
 * `docs/reference/access.md`.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createHostCheck, hasTwoHosts, hostOf } from '../../../formats/hosts.ts';
import type { Cors } from '../cors.ts';
import { ApiError } from '../errors.ts';
import { effectOf, type Port, type Route } from '../route/route.ts';

export interface AdmissionOptions {
  /** `*` for any. */
  readonly allowedHosts: readonly string[];
  readonly tokens: Tokens;
}

export interface Refusal {
  readonly error: ApiError;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Admission {
  /** If not, preflight requests are refused too. */
  isHostAllowed(host: string | undefined): boolean;
  /** @param row undefined: unknown path or method @returns undefined: the request may proceed */
  refusal(request: IncomingMessage, row: Route | undefined): Refusal | undefined;
}

export function createAdmission(
  { allowedHosts, tokens }: AdmissionOptions,
  { cors, port }: { readonly cors: Pick<Cors, 'accepts'>; readonly port: Port },
): Admission {
  const isHostAllowed = createHostCheck(allowedHosts);
  const check = createTokenCheck(tokens, port);
  return {
    isHostAllowed,
    refusal(request, row) {
      if (hasTwoHosts(request)) return refused('HOST_TWICE');
      // 403: on 421 clients would try another connection.
      if (!isHostAllowed(hostOf(request))) return refused('HOST_REFUSED');
      return tokenRefusal(request, row) ?? originRefusal(request, row);
    },
  };

  function tokenRefusal({ method, headers }: IncomingMessage, row: Route | undefined): Refusal | undefined {
    // Browsers ask by OPTIONS, without a token; no operation has that method.
    if (!check.required || row?.forProbes === true || method === 'OPTIONS') return undefined;
    const scope = check.scopeOf(headers.authorization);
    if (scope === undefined) {
      const error = headers.authorization === undefined ? '' : ', error="invalid_token"';
      return refused('TOKEN_REQUIRED', { 'www-authenticate': `${CHALLENGE}${error}` });
    }
    if (scope === 'full' || row === undefined || effectOf(row) === undefined) return undefined;
    return refused('TOKEN_SCOPE', {
      'www-authenticate': `${CHALLENGE}, error="insufficient_scope", scope="full"`,
    });
  }

  function originRefusal(request: IncomingMessage, row: Route | undefined): Refusal | undefined {
    if (row === undefined || effectOf(row) === undefined || !isForeign(request, cors)) return undefined;
    return refused('ORIGIN_REFUSED');
  }
}

const CHALLENGE = 'Bearer realm="storage node"';

function refused(code: ApiError['code'], headers: Refusal['headers'] = {}): Refusal {
  return { error: new ApiError(code), headers };
}

/**
 * Whether the request's page may not use this API. Browsers send an `Origin` with all but plain reads; for those, such as of
 * a picture, newer browsers say how the page's site relates to ours.
 */
function isForeign(request: IncomingMessage, cors: Pick<Cors, 'accepts'>): boolean {
  const { headers } = request;
  const { origin } = headers;
  if (origin !== undefined) return !cors.accepts(origin, hostOf(request));
  const site = headers['sec-fetch-site'];
  return site === 'cross-site' || site === 'same-site';
}

/** Read: operations without an effect. */
type Scope = 'full' | 'read';

/** Empty or absent: no such token. */
export interface Tokens {
  /** Full, both ports. */
  readonly api?: string;
  /** Read-only, both ports. */
  readonly apiRead?: string;
  /** Full, debug port. */
  readonly debug?: string;
}

interface TokenCheck {
  readonly required: boolean;
  /** @returns undefined: no token of this port */
  scopeOf(authorization: string | undefined): Scope | undefined;
}

/** Bearer tokens (RFC 6750). Only hashes are kept. */
export function createTokenCheck({ api, apiRead, debug }: Tokens, port: Port): TokenCheck {
  const given: readonly (readonly [token: string | undefined, Scope])[] = [
    [api, 'full'],
    [apiRead, 'read'],
    [port === 'debug' ? debug : undefined, 'full'],
  ];
  const known = given.flatMap(([token = '', scope]) =>
    token === '' ? [] : [{ digest: digestOf(token), scope }],
  );
  return {
    required: known.length > 0,
    scopeOf(authorization = '') {
      const token = /^bearer +(\S+) *$/i.exec(authorization)?.[1];
      if (token === undefined) return undefined;
      const digest = digestOf(token);
      // Compares all of them: the time reveals nothing about a token.
      const scopes = known.filter((one) => timingSafeEqual(one.digest, digest)).map(({ scope }) => scope);
      return scopes.includes('full') ? 'full' : scopes[0];
    },
  };
}

function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
