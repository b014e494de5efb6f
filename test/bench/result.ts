/** Ratios are taken within one run. */
export interface BenchResult {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** What `ratio` compares with. */
  readonly baseline?: string;
  readonly ratio?: number;
}
