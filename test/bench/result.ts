/** One figure of a benchmark. Ratios are taken within one run, against the baseline named. */
export interface BenchResult {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** What `ratio` compares with. */
  readonly baseline?: string;
  readonly ratio?: number;
}
