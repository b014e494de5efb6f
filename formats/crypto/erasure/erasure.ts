/**
 * Systematic Reed-Solomon over GF(2^8), `data-formats.md` 3.5. Vectors: test/vectors/redundancy.json.
 *
 * At every byte position the data shards are the values of a polynomial at the points 0, 1, ... n-1, and the parities its
 * values at the points after those. So any `n` shards determine all others by Lagrange interpolation: no matrix is inverted.
 */
import assert from 'node:assert/strict';
import { instantiate } from '../instantiate.ts';
import { ERASURE_WASM_BASE64 } from './erasure-wasm.gen.ts';

/**
 * The one instance of the module (`assembly/index.ts`). Its memory never grows, so one view on it stays valid; a call is
 * synchronous, and its caller first writes everything that it reads.
 */
const exports = instantiate(ERASURE_WASM_BASE64) as Exports;
/** `outputs` shards after the `inputs` at `SHARDS`: sums of inputs times the factors at `FACTORS`, row by row. */
const combine = exports.combine;
const MEMORY = new Uint8Array(exports.memory.buffer);
const SHARDS = exports.shards.value;
const SHARDS_MAX = exports.shardsMax.value;
const STRIDE = exports.stride.value;
const FACTORS = exports.factors.value;

/** Span and payload of a stored chunk; shorter ones count as padded with zeros. */
export const SHARD_SIZE = 4104;

/** x^8 + x^4 + x^3 + x^2 + 1, whose root is 2. */
const POLYNOMIAL = 0x11d;
const ORDER = 255;
const POWERS = new Uint8Array(ORDER);
const LOGARITHMS = new Uint8Array(ORDER + 1);
for (let exponent = 0, power = 1; exponent < ORDER; exponent++) {
  POWERS[exponent] = power;
  LOGARITHMS[power] = exponent;
  power <<= 1;
  if (power > ORDER) power ^= POLYNOMIAL;
}

class ErasureError extends Error {
  readonly code = 'TOO_FEW_SHARDS';

  constructor(left: number, needed: number) {
    super(`${left} shards are left of ${needed} that are needed`);
    this.name = 'ErasureError';
  }
}

/**
 * @param data at most 127 shards of at most 4104 bytes @param count at least 1; 128 shards in all
 * @returns `count` times 4104 bytes
 */
export function encodeParities(data: readonly Uint8Array[], count: number): Uint8Array[] {
  const points = [...data.keys()];
  return interpolate(
    points,
    data,
    Array.from({ length: count }, (_, i) => data.length + i),
  );
}

/**
 * @param shards data shards, then parities; undefined where one is lost
 * @returns place → 4104 bytes @throws ErasureError when fewer than `dataCount` are left
 */
export function recoverShards(
  shards: readonly (Uint8Array | undefined)[],
  dataCount: number,
): Map<number, Uint8Array> {
  const known: number[] = [];
  const inputs: Uint8Array[] = [];
  for (const [place, shard] of shards.entries()) {
    if (shard === undefined || known.length === dataCount) continue;
    known.push(place);
    inputs.push(shard);
  }
  if (known.length < dataCount) throw new ErasureError(known.length, dataCount);
  const lost = [...shards.slice(0, dataCount).keys()].filter((place) => shards[place] === undefined);
  const recovered = interpolate(known, inputs, lost);
  return new Map(lost.map((place, i) => [place, recovered[i] as Uint8Array]));
}

/**
 * The factors of the values at the known points that give the value at a wanted one (Lagrange).
 * @param known,wanted different points, 0..255 @returns one row of `known.length` for each wanted point
 */
export function interpolationFactors(known: readonly number[], wanted: readonly number[]): Uint8Array[] {
  const denominators = known.map((point) => logarithmOfDifferences(point, known));
  return wanted.map((target) => {
    const numerator = logarithmOfDifferences(target, known);
    const row = new Uint8Array(known.length);
    for (let i = 0; i < row.length; i++) {
      const divisor = logarithmOf(target ^ (known[i] as number)) + (denominators[i] as number);
      row[i] = POWERS[(numerator + 2 * ORDER - divisor) % ORDER] as number;
    }
    return row;
  });
}

function interpolate(
  known: readonly number[],
  inputs: readonly Uint8Array[],
  wanted: readonly number[],
): Uint8Array[] {
  assert(inputs.length + wanted.length <= SHARDS_MAX);
  for (const [i, shard] of inputs.entries()) {
    assert(shard.length <= SHARD_SIZE);
    const at = SHARDS + i * STRIDE;
    MEMORY.set(shard, at);
    MEMORY.fill(0, at + shard.length, at + SHARD_SIZE);
  }
  for (const [i, row] of interpolationFactors(known, wanted).entries())
    MEMORY.set(row, FACTORS + i * known.length);
  combine(inputs.length, wanted.length);
  return wanted.map((_, i) => {
    const at = SHARDS + (inputs.length + i) * STRIDE;
    return MEMORY.slice(at, at + SHARD_SIZE);
  });
}

function logarithmOfDifferences(point: number, points: readonly number[]): number {
  let sum = 0;
  for (const other of points) if (other !== point) sum += logarithmOf(point ^ other);
  return sum % ORDER;
}

function logarithmOf(element: number): number {
  return LOGARITHMS[element] as number;
}

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly stride: { readonly value: number };
  readonly shardsMax: { readonly value: number };
  readonly shards: { readonly value: number };
  readonly factors: { readonly value: number };
  readonly combine: (inputs: number, outputs: number) => void;
}
