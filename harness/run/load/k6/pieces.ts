/** Computed alike by k6 and the harness: runs in both, and imports nothing. */
import type { SizeDistribution, SizeRange } from './config.ts';

/** @param draws three numbers from 0 to 1 @returns bytes, at least 1 */
export function sizeOf(
  { parts }: SizeDistribution,
  [part = 0, first = 0, second = 0]: readonly number[],
): number {
  let left = part * parts.reduce((sum, { weight }) => sum + weight, 0);
  for (const { weight, of } of parts) {
    left -= weight;
    if (left < 0) return drawnFrom(of, first, second);
  }
  throw new RangeError('a draw is below 1');
}

function drawnFrom(range: SizeRange, first: number, second: number): number {
  if (range.kind === 'uniform') return range.min + Math.floor(first * (range.max - range.min + 1));
  // Box and Muller; 1 - first is never 0.
  const normal = Math.sqrt(-2 * Math.log(1 - first)) * Math.cos(2 * Math.PI * second);
  const size = Math.round(range.median * Math.exp(range.sigma * normal));
  return Math.min(range.max, Math.max(1, size));
}

/** Pieces of a directory's content, of nearly equal size. @param count at least 1 */
export function filesOf(
  content: Uint8Array,
  count: number,
): { readonly path: string; readonly data: Uint8Array }[] {
  const length = Math.ceil(content.length / count);
  return Array.from({ length: count }, (_, i) => ({
    path: `${i % 2 === 0 ? '' : 'more/'}file-${i}.bin`,
    data: content.subarray(i * length, (i + 1) * length),
  }));
}

export function payloadsOf(content: Uint8Array): Uint8Array[] {
  const count = Math.ceil(content.length / PAYLOAD_MAX);
  return Array.from({ length: count }, (_, i) => content.subarray(i * PAYLOAD_MAX, (i + 1) * PAYLOAD_MAX));
}

const PAYLOAD_MAX = 4096;
