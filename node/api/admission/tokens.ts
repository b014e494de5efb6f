/** Bearer tokens (RFC 6750) and their access. Only hashes are kept. */
import { hash, timingSafeEqual } from 'node:crypto';
import type { Port } from '../route/route.ts';

/** Full: every operation. Read: those without an effect. */
export type Scope = 'full' | 'read';

/** Token texts; empty or absent: there is no such token. */
export interface Tokens {
  /** Full on both ports. */
  readonly api?: string;
  /** Read-only on both ports. */
  readonly apiRead?: string;
  /** Full on the debug port. */
  readonly debug?: string;
}

export interface TokenCheck {
  /** Whether the port requires a token at all. */
  readonly required: boolean;
  /** @param authorization header of the request @returns undefined: it holds no token of this port */
  scopeOf(authorization: string | undefined): Scope | undefined;
}

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
      // Always compares all of them: the time reveals neither how much of a token is right nor which one it is.
      const scopes = known.filter((one) => timingSafeEqual(one.digest, digest)).map(({ scope }) => scope);
      return scopes.includes('full') ? 'full' : scopes[0];
    },
  };
}

/** The same length for every token. */
function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
