/**
 * Parities per intermediate chunk by redundancy level, and what a span implies. `data-formats.md` 3.1 to 3.4. Vectors:
 * test/vectors/redundancy.json
 */
import { ADDRESS_SIZE, CHUNK_PAYLOAD_SIZE, SPAN_SIZE } from '../../../formats/chunk/chunk.ts';

/** NONE, MEDIUM, STRONG, INSANE, PARANOID: for a loss of 0, 1, 5, 10 and 50 % of all chunks. */
export type RedundancyLevel = 0 | 1 | 2 | 3 | 4;

export const LEVEL_MAX = 4 satisfies RedundancyLevel;

export interface TreeShape {
  readonly level: RedundancyLevel;
  readonly encrypted: boolean;
}

export interface ReferenceCounts {
  readonly data: number;
  readonly parities: number;
}

/** References without keys. */
const BRANCHING = CHUNK_PAYLOAD_SIZE / ADDRESS_SIZE;
const LEAF_SPAN = BigInt(CHUNK_PAYLOAD_SIZE);

/** This many parities from `shards` data references on. */
type Column = readonly [shards: number, parities: number];

/** The first that a count reaches applies. */
const PLAIN: readonly (readonly Column[])[] = [
  [],
  descendingByOne(9, [95, 69, 47, 29, 15, 6, 2, 1]),
  descendingByOne(21, [105, 96, 87, 78, 70, 62, 54, 47, 40, 33, 27, 21, 16, 11, 7, 4, 2, 1]),
  descendingByOne(
    31,
    [93, 88, 83, 78, 74, 69, 64, 60, 55, 51, 46, 42, 38, 34, 30, 27, 23, 20, 17, 14, 11, 9, 6, 4, 3, 2, 1],
  ),
  forEachCount([
    89, 87, 86, 84, 83, 81, 80, 78, 76, 75, 73, 71, 70, 68, 66, 65, 63, 61, 59, 58, 56, 54, 52, 50, 48, 47,
    45, 43, 40, 38, 36, 34, 31, 29, 26, 23, 19,
  ]),
];
const ENCRYPTED: readonly (readonly Column[])[] = [
  [],
  descendingByOne(9, [47, 34, 23, 14, 7, 3, 1]),
  descendingByOne(21, [52, 48, 43, 39, 35, 31, 27, 23, 20, 16, 13, 10, 8, 5, 3, 2, 1]),
  // A single shard has two parities fewer than two.
  [
    ...descendingByOne(
      31,
      [46, 44, 41, 39, 37, 34, 32, 30, 27, 25, 23, 21, 19, 17, 15, 13, 11, 10, 8, 7, 5, 4, 3, 2],
    ),
    [1, 6],
  ],
  forEachCount([87, 84, 81, 78, 75, 71, 68, 65, 61, 58, 54, 50, 47, 43, 38, 34, 29, 23]),
];

function descendingByOne(most: number, shards: readonly number[]): Column[] {
  return shards.map((count, i) => [count, most - i]);
}

function forEachCount(parities: readonly number[]): Column[] {
  return parities.map((count, i) => [parities.length - i, count]);
}

/** Above it, byte 7 of a span carries a level. */
const LEVEL_MARK = 0x80;
const LEVEL_BYTE = 7;

/** @param data span first */
export function markLevel(data: Uint8Array, level: RedundancyLevel): void {
  if (level > 0) data[LEVEL_BYTE] = LEVEL_MARK | level;
}

/** @param data span first @returns level 0..127, and the span without it */
export function readLevel(data: Uint8Array): { readonly level: number; readonly span: Uint8Array } {
  const span = data.slice(0, SPAN_SIZE);
  const mark = span[LEVEL_BYTE] as number;
  if (mark <= LEVEL_MARK) return { level: 0, span };
  span[LEVEL_BYTE] = 0;
  return { level: mark - LEVEL_MARK, span };
}

export function referenceSize({ encrypted }: TreeShape): number {
  return encrypted ? 2 * ADDRESS_SIZE : ADDRESS_SIZE;
}

/** @param shards 1 or more */
export function parityCount(shards: number, { level, encrypted }: TreeShape): number {
  const column = (encrypted ? ENCRYPTED : PLAIN)[level]?.find(([from]) => from <= shards);
  return column === undefined ? 0 : column[1];
}

/** Their parities fill the chunk. */
export function shardsMax(shape: TreeShape): number {
  const width = referenceSize(shape) / ADDRESS_SIZE;
  return Math.floor((BRANCHING - parityCount(BRANCHING / width, shape)) / width);
}

/** @param span more than a leaf holds */
export function referenceCounts(span: bigint, shape: TreeShape): ReferenceCounts {
  const branching = BigInt(shardsMax(shape));
  let covered = LEAF_SPAN;
  while (covered * branching < span) covered *= branching;
  const data = Number((span + covered - 1n) / covered);
  return { data, parities: parityCount(data, shape) };
}
