/** Chooses what is read next. Runs in k6 and in Node.js. */

/** @import { ReadPattern } from '../../../harness/run/load/k6/config.ts' */

/**
 * @param {ReadPattern} reads
 * @param {number} count things, at least 1
 * @returns {(draw: number) => number} number from 0 to 1 → index of a thing
 */
export function chooser(reads, count) {
  if (reads.kind === 'cold') return (draw) => Math.floor(draw * count);
  /** @type {number[]} share of the first n things in all reads */
  const sums = [];
  let sum = 0;
  for (let rank = 1; rank <= count; rank++) sums.push((sum += rank ** -reads.exponent));
  return (draw) => {
    const wanted = draw * sum;
    let [low, high] = [0, count - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (/** @type {number} */ (sums[middle]) > wanted) high = middle;
      else low = middle + 1;
    }
    return low;
  };
}
