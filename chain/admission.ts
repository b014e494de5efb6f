/** Who may use the JSON-RPC and control endpoints: `docs/reference/access.md`. */
import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Addressed, createHostCheck, hasTwoHosts, hostOf } from '../formats/hosts.ts';

export interface AdmissionOptions {
  /** Opens the control endpoint and Anvil's own methods. */
  readonly token: string;
  /** Besides addresses and `localhost`; `*` for any. */
  readonly allowedHosts: readonly string[];
  /** Web pages that may use JSON-RPC; `*` for any. No page may use the control endpoint. */
  readonly origins: readonly string[];
}

export interface Refusal {
  readonly status: 400 | 401 | 403;
  readonly message: string;
}

export type Asking = Pick<IncomingMessage, 'headers'> & Addressed;

export interface Admission {
  controlRefusal(request: Asking): Refusal | undefined;
  rpcRefusal(request: Asking): Refusal | undefined;
  hasToken(request: Asking): boolean;
  /** With them a browser shows the answer to the page that asked; none for programs. */
  pageHeaders(request: Asking): Readonly<Record<string, string>>;
}

const HOST_REFUSED: Refusal = {
  status: 403,
  message: 'host name not allowed: use an address or localhost, or name it in allowedHosts of the cluster',
};
const HOST_TWICE: Refusal = { status: 400, message: 'more than one Host header' };
const ORIGIN_REFUSED: Refusal = {
  status: 403,
  message: 'origin not allowed: name it with --cors, or in cors of the cluster',
};
const PAGE_REFUSED: Refusal = { status: 403, message: 'the control endpoint of a chain is for no page' };
const TOKEN_REQUIRED: Refusal = {
  status: 401,
  message: 'the token of the chain is missing: send it as Authorization: Bearer TOKEN',
};
const TOKEN_WRONG: Refusal = { status: 401, message: 'this is not the token of the chain' };

const PREFLIGHT_MAX_AGE_S = '3600';

export function createAdmission({ token, allowedHosts, origins }: AdmissionOptions): Admission {
  const isHostAllowed = createHostCheck(allowedHosts);
  const pages = new Set(origins.map((origin) => origin.toLowerCase()));
  const expected = digestOf(token);

  function given({ headers }: Asking): 'none' | 'right' | 'wrong' {
    const text = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
    if (text === undefined) return 'none';
    return timingSafeEqual(digestOf(text), expected) ? 'right' : 'wrong';
  }

  function hostRefusal(request: Asking): Refusal | undefined {
    if (hasTwoHosts(request)) return HOST_TWICE;
    return isHostAllowed(hostOf(request)) ? undefined : HOST_REFUSED;
  }

  function accepts(origin: string, host = ''): boolean {
    const asked = origin.toLowerCase();
    return pages.has('*') || pages.has(asked) || asked === `http://${host.toLowerCase()}`;
  }

  return {
    controlRefusal(request) {
      const { origin } = request.headers;
      const wrongHost = hostRefusal(request);
      if (wrongHost !== undefined) return wrongHost;
      if (origin !== undefined || isForeignRead(request)) return PAGE_REFUSED;
      const token = given(request);
      if (token === 'right') return undefined;
      return token === 'wrong' ? TOKEN_WRONG : TOKEN_REQUIRED;
    },
    rpcRefusal(request) {
      const { origin } = request.headers;
      const wrongHost = hostRefusal(request);
      if (wrongHost !== undefined) return wrongHost;
      const isForeign = origin === undefined ? isForeignRead(request) : !accepts(origin, hostOf(request));
      if (isForeign) return ORIGIN_REFUSED;
      return given(request) === 'wrong' ? TOKEN_WRONG : undefined;
    },
    hasToken: (request) => given(request) === 'right',
    pageHeaders(request) {
      const { origin } = request.headers;
      if (origin === undefined || !accepts(origin, hostOf(request))) return {};
      return {
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'POST, OPTIONS',
        'access-control-allow-headers': 'Content-Type, Authorization',
        'access-control-max-age': PREFLIGHT_MAX_AGE_S,
        vary: 'Origin',
      };
    },
  };
}

/** Some requests of pages have no origin, but newer browsers say how the page's site relates to ours. */
function isForeignRead({ headers }: Asking): boolean {
  const site = headers['sec-fetch-site'];
  return site === 'cross-site' || site === 'same-site';
}

/** The same length for every token: comparing takes the same time for all of them. */
function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
