/**
 * `Promise.all` that rejects only when every task has ended: nothing still runs when the caller tidies up.
 * @throws the first failure in order of tasks
 */
export async function awaitAll<T>(works: readonly Promise<T>[]): Promise<T[]> {
  const outcomes = await Promise.allSettled(works);
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}
