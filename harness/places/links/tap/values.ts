/** Values of messages as they are shown. */
import { toHex } from '../../../../formats/crypto/hex.ts';
import type { TapValue } from './events.ts';

/** Names of what messages mention. */
export interface Names {
  /** @param hex overlay @returns the node's name, or the overlay */
  ofOverlay(hex: string): string;
}

type Shown = { readonly [field: string]: TapValue };
type Shows = Readonly<Record<string, (value: never, names: Names) => TapValue>>;

/** Longer ones are shown by length and beginning. */
const BYTES_MAX = 65;
const BEGINNING = 16;
const TEXT_MAX = 200;
const LIST_MAX = 32;

/** The fields of a decoded message, except those that are empty. @throws what a row's `show` throws */
export function shown(message: Readonly<Record<string, unknown>>, names: Names, shows: Shows): Shown {
  return Object.fromEntries(
    Object.entries(message)
      .filter(([, value]) => !isEmpty(value))
      .map(([field, value]) => {
        const show = shows[field];
        return [field, show === undefined ? plain(value) : cut(show(value as never, names))];
      }),
  );
}

/** Length and beginning of bytes that nothing decodes. */
export function beginning(bytes: Uint8Array): string {
  const rest = bytes.length > BEGINNING ? '…' : '';
  return `${toHex(bytes.subarray(0, BEGINNING))}${rest} (${bytes.length} B)`;
}

function plain(value: unknown): TapValue {
  if (value instanceof Uint8Array) return value.length > BYTES_MAX ? beginning(value) : toHex(value);
  if (typeof value === 'bigint')
    return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString();
  if (value instanceof Map) return `${value.size} entries`;
  if (Array.isArray(value)) return cut(value.map(plain));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, plain(inner)]));
  }
  return cut(value as string | number | boolean);
}

/** Kept short: many are kept. */
function cut(value: TapValue): TapValue {
  if (typeof value === 'string') return value.length > TEXT_MAX ? `${value.slice(0, TEXT_MAX)}…` : value;
  if (!Array.isArray(value)) return value;
  const first = value.slice(0, LIST_MAX).map(cut);
  return value.length > LIST_MAX ? [...first, `and ${value.length - LIST_MAX} more`] : first;
}

/** As absent on the wire. */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === '') return true;
  return (value instanceof Uint8Array || Array.isArray(value)) && value.length === 0;
}
