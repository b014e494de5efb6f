/** Turns of each contender, so short that other work of the machine hits all alike. */
const TURNS = 21;

interface Contender {
  readonly name: string;
  /** Does the work `count` times. */
  readonly run: () => void;
  readonly count: number;
}

/**
 * Contenders take turns, so that their ratio does not depend on when each ran.
 * @returns operations per second by name, the median of the turns
 */
export function interleave(contenders: readonly Contender[]): Map<string, number> {
  const rates = new Map<string, number[]>(contenders.map(({ name }) => [name, []]));
  for (const { run } of contenders) run();
  for (let turn = 0; turn < TURNS; turn++) {
    for (const { name, run, count } of contenders) {
      const start = performance.now();
      run();
      rates.get(name)!.push((count * 1000) / (performance.now() - start));
    }
  }
  return new Map([...rates].map(([name, turns]) => [name, turns.sort((a, b) => a - b)[TURNS >> 1]!]));
}
