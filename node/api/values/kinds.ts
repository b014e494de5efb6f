/** How a parameter's text becomes a value, with the error texts of `http-api-completion.md` 3.2. */
import secp256k1 from 'secp256k1';
import { textOf } from '../../manifest/byte-text.ts';
import { decodeMultiaddress, encodeMultiaddress } from '../../p2p/address/multiaddress.ts';
import type { Dialect } from '../dialect.ts';
import { decodeBase64 } from './base64.ts';
import { referenceFromCid } from './cid.ts';
import { checkMediaType } from './media-type.ts';

interface ParamSchema {
  readonly type: 'string' | 'integer' | 'boolean';
  readonly [keyword: string]: unknown;
}

/** `unavailable`: the service that could tell is missing (503, not 400). */
export class ParseFailure extends Error {
  readonly code = 'PARSE_FAILURE';
  readonly unavailable: boolean;

  constructor(text: string, unavailable = false) {
    super(text);
    this.name = 'ParseFailure';
    this.unavailable = unavailable;
  }
}

export interface Kind<T> {
  readonly schema: ParamSchema;
  /** Any text is a value. */
  readonly never?: 'refused';
  /** A text may be a name, known to a service that is missing here. */
  readonly byName?: true;
  /** @throws ParseFailure; undefined: as if not sent */
  readonly parse: (text: string, dialect: Dialect) => T | undefined;
}

const SYNTAX = 'invalid syntax';
const RANGE = 'value out of range';

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map((word) => [word, true] as const),
  ...['0', 'f', 'F', 'FALSE', 'false', 'False'].map((word) => [word, false] as const),
]);

export const bool: Kind<boolean> = {
  schema: { type: 'boolean' },
  parse(text) {
    const value = BOOLEANS.get(text);
    if (value === undefined) throw new ParseFailure(SYNTAX);
    return value;
  },
};

/** There, unless it says false. */
export const presence: Kind<boolean> = {
  schema: { type: 'string' },
  never: 'refused',
  parse: (value) => BOOLEANS.get(value) ?? true,
};

export const text: Kind<string> = {
  schema: { type: 'string' },
  never: 'refused',
  parse: (value) => value.toWellFormed(),
};

/** Any bytes, as text of `byte-text.ts`. */
export const byteText: Kind<string> = {
  schema: { type: 'string' },
  never: 'refused',
  parse: (value) => value,
};

/** A stored header as text of `byte-text.ts`. */
export const storedText: Kind<string> = { schema: { type: 'string' }, never: 'refused', parse: headerText };

/** As in JSON, or as the public network's node reads it. */
interface NumberShape {
  readonly strict: RegExp;
  readonly lenient: RegExp;
}

const UNSIGNED: NumberShape = { strict: /^(0|[1-9][0-9]*)$/, lenient: /^[0-9]+$/ };
const SIGNED: NumberShape = { strict: /^(0|-?[1-9][0-9]*)$/, lenient: /^[+-]?[0-9]+$/ };

function shapeIn({ strictRequests }: Dialect, { strict, lenient }: NumberShape): RegExp {
  return strictRequests ? strict : lenient;
}

/** Capped at `INTEGER_MAX`. */
export function uint(bits: 8 | 64): Kind<number> {
  const max = 2n ** BigInt(bits) - 1n;
  return {
    schema: { type: 'integer', minimum: 0 },
    parse: (value, dialect) => cut(bounded(value, shapeIn(dialect, UNSIGNED), { min: 0n, max })),
  };
}

/** Signed, capped alike. */
export const int: Kind<number> = {
  schema: { type: 'integer' },
  parse: (value, dialect) =>
    cut(bounded(value, shapeIn(dialect, SIGNED), { min: -(2n ** 63n), max: 2n ** 63n - 1n })),
};

/** `uint(64)`, exact. */
export const uint64: Kind<bigint> = {
  schema: { type: 'integer', minimum: 0 },
  parse: (value, dialect) => bounded(value, shapeIn(dialect, UNSIGNED), { min: 0n, max: 2n ** 64n - 1n }),
};

/** 2^256 has 78; BigInt takes quadratic time. */
const BIGINT_DIGITS_MAX = 256;

export const bigInteger: Kind<bigint> = {
  schema: { type: 'string', pattern: '^(0|-?[1-9][0-9]*)$' },
  parse(value, dialect) {
    if (!shapeIn(dialect, SIGNED).test(value) || value.length > BIGINT_DIGITS_MAX)
      throw new ParseFailure('invalid value');
    return toBigInt(value);
  },
};

/** Empty counts as absent. */
export const hex: Kind<Uint8Array> = {
  schema: { type: 'string', pattern: '^([A-Fa-f0-9]{2})+$' },
  parse: (value) => (value === '' ? undefined : hexBytes(value)),
};

/** Base64 of either alphabet, padded. */
export const base64Text: Kind<string> = {
  schema: { type: 'string', contentEncoding: 'base64url' },
  parse(value) {
    const decoded = decodeBase64(value);
    if (typeof decoded === 'number') throw new ParseFailure(`illegal base64 data at input byte ${decoded}`);
    return Buffer.from(decoded).toString('utf8');
  },
};

/** Comma-separated. Ends after the first empty or too long one, as the check does. */
export function hexList(lengthMax: number): Kind<readonly Uint8Array[]> {
  return {
    schema: {
      type: 'string',
      pattern: `^([A-Fa-f0-9]{2}){1,${lengthMax}}(,([A-Fa-f0-9]{2}){1,${lengthMax}})*$`,
    },
    parse(value) {
      const list: Uint8Array[] = [];
      for (const part of value.split(',')) {
        const bytes = hexBytes(part);
        list.push(bytes);
        if (bytes.length === 0 || bytes.length > lengthMax) break;
      }
      return list;
    },
  };
}

/** Hex, a CIDv1, or a name, for which there is no service. */
export const reference: Kind<Uint8Array> = {
  schema: { type: 'string', pattern: '^([A-Fa-f0-9]{64}|[A-Fa-f0-9]{128})$' },
  byName: true,
  parse(value, dialect) {
    if (value === '') return undefined;
    if (/^([0-9a-fA-F]{2})+$/.test(value)) return new Uint8Array(Buffer.from(value, 'hex'));
    const result = referenceFromCid(value);
    if (result instanceof Uint8Array) return result;
    if (value.includes('.')) throw new ParseFailure('ENS service is not available', true);
    const cause = `failed parsing CID ${value.toWellFormed()} err ${result}: could not parse`;
    throw new ParseFailure(`${dialect.messages.invalidName}: ${cause}`);
  },
};

const CHAIN_ADDRESS_SIZE = 20;

/**
 * With or without `0x`; all zero counts as absent. A strict dialect takes hex digits alone; the other cuts a longer address,
 * pads a shorter one on the left, and drops everything from the first wrong character, as real nodes do.
 */
export const chainAddress: Kind<Uint8Array> = {
  schema: { type: 'string', pattern: '^(0x)?[A-Fa-f0-9]{40}$' },
  parse(value, { strictRequests }) {
    const digits = value.replace(/^0[xX]/, '');
    if (strictRequests) {
      const exact = hexBytes(digits);
      return exact.every((byte) => byte === 0) ? undefined : exact;
    }
    const bytes = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex').subarray(
      -CHAIN_ADDRESS_SIZE,
    );
    if (bytes.every((byte) => byte === 0)) return undefined;
    const address = new Uint8Array(CHAIN_ADDRESS_SIZE);
    address.set(bytes, CHAIN_ADDRESS_SIZE - bytes.length);
    return address;
  },
};

/** 33 or 65 bytes; compressed afterwards. */
export const publicKey: Kind<Uint8Array> = {
  schema: { type: 'string', pattern: '^([A-Fa-f0-9]{66}|[A-Fa-f0-9]{130})$' },
  parse(value) {
    if (value === '') return undefined;
    const bytes = hexBytes(value);
    if (bytes.length !== 33 && bytes.length !== 65) {
      throw new ParseFailure(`malformed public key: invalid length: ${bytes.length}`);
    }
    if (!secp256k1.publicKeyVerify(bytes))
      throw new ParseFailure('malformed public key: not a point of secp256k1');
    return secp256k1.publicKeyConvert(bytes, true);
  },
};

export const multiAddress: Kind<string> = {
  schema: { type: 'string' },
  parse(value) {
    const address = `/${value}`;
    try {
      return decodeMultiaddress(encodeMultiaddress(address));
    } catch (error) {
      throw new ParseFailure(`failed to parse multiaddr "${address}": ${(error as Error).message}`);
    }
  },
};

export const mediaType: Kind<string> = {
  schema: { type: 'string' },
  parse(value) {
    if (value === '') return undefined;
    const problem = checkMediaType(value);
    if (problem !== undefined) throw new ParseFailure(problem);
    return headerText(value);
  },
};

function headerText(bytes: string): string {
  return textOf(Buffer.from(bytes, 'latin1'));
}

function bounded(value: string, shape: RegExp, { min, max }: { min: bigint; max: bigint }): bigint {
  if (!shape.test(value)) throw new ParseFailure(SYNTAX);
  // Out of range without converting it.
  const digits = value.replace(/^[+-]?0*/, '');
  if (digits.length > 20) throw new ParseFailure(RANGE);
  const number = toBigInt(value);
  if (number < min || number > max) throw new ParseFailure(RANGE);
  return number;
}

/** Exact in a double, and the store's largest key number. */
const INTEGER_MAX = 2 ** 48 - 1;

function cut(value: bigint): number {
  return Math.max(Math.min(Number(value), INTEGER_MAX), -INTEGER_MAX);
}

function toBigInt(value: string): bigint {
  return value.startsWith('-') ? -BigInt(value.slice(1)) : BigInt(value.replace('+', ''));
}

function hexBytes(value: string): Uint8Array {
  const bad = /[^0-9a-fA-F]/u.exec(value)?.[0];
  if (bad !== undefined) throw new ParseFailure(`invalid hex byte: ${codePoint(bad)}`);
  if (value.length % 2 !== 0) throw new ParseFailure('odd length hex string');
  return new Uint8Array(Buffer.from(value, 'hex'));
}

/** `U+0047 'G'`; only what prints. */
function codePoint(character: string): string {
  const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
  return /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character) ? `${code} '${character}'` : code;
}
