/**
 * Any page in a local browser can reach loopback. So requests must carry the token and our `Host`, which excludes
 * rebound names.
 */
import { createHash, timingSafeEqual } from 'node:crypto';

export interface PageRequest {
  readonly method: string | undefined;
  /** Path and query. */
  readonly url: string | undefined;
  readonly host: string | undefined;
}

/** The path below the token, or the refusal's status. */
export type Verdict =
  | { readonly path: string; readonly query: URLSearchParams }
  | { readonly refused: 400 | 404 | 405 | 421; readonly why: string };

/** Headers of every answer. Scripts, styles and connections only from here; no other page may frame or read it. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

export function judge({ method, url = '', host }: PageRequest, token: string, port: number): Verdict {
  if (host !== `127.0.0.1:${port}` && host !== `localhost:${port}`) {
    return { refused: 421, why: 'this server answers to 127.0.0.1 only' };
  }
  if (method !== 'GET' && method !== 'HEAD') return { refused: 405, why: 'this page only looks: GET only' };
  if (!URL.canParse(url, 'http://127.0.0.1')) return { refused: 400, why: 'not a path' };
  const { pathname, searchParams } = new URL(url, 'http://127.0.0.1');
  const [, given = '', ...rest] = pathname.split('/');
  if (!same(given, token) || rest.length === 0) {
    return { refused: 404, why: 'open the address that svcnet ui has printed' };
  }
  return { path: rest.join('/'), query: searchParams };
}

/** Takes the same time for any input. */
function same(given: string, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}
