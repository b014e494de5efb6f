/** Checks of the library's arguments: a mistake is reported at the call, not by whatever it breaks further in. */
import { TIMER_MAX_MS } from '../../formats/units.ts';
import { HarnessError } from './errors.ts';

const ITEMS_SHOWN = 8;
const SHOWN_MAX = 40;

export const DIGITS = {
  hash: [64],
  /** The longer one ends with a decryption key. */
  reference: [64, 128],
  account: [40],
  /** Compressed or not. */
  publicKey: [66, 130],
} as const;

/** @param where method, and parameter if there are several @throws HarnessError `ARGUMENT_INVALID` */
export function expectHex(where: string, value: unknown, digits: readonly number[]): void {
  if (!isHex(value, digits)) throw argumentError(where, value, `${digits.join(' or ')} hex digits`);
}

/** The chain writes these with 0x, and we without. */
export function expectChainHex(where: string, value: unknown, digits: readonly number[]): void {
  const plain = typeof value === 'string' ? value.replace(/^0x/, '') : value;
  if (!isHex(plain, digits)) throw argumentError(where, value, `${digits.join(' or ')} hex digits`);
}

function isHex(value: unknown, digits: readonly number[]): boolean {
  return typeof value === 'string' && /^[0-9a-fA-F]*$/.test(value) && digits.includes(value.length);
}

/** @throws HarnessError `ARGUMENT_INVALID` */
export function expectWhole(
  where: string,
  value: unknown,
  { min, max }: { readonly min: number; readonly max?: number },
): void {
  if (
    Number.isSafeInteger(value) &&
    (value as number) >= min &&
    (value as number) <= (max ?? Number.POSITIVE_INFINITY)
  )
    return;
  throw argumentError(where, value, `a whole number from ${min}${max === undefined ? '' : ` to ${max}`}`);
}

/** @throws HarnessError `ARGUMENT_INVALID` */
export function expectAmount(where: string, value: unknown): void {
  if (typeof value !== 'bigint' || value < 0n) throw argumentError(where, value, 'a bigint from 0n');
}

/** @param size bytes; undefined: any @throws HarnessError `ARGUMENT_INVALID` */
export function expectBytes(where: string, value: unknown, size?: number): void {
  if (value instanceof Uint8Array && (size === undefined || value.length === size)) return;
  throw argumentError(where, value, size === undefined ? 'a Uint8Array' : `a Uint8Array of ${size} bytes`);
}

/** @throws HarnessError `ARGUMENT_INVALID` */
export function expectText(where: string, value: unknown): void {
  if (typeof value !== 'string') throw argumentError(where, value, 'a string');
}

/** @throws HarnessError `ARGUMENT_INVALID` */
export function expectTimeout(where: string, value: unknown): void {
  if (typeof value === 'number' && value >= 0 && value <= TIMER_MAX_MS) return;
  throw argumentError(where, value, `milliseconds from 0 to ${TIMER_MAX_MS}`);
}

export function argumentError(where: string, value: unknown, expected: string): HarnessError {
  return new HarnessError('ARGUMENT_INVALID', `${where}: got ${valueText(value)}, expected ${expected}`);
}

export function valueText(value: unknown): string {
  if (typeof value === 'string') {
    const text = value.length > SHOWN_MAX ? `${value.slice(0, SHOWN_MAX)}…` : value;
    return `'${text}'${value.length > SHOWN_MAX ? ` (${value.length} characters)` : ''}`;
  }
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return String(value);
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (Array.isArray(value)) return listText(value);
  const kind = (value as { constructor?: { name?: string } }).constructor?.name;
  return kind === undefined || kind === 'Object' ? 'an object' : `a value of type ${kind}`;
}

/** Lists in lists, as of groups of nodes, but no deeper: one may hold itself. */
function listText(list: readonly unknown[], isInner = false): string {
  const shown = list.slice(0, ITEMS_SHOWN).map((item) => {
    if (!Array.isArray(item)) return valueText(item);
    return isInner ? 'a list' : listText(item, true);
  });
  return `[${shown.join(', ')}${list.length > ITEMS_SHOWN ? `, … of ${list.length}` : ''}]`;
}
