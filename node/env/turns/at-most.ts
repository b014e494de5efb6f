/** Runs the pieces of work in order with at most `limit` under way. After the first failure none is started. */
export async function atMost(limit: number, works: Iterable<() => Promise<void>>): Promise<void> {
  const queue = works[Symbol.iterator]();
  let failed = false;
  const worker = async () => {
    for (let next = queue.next(); next.done !== true; next = queue.next()) {
      try {
        await next.value();
      } catch (error) {
        failed = true;
        throw error;
      }
      if (failed) return;
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
}
