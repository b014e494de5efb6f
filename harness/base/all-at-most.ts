import { atMost } from '../../node/env/turns/at-most.ts';

/**
 * Runs the works with at most `limit` under way; after the first failure none is begun.
 * @returns what each gave, in the order of the works
 */
export async function allAtMost<T>(limit: number, works: readonly (() => Promise<T>)[]): Promise<T[]> {
  const results: T[] = [];
  await atMost(
    limit,
    works.map((work, index) => async () => {
      results[index] = await work();
    }),
  );
  return results;
}
