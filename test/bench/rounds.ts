/** Pieces of work take turns; the best round counts, so that other work of the machine counts little. */
export async function best<T extends readonly (() => Promise<unknown>)[]>(
  rounds: number,
  works: readonly [...T],
): Promise<{ [K in keyof T]: number }> {
  const seconds = works.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < rounds; round++)
    for (const [i, work] of works.entries()) {
      const before = process.cpuUsage();
      await work();
      const { user, system } = process.cpuUsage(before);
      seconds[i] = Math.min(seconds[i] as number, (user + system) / 1e6);
    }
  return seconds as { [K in keyof T]: number };
}

export function repeat(times: number, work: () => unknown): void {
  for (let i = 0; i < times; i++) work();
}
