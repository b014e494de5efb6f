import { atMost } from '../../node/env/turns/at-most.ts';

/**
 * At most `limit` tasks at a time; none start after a failure.
 * @returns results in order
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
