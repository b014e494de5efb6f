/**
 * The public network's limits (`p2p-protocols.md` 1.1). An IPv6 address counts with its /56. This machine is not limited.
 */
import { isLoopback } from '../address/underlay.ts';

export const SOURCE_CONNECTIONS_MAX = 200;
/** New connections of one source at once; regained per second. */
export const SOURCE_BURST = 40;
const SOURCE_PER_SECOND = 10;
const SOURCES_MAX = 10_000;

interface Source {
  open: number;
  tokens: number;
  at: number;
}

/** All times: one monotonic clock, ms. */
export class ConnectionGate {
  readonly #sources = new Map<string, Source>();

  /** @param remote multiaddress @returns false: refuse the connection; true is followed by one `left` */
  enter(remote: string, nowMs: number): boolean {
    if (isLoopback(remote)) return true;
    const source = this.#source(sourceOf(remote), nowMs);
    if (source === undefined || source.tokens < 1 || source.open >= SOURCE_CONNECTIONS_MAX) return false;
    source.tokens--;
    source.open++;
    return true;
  }

  left(remote: string): void {
    const source = this.#sources.get(sourceOf(remote));
    if (source !== undefined) source.open--;
  }

  #source(key: string, nowMs: number): Source | undefined {
    const known = this.#sources.get(key);
    if (known !== undefined) {
      known.tokens = tokensAt(known, nowMs);
      known.at = nowMs;
      return known;
    }
    if (this.#sources.size >= SOURCES_MAX) this.#sweep(nowMs);
    if (this.#sources.size >= SOURCES_MAX) return undefined;
    const source = { open: 0, tokens: SOURCE_BURST, at: nowMs };
    this.#sources.set(key, source);
    return source;
  }

  #sweep(nowMs: number): void {
    for (const [key, source] of this.#sources) {
      if (source.open === 0 && tokensAt(source, nowMs) === SOURCE_BURST) this.#sources.delete(key);
    }
  }
}

function tokensAt(source: Source, nowMs: number): number {
  return Math.min(SOURCE_BURST, source.tokens + ((nowMs - source.at) / 1000) * SOURCE_PER_SECOND);
}

/** @param remote multiaddress */
export function sourceOf(remote: string): string {
  const [, kind, host = ''] = remote.split('/');
  return kind === 'ip6' ? prefix56(host) : host;
}

/** The first 56 bits as 14 hex digits. */
function prefix56(host: string): string {
  const [head = '', tail] = host.toLowerCase().split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0');
  const groups = tail === undefined ? left : [...left, ...zeros, ...right];
  return groups
    .map((group) => group.padStart(4, '0'))
    .join('')
    .slice(0, 14);
}
