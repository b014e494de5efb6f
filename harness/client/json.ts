/** Amounts beyond 2^53, or decimal strings, must not pass through a float. */

/** Of the shortest integers that a double cannot hold. */
const LONG_INTEGER = /\d{16}/;

/** Integers that a double cannot hold become `bigint`. */
export function parseJson(text: string): unknown {
  // Looking at each value takes ten times as long.
  if (!LONG_INTEGER.test(text)) return JSON.parse(text) as unknown;
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
      ? BigInt(context?.source ?? value)
      : value,
  ) as unknown;
}

/** An amount in any of its spellings. */
export type AmountJson = number | bigint | string;

export function amount(value: AmountJson): bigint {
  return BigInt(value);
}

/** An address or hash of any spelling, as lower-case digits. */
export function plainHex(text: string): string {
  return text.replace(/^0x/, '').toLowerCase();
}

/** An address as the chain writes it. */
export function prefixed(address: string): string {
  return address.startsWith('0x') ? address : `0x${address}`;
}
