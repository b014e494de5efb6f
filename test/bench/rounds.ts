/**
 * Seconds of the best round of each piece of work, all in turn, so that a slow moment of the machine hits them alike:
 * other processes only ever make a round slower.
 */
export async function best<T extends readonly (() => Promise<unknown>)[]>(
  rounds: number,
  works: readonly [...T],
): Promise<{ [K in keyof T]: number }> {
  const seconds = works.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < rounds; round++)
    for (const [i, work] of works.entries()) {
      const startedAt = performance.now();
      await work();
      seconds[i] = Math.min(seconds[i] as number, (performance.now() - startedAt) / 1000);
    }
  return seconds as { [K in keyof T]: number };
}
