export interface Point {
  readonly nodes: number;
  readonly value: number;
}

/**
 * Exponent e of value = c · nodes^e, by least squares on logarithms.
 * @returns undefined for fewer than two sizes, or if a value has no logarithm
 */
export function exponentOf(points: readonly Point[]): number | undefined {
  if (new Set(points.map(({ nodes }) => nodes)).size < 2) return undefined;
  if (points.some(({ value }) => !(value > 0 && Number.isFinite(value)))) return undefined;
  const logs = points.map(({ nodes, value }) => ({ x: Math.log(nodes), y: Math.log(value) }));
  const meanX = mean(logs.map(({ x }) => x));
  const meanY = mean(logs.map(({ y }) => y));
  const covariance = mean(logs.map(({ x, y }) => (x - meanX) * (y - meanY)));
  return covariance / mean(logs.map(({ x }) => (x - meanX) ** 2));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export type Sizes = Readonly<Record<'process' | 'embedded', readonly number[]>>;

const SIZES_EXPECTED = 'process:5,10,20 embedded:5,50, or one of them: numbers of nodes from 1 to 200';

/** @param text such as `process:5,10 embedded:50`; a driver left out runs nothing @throws RangeError */
export function sizesFrom(text: string): Sizes {
  const sizes: Record<keyof Sizes, number[]> = { process: [], embedded: [] };
  for (const part of text.trim().split(/\s+/)) {
    const [driver = '', counts = '', ...more] = part.split(':');
    const numbers = counts.split(',').map(Number);
    const isFit = numbers.every((count) => Number.isInteger(count) && count >= 1 && count <= 200);
    if (!(driver === 'process' || driver === 'embedded') || more.length > 0 || !isFit) {
      throw new RangeError(`SVCNET_BENCH_NODES: got '${text}', expected ${SIZES_EXPECTED}`);
    }
    sizes[driver].push(...numbers);
  }
  return sizes;
}
