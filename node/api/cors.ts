/** Cross-origin headers, `http-api-completion.md` 3.5. A refused origin gets none; its request still runs. */
import { acceptedHeaderNames, type Dialect } from './dialect.ts';

const ALLOWED_METHODS = 'GET, HEAD, OPTIONS, POST, PUT, DELETE';
const MAX_AGE_SECONDS = '3600';
const COMMON_REQUEST_HEADERS = [
  'User-Agent',
  'Accept',
  'X-Requested-With',
  'Access-Control-Request-Headers',
  'Access-Control-Request-Method',
  'Accept-Ranges',
  'Content-Encoding',
  'Authorization',
  'Accept-Encoding',
  'Content-Type',
  'Content-Disposition',
  'Range',
  'Origin',
  'Gas-Price',
  'Gas-Limit',
  'Immutable',
];

export interface Cors {
  accepts(origin: string, host: string | undefined): boolean;
  /** Undefined when the origin is absent or not accepted. */
  headersFor(
    origin: string | undefined,
    host: string | undefined,
  ): Readonly<Record<string, string>> | undefined;
}

/** @param allowedOrigins `*` or origins, without case */
export function createCors(allowedOrigins: readonly string[], dialect: Dialect): Cors {
  const allowed = new Set(allowedOrigins.map((origin) => origin.toLowerCase()));
  const allowedHeaders = [...COMMON_REQUEST_HEADERS, ...acceptedHeaderNames(dialect)].join(', ');
  const accepts = (origin: string, host: string | undefined) =>
    isAllowed(origin.toLowerCase(), host?.toLowerCase());
  return {
    accepts,
    headersFor(origin, host) {
      if (origin === undefined || !accepts(origin, host)) return undefined;
      return {
        'access-control-allow-credentials': 'true',
        'access-control-allow-origin': origin,
        'access-control-allow-headers': allowedHeaders,
        'access-control-allow-methods': ALLOWED_METHODS,
        'access-control-max-age': MAX_AGE_SECONDS,
      };
    },
  };

  function isAllowed(origin: string, host: string | undefined): boolean {
    if (allowed.has('*') || allowed.has(origin)) return true;
    return host !== undefined && (origin === `http://${host}` || origin === `https://${host}`);
  }
}
