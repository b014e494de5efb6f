/**
 * Changes a sealed chunk's nonce, and the padding after a short message, until its address starts with a target. They are at
 * both ends of the chunk, so their hashes combine (`../crypto/bmt/ends.ts`): four times as many chunks as by the nonce
 * alone. Yields between slices.
 */
import { cacFromData } from '../../formats/chunk/cac.ts';
import type { Chunk } from '../../formats/chunk/chunk.ts';
import { SPAN_SIZE } from '../../formats/chunk/chunk.ts';
import type { Clock } from '../../formats/clock.ts';
import { createEnds, FIRSTS_MAX } from '../../formats/crypto/bmt/ends.ts';
import { PssError } from './errors.ts';
import { NONCE_OFFSET, NONCE_SIZE } from './trojan.ts';

/** One byte more would take 256 times as long: hours. */
export const TARGET_SIZE_MAX = 3;
/** Chunks between two turns: some four milliseconds. */
const SLICE = 8192;
/** Cost of a chunk whose nonce is hashed for it alone. */
const NONCE_COST = 4;
/** 256 times what the longest target needs on average. */
const COUNTER_SIZE = 4;
const COUNTERS = 2 ** 32;
const SEGMENT_SIZE = 32;

/** @throws PssError `TARGETS_EMPTY`, `TARGETS_UNEQUAL` */
export function checkTargets(targets: readonly Uint8Array[]): void {
  const [first] = targets;
  if (first === undefined) throw new PssError('TARGETS_EMPTY', 'target list cannot be empty');
  if (targets.some(({ length }) => length !== first.length))
    throw new PssError('TARGETS_UNEQUAL', 'target list cannot have targets of different length');
}

interface MiningOptions {
  /** Meaningless bytes at the end of the chunk. */
  readonly padding: number;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly signal: AbortSignal;
}

/**
 * @param sealed 4104 bytes of `seal`; nonce and padding change in place @param targets prefixes, 1..3 bytes, equally long
 * @throws PssError as `checkTargets`, `NONCES_EXHAUSTED`; the signal's reason
 */
export async function mine(
  sealed: Uint8Array,
  targets: readonly Uint8Array[],
  { padding, clock, signal }: MiningOptions,
): Promise<Chunk> {
  checkTargets(targets);
  const wanted = new Set(targets.map(prefixNumber));
  const size = targets[0]!.length;
  const ends = createEnds(sealed.subarray(0, SPAN_SIZE), sealed.subarray(SPAN_SIZE));
  const nonce = counted(sealed.subarray(NONCE_OFFSET, NONCE_OFFSET + NONCE_SIZE), 0);
  const last = counted(sealed.subarray(-SEGMENT_SIZE), SEGMENT_SIZE - COUNTER_SIZE);
  // As many as are likely to hit a short target.
  const atOnce = Math.min(16 ** size, FIRSTS_MAX);
  const lasts = padding < COUNTER_SIZE ? 1 : COUNTERS;
  let worked = 0;
  for (let tried = 0; tried < COUNTERS; tried += atOnce) {
    ends.begin(Buffer.concat(Array.from({ length: atOnce }, (_, i) => nonce.at(tried + i))));
    for (let turn = 0; turn < lasts; turn++) {
      const prefixes = ends.end(last.at(turn));
      const found = prefixes.findIndex((prefix) => wanted.has(prefix >>> (8 * (4 - size))));
      if (found !== -1) {
        nonce.set(tried + found);
        last.set(turn);
        return cacFromData(sealed);
      }
      worked += lasts === 1 ? NONCE_COST * atOnce : atOnce;
      if (worked < SLICE) continue;
      worked = 0;
      await clock.sleep(0, signal);
    }
  }
  throw new PssError('NONCES_EXHAUSTED', `no nonce leads to ${targets.length} targets of ${size} bytes`);
}

function counted(segment: Uint8Array, offset: number) {
  const copy = segment.slice();
  const counter = new DataView(copy.buffer, offset, COUNTER_SIZE);
  const start = counter.getUint32(0);
  const at = (step: number) => {
    counter.setUint32(0, start + step);
    return copy.slice();
  };
  return { at, set: (step: number) => segment.set(at(step)) };
}

function prefixNumber(prefix: Uint8Array): number {
  let number = 0;
  for (const byte of prefix) number = number * 256 + byte;
  return number;
}
