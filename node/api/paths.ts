/**
 * Request target to routed path: decoded to text of `byte-text.ts`, cleaned, without `/v1`. `http-api-completion.md` 3.1.
 */
import { CANONICAL_SEGMENT, FILE_SEGMENTS } from './dialect.ts';
import { percentDecode, percentEncode } from './values/percent.ts';

export type Target =
  /** Canonical path, encoded again; decoded path as sent; query without its mark. */
  | { readonly kind: 'route'; readonly path: string; readonly sent: string; readonly query: string }
  | { readonly kind: 'redirect'; readonly location: string }
  | { readonly kind: 'malformed' };

const VERSION_PREFIX = '/v1';
/** Decoding and cleaning change nothing. */
const PLAIN = /^(?:\/[A-Za-z0-9_~:@!$&'()*+,;=-][A-Za-z0-9._~:@!$&'()*+,;=-]*)+\/?$|^\/$/;

export function targetOf(requestTarget: string): Target {
  const [rawPath, query] = splitQuery(requestTarget);
  if (PLAIN.test(rawPath)) {
    return { kind: 'route', path: canonical(rawPath), sent: rawPath, query: query.slice(1) };
  }
  const decoded = percentDecode(rawPath);
  if (decoded === undefined) return { kind: 'malformed' };
  const cleaned = clean(decoded);
  if (cleaned !== decoded) return { kind: 'redirect', location: encode(cleaned) + query };
  return { kind: 'route', path: encode(canonical(decoded)), sent: decoded, query: query.slice(1) };
}

/** The query has its mark; an authority is dropped. */
function splitQuery(requestTarget: string): [path: string, query: string] {
  const relative = requestTarget.replace(/^https?:\/\/[^/?]*/i, '');
  const mark = relative.indexOf('?');
  return mark === -1 ? [relative, ''] : [relative.slice(0, mark), relative.slice(mark)];
}

/** Empty and `.` vanish, `..` removes its parent, a trailing slash stays. */
function clean(path: string): string {
  const kept: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') kept.pop();
    else if (segment !== '' && segment !== '.') kept.push(segment);
  }
  const joined = `/${kept.join('/')}`;
  return path.endsWith('/') && joined !== '/' ? `${joined}/` : joined;
}

function encode(path: string): string {
  return path.split('/').map(percentEncode).join('/');
}

/** Both prefixes and segments lead to the same routes. */
function canonical(path: string): string {
  const unversioned = path.startsWith(`${VERSION_PREFIX}/`) ? path.slice(VERSION_PREFIX.length) : path;
  const first = unversioned.split('/', 2)[1] ?? '';
  if (first === CANONICAL_SEGMENT || !FILE_SEGMENTS.includes(first)) return unversioned;
  return `/${CANONICAL_SEGMENT}${unversioned.slice(1 + first.length)}`;
}
