import { toHex } from '../../../../formats/crypto/hex.ts';
import type { TapValue } from './events.ts';

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

export function shown(message: Readonly<Record<string, unknown>>, names: Names, shows: Shows): Shown {
  const told: [string, TapValue][] = [];
  let count = 0;
  // Every message of a busy network passes here.
  for (const field of Object.keys(message)) {
    const value = message[field];
    if (isEmpty(value) || ++count > LIST_MAX) continue;
    const show = Object.hasOwn(shows, field) ? shows[field] : undefined;
    told.push([short(field), show === undefined ? plain(value) : orPlain(value, show, names)]);
  }
  // A peer chooses the names of its headers, and how many there are.
  if (count > LIST_MAX) told.push(['…', `and ${count - LIST_MAX} more`]);
  return Object.fromEntries(told);
}

/** A sound message may have a value that cannot be shown, such as a multiaddress of a new kind. */
function orPlain(value: unknown, show: NonNullable<Shows[string]>, names: Names): TapValue {
  try {
    return cut(show(value as never, names));
  } catch {
    return plain(value);
  }
}

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

function cut(value: TapValue): TapValue {
  if (typeof value === 'string') return short(value);
  if (!Array.isArray(value)) return value;
  const first = value.slice(0, LIST_MAX).map(cut);
  return value.length > LIST_MAX ? [...first, `and ${value.length - LIST_MAX} more`] : first;
}

function short(text: string): string {
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === '') return true;
  return (value instanceof Uint8Array || Array.isArray(value)) && value.length === 0;
}
