/** Source of random integers: `below` returns one from 0 to `bound` - 1. */
export interface RandomIntegers {
  below(bound: number): number;
}

export function oneOf<T>(list: readonly T[], random: RandomIntegers): T {
  return list[random.below(list.length)] as T;
}
