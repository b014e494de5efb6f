/** Input of commands in tests, and what they have printed. */
import type { CommandContext } from '../../../../harness/commands/context.ts';

export function contextOf(
  stateDir: string,
  json = false,
): CommandContext & { readonly printed: () => string } {
  const parts: string[] = [];
  return {
    stateDir,
    json,
    style: { width: 100, colour: false, live: false },
    width: Number.POSITIVE_INFINITY,
    signal: new AbortController().signal,
    out: (text) => void parts.push(text),
    note: () => undefined,
    printed: () => parts.join(''),
  };
}
