export interface Failing {
  /** Each fake asks for its own name. */
  failing: Set<string>;
}

export function failIf(turn: Failing, what: string): void {
  if (turn.failing.has(what)) throw new Error(`${what} is broken`);
}
