/** What a test can break in the simulated node. */

export interface Failing {
  /** Names of what fails: each fake asks for its own. */
  failing: Set<string>;
}

export function failIf(turn: Failing, what: string): void {
  if (turn.failing.has(what)) throw new Error(`${what} is broken`);
}
