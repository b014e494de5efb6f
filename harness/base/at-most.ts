/**
 * Runs the works with at most `limit` under way; the first failure ends it.
 * @returns what each gave, in the order of the works
 */
export async function atMost<T>(limit: number, works: readonly (() => Promise<T>)[]): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const worker = async () => {
    while (next < works.length) {
      const index = next++;
      results[index] = await (works[index] as () => Promise<T>)();
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, works.length) }, worker));
  return results;
}
