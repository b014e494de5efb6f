/**
 * Leaves out parts, larger ones first, while what is left still passes.
 * @param does whether a list passes; never called for the whole list, nor for the same one twice in a row
 * @returns a list from which no single item can be left out, unless `does` stopped the search by throwing
 */
export async function shortened<T>(
  items: readonly T[],
  does: (rest: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let left = items;
  let parts = 1;
  while (left.length > 0) {
    const size = Math.ceil(left.length / parts);
    const rest = await firstThatDoes(left, size, does);
    if (rest !== undefined) {
      left = rest;
      parts = Math.max(1, Math.min(parts - 1, left.length));
    } else if (size === 1) {
      return left;
    } else {
      parts = Math.min(left.length, parts * 2);
    }
  }
  return left;
}

async function firstThatDoes<T>(
  items: readonly T[],
  size: number,
  does: (rest: readonly T[]) => Promise<boolean>,
): Promise<readonly T[] | undefined> {
  for (let from = 0; from < items.length; from += size) {
    const rest = [...items.slice(0, from), ...items.slice(from + size)];
    if (await does(rest)) return rest;
  }
  return undefined;
}

/**
 * Tries `least` first, then bisects; never tries a number below a failed one.
 * @param from a number that passes @param least the smallest that makes sense
 */
export async function lowered(
  from: number,
  least: number,
  does: (value: number) => Promise<boolean>,
): Promise<number> {
  let low = least - 1;
  let high = from;
  while (high - low > 1) {
    const middle = low < least ? least : low + Math.floor((high - low) / 2);
    if (await does(middle)) high = middle;
    else low = middle;
  }
  return high;
}
