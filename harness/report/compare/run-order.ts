/** One run. */
export interface ScheduledRun<S> {
  readonly side: S;
  /** From 0. */
  readonly round: number;
}

/** Each side once per round, every other round backwards (A B, B A, …): a steady change affects all alike. */
export function alternatingRuns<S>(sides: readonly S[], rounds: number): ScheduledRun<S>[] {
  return Array.from({ length: rounds }, (_, round) => {
    const order = round % 2 === 0 ? sides : sides.toReversed();
    return order.map((side) => ({ side, round }));
  }).flat();
}
