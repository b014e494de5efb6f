/** Which part of a content a request gets: conditions first, then ranges. `http-api-completion.md` 3.7. */
import { parseHttpDate } from '../values/http-date.ts';

export interface DownloadRequest {
  readonly range?: string | undefined;
  readonly ifRange?: string | undefined;
  readonly ifMatch?: string | undefined;
  readonly ifNoneMatch?: string | undefined;
  readonly ifModifiedSince?: string | undefined;
  readonly ifUnmodifiedSince?: string | undefined;
}

interface ContentFacts {
  /** Bytes. */
  readonly size: bigint;
  readonly etag: string | undefined;
  /** Changing content counts as changed at this moment. */
  readonly nowSeconds: number;
}

/** `end` is excluded. */
export interface ByteRange {
  readonly start: bigint;
  readonly end: bigint;
}

export type DownloadPlan =
  | { readonly kind: 'whole' }
  | { readonly kind: 'parts'; readonly parts: readonly [ByteRange, ...ByteRange[]] }
  | { readonly kind: 'not-modified' }
  | { readonly kind: 'precondition-failed' }
  /** `overlap`: valid, but empty. */
  | { readonly kind: 'unsatisfiable'; readonly overlap: boolean };

/** Further ranges are ignored: each costs a read. */
const RANGES_MAX = 256;
/** Digits of 2^63 - 1. */
const OFFSET_DIGITS_MAX = 19;

export function planDownload(request: DownloadRequest, content: ContentFacts): DownloadPlan {
  if (preconditionFailed(request, content)) return { kind: 'precondition-failed' };
  if (notModified(request, content)) return { kind: 'not-modified' };
  if (!isGiven(request.range) || !rangeApplies(request, content)) return { kind: 'whole' };
  return planRange(request.range, content.size);
}

/** Empty means none. */
function isGiven(header: string | undefined): header is string {
  return header !== undefined && header !== '';
}

function preconditionFailed({ ifMatch, ifUnmodifiedSince }: DownloadRequest, content: ContentFacts): boolean {
  if (isGiven(ifMatch)) return !listMatches(ifMatch, content.etag, strongMatch);
  const since = ifUnmodifiedSince === undefined ? undefined : parseHttpDate(ifUnmodifiedSince);
  return since !== undefined && since < content.nowSeconds;
}

function notModified({ ifNoneMatch, ifModifiedSince }: DownloadRequest, content: ContentFacts): boolean {
  if (isGiven(ifNoneMatch)) return listMatches(ifNoneMatch, content.etag, weakMatch);
  const since = ifModifiedSince === undefined ? undefined : parseHttpDate(ifModifiedSince);
  return since !== undefined && since >= content.nowSeconds;
}

function rangeApplies({ ifRange }: DownloadRequest, content: ContentFacts): boolean {
  if (!isGiven(ifRange)) return true;
  if (/^(W\/)?"/.test(ifRange)) return content.etag !== undefined && strongMatch(ifRange, content.etag);
  return parseHttpDate(ifRange) === content.nowSeconds;
}

/** Elements of a list may be empty. */
const ETAG = /[\s,]*((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"|\*)/y;

function listMatches(
  list: string,
  etag: string | undefined,
  matches: (a: string, b: string) => boolean,
): boolean {
  ETAG.lastIndex = 0;
  for (let match = ETAG.exec(list); match !== null; match = ETAG.exec(list)) {
    const [, tag = ''] = match;
    if (tag === '*' || (etag !== undefined && matches(tag, etag))) return true;
  }
  return false;
}

function strongMatch(a: string, b: string): boolean {
  return a === b && !a.startsWith('W/');
}

function weakMatch(a: string, b: string): boolean {
  return a.replace(/^W\//, '') === b.replace(/^W\//, '');
}

function planRange(header: string, size: bigint): DownloadPlan {
  const invalid: DownloadPlan = { kind: 'unsatisfiable', overlap: false };
  if (!header.startsWith('bytes=')) return invalid;
  const wanted = header
    .slice('bytes='.length)
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (wanted.length > RANGES_MAX) return invalid;
  const parts: ByteRange[] = [];
  for (const text of wanted) {
    const part = parseRange(text, size);
    if (part === 'invalid') return invalid;
    if (part !== 'outside') parts.push(part);
  }
  const [first, ...rest] = parts;
  if (first === undefined)
    return wanted.length === 0 || size === 0n ? { kind: 'whole' } : { kind: 'unsatisfiable', overlap: true };
  const total = parts.reduce((sum, { start, end }) => sum + end - start, 0n);
  return total > size ? { kind: 'whole' } : { kind: 'parts', parts: [first, ...rest] };
}

/** One of `a-b`, `a-`, `-n`. */
function parseRange(text: string, size: bigint): ByteRange | 'invalid' | 'outside' {
  const match = /^(\d*)\s*-\s*(\d*)$/.exec(text);
  const [, first = '', last = ''] = match ?? [];
  if (match === null || (first === '' && last === '')) return 'invalid';
  if (first.length > OFFSET_DIGITS_MAX || last.length > OFFSET_DIGITS_MAX) return 'invalid';
  if (first === '') {
    const suffix = BigInt(last);
    if (suffix === 0n || size === 0n) return 'outside';
    return { start: suffix > size ? 0n : size - suffix, end: size };
  }
  const start = BigInt(first);
  if (start >= size) return 'outside';
  if (last === '') return { start, end: size };
  const end = BigInt(last) + 1n;
  if (end <= start) return 'invalid';
  return { start, end: end > size ? size : end };
}
