/** Keeps the list of what this process breaks. */
export interface BreakWitness {
  /**
   * @param target node, or `chain` @param text such as `the chain was paused`
   * @param what of the target it affects, until `mended`; absent: it takes no time
   */
  broke(target: string, text: string, what?: string): void;
  mended(target: string, what: string): void;
}
