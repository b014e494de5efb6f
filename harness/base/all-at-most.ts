import { atMost } from '../../node/env/turns/at-most.ts';

/**
 * Runs the tasks, at most `limit` at a time; after the first failure no more are started.
 * @returns the result of each, in the order of the tasks
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
