/**
 * Who may request what, decided before any part of a request runs: the host name, the token, then the page for which
 * a browser asks. `docs/reference/access.md` says what each keeps out.
 */
import type { IncomingMessage } from 'node:http';
import type { Cors } from '../cors.ts';
import { ApiError } from '../errors.ts';
import { effectOf, type Port, type Route } from '../route/route.ts';
import { createHostCheck } from './hosts.ts';
import { createTokenCheck, type Tokens } from './tokens.ts';

export interface AdmissionOptions {
  /** Besides addresses and `localhost`; `*` for any. */
  readonly allowedHosts: readonly string[];
  readonly tokens: Tokens;
}

/** Why a request is refused. */
export interface Refusal {
  readonly error: ApiError;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Admission {
  /** Whether a request to that host is answered at all; if not, browsers' preflight requests are not either. */
  isHostAllowed(host: string | undefined): boolean;
  /** @param row the operation; undefined: unknown path or method @returns undefined: the request may proceed */
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
      // 403 and not 421, on which clients would open another connection and get the same answer.
      if (!isHostAllowed(request.headers.host)) return refused('HOST_REFUSED');
      return tokenRefusal(request, row) ?? originRefusal(request, row);
    },
  };

  function tokenRefusal({ method, headers }: IncomingMessage, row: Route | undefined): Refusal | undefined {
    // Browsers ask by OPTIONS, without a token, whether they may send one; no operation has that method.
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
 * Whether the request comes from a page that may not use this API. Browsers name the page's origin in every request
 * that is not a plain read; for those without an origin, such as for a picture, newer browsers send how the page's
 * site relates to ours.
 */
function isForeign({ headers }: IncomingMessage, cors: Pick<Cors, 'accepts'>): boolean {
  const { origin, host } = headers;
  if (origin !== undefined) return !cors.accepts(origin, host);
  const site = headers['sec-fetch-site'];
  return site === 'cross-site' || site === 'same-site';
}
