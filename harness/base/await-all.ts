/**
 * Like `Promise.all`, but a failure is told only when every work has ended: nothing goes on behind the back of what
 * tidies up after it.
 * @throws the first failure in the order of the works
 */
export async function awaitAll<T>(works: readonly Promise<T>[]): Promise<T[]> {
  const outcomes = await Promise.allSettled(works);
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  });
}
