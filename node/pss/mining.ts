/**
 * Mining: changing the nonce of a sealed chunk until its address begins with one of the targets. One thread does it
 * together with everything else, so it works in slices and leaves the event loop to the others between two of them.
 */
import { cacFromData } from '../chunk/cac.ts';
import type { Chunk } from '../chunk/chunk.ts';
import { SPAN_SIZE } from '../chunk/chunk.ts';
import { firstSegmentHasher } from '../crypto/bmt/first-segment.ts';
import type { Clock } from '../env/clock.ts';
import { PssError } from './errors.ts';
import { NONCE_OFFSET, NONCE_SIZE } from './trojan.ts';

/** Longest target, bytes: one more would take 256 times as long, which is hours. */
export const TARGET_SIZE_MAX = 3;
/** Nonces between two turns of the event loop: a few milliseconds. */
const SLICE = 1000;
/** The bytes of the nonce that are varied are its first four: 256 times as many as the longest target needs on average. */
const NONCES = 2 ** 32;

/** @throws PssError `TARGETS_EMPTY`, `TARGETS_UNEQUAL` */
export function checkTargets(targets: readonly Uint8Array[]): void {
  const [first] = targets;
  if (first === undefined) throw new PssError('TARGETS_EMPTY', 'target list cannot be empty');
  if (targets.some(({ length }) => length !== first.length))
    throw new PssError('TARGETS_UNEQUAL', 'target list cannot have targets of different length');
}

/**
 * @param sealed 4104 bytes, as `seal` made them; its nonce is where mining begins, and is changed in place
 * @param targets prefixes of addresses, 1..3 bytes, all of one length
 * @throws PssError as `checkTargets`, `NONCES_EXHAUSTED`; the signal's reason
 */
export async function mine(
  sealed: Uint8Array,
  targets: readonly Uint8Array[],
  { clock, signal }: { clock: Pick<Clock, 'sleep'>; signal: AbortSignal },
): Promise<Chunk> {
  checkTargets(targets);
  const wanted = new Set(targets.map(prefixNumber));
  const size = targets[0]!.length;
  const addressOf = firstSegmentHasher(sealed.subarray(0, SPAN_SIZE), sealed.subarray(SPAN_SIZE));
  const nonce = sealed.subarray(NONCE_OFFSET, NONCE_OFFSET + NONCE_SIZE);
  const counter = new DataView(nonce.buffer, nonce.byteOffset, 4);
  const start = counter.getUint32(0);
  for (let tried = 0; tried < NONCES; tried++) {
    if (tried % SLICE === SLICE - 1) await clock.sleep(0, signal);
    counter.setUint32(0, start + tried);
    if (wanted.has(prefixNumber(addressOf(nonce).subarray(0, size)))) return cacFromData(sealed);
  }
  throw new PssError('NONCES_EXHAUSTED', `no nonce leads to ${targets.length} targets of ${size} bytes`);
}

function prefixNumber(prefix: Uint8Array): number {
  let number = 0;
  for (const byte of prefix) number = number * 256 + byte;
  return number;
}
