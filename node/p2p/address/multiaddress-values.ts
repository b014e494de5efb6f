import { fromBase58, toBase58 } from '../../../formats/crypto/base58.ts';

/** `MULTIADDRESS_UNKNOWN`: readable up to a protocol that this node does not know. */
export type MultiaddressErrorCode = 'MULTIADDRESS_INVALID' | 'MULTIADDRESS_UNKNOWN';

export class MultiaddressError extends Error {
  readonly code: MultiaddressErrorCode;

  constructor(message: string, code: MultiaddressErrorCode = 'MULTIADDRESS_INVALID') {
    super(message);
    this.name = 'MultiaddressError';
    this.code = code;
  }
}

/** Bytes of a peer id: a multihash of at most 64. Bounds the cost of base conversion. */
const PEER_ID_SIZE_MAX = 66;

/** Four numbers up to 255 without leading zeros. */
const IP4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

export interface ValueKind {
  /** Bytes; undefined: length-prefixed. */
  readonly size?: number;
  readonly write: (value: string) => Uint8Array;
  readonly read: (bytes: Uint8Array) => string;
}

export const port: ValueKind = {
  size: 2,
  write: (value) => Uint8Array.of(decimal(value, 0xffff) >> 8, decimal(value, 0xffff) & 0xff),
  read: ([high = 0, low = 0]) => String(high * 256 + low),
};
export const ip4: ValueKind = {
  size: 4,
  write: (value) => {
    if (!IP4.test(value)) throw new MultiaddressError(`not an IPv4 address: ${value}`);
    return Uint8Array.from(value.split('.'), Number);
  },
  read: (bytes) => bytes.join('.'),
};
export const ip6: ValueKind = { size: 16, write: writeIp6, read: readIp6 };
export const prefixLength: ValueKind = {
  size: 1,
  write: (value) => Uint8Array.of(decimal(value, 0xff)),
  read: ([bits]) => String(bits),
};
export const text: ValueKind = {
  write: (value) => new Uint8Array(Buffer.from(value)),
  read(bytes) {
    const value = Buffer.from(bytes).toString();
    if (value.includes('/')) throw new MultiaddressError('a value with a slash');
    return value;
  },
};
/** May hold slashes, percent-encoded in the address. */
export const path: ValueKind = {
  write: (value) => text.write(decodeURIComponent(value)),
  read: (bytes) => encodeURIComponent(Buffer.from(bytes).toString()),
};
export const peerId: ValueKind = {
  write: (value) => {
    if (value.length > 2 * PEER_ID_SIZE_MAX) throw new MultiaddressError('a peer id that is too long');
    return checkedPeerId(fromBase58(value));
  },
  read: (bytes) => toBase58(checkedPeerId(bytes)),
};
/** Multibase `u`: base 64 for URLs. */
export const certificateHash: ValueKind = {
  write: (value) => {
    if (!value.startsWith('u'))
      throw new MultiaddressError(`a hash in another base than base64url: ${value}`);
    return new Uint8Array(Buffer.from(value.slice(1), 'base64url'));
  },
  read: (bytes) => `u${Buffer.from(bytes).toString('base64url')}`,
};

function decimal(value: string, max: number): number {
  const number = Number(value);
  if (!/^\d{1,5}$/.test(value) || number > max)
    throw new MultiaddressError(`not a number up to ${max}: ${value}`);
  return number;
}

function writeIp6(value: string): Uint8Array {
  // The URL parser writes one spelling; the gap in it stands for zeros.
  const [head = '', tail] = canonicalIp6(value).split('::');
  const groups = (half: string) => (half === '' ? [] : half.split(':'));
  const [first, last] = [groups(head), groups(tail ?? '')];
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0');
  const words = [...first, ...zeros, ...last].map((group) => Number.parseInt(group, 16));
  return Uint8Array.from(words.flatMap((word) => [word >> 8, word & 0xff]));
}

function readIp6(bytes: Uint8Array): string {
  const groups = Array.from({ length: 8 }, (_, i) =>
    ((bytes[2 * i] as number) * 256 + (bytes[2 * i + 1] as number)).toString(16),
  );
  return canonicalIp6(groups.join(':'));
}

/** @throws MultiaddressError */
function canonicalIp6(value: string): string {
  // Other characters could change the meaning of the URL.
  if (!/^[0-9a-fA-F:.]+$/.test(value) || !URL.canParse(`http://[${value}]`)) {
    throw new MultiaddressError(`not an IPv6 address: ${value}`);
  }
  return new URL(`http://[${value}]`).hostname.slice(1, -1);
}

/** A multihash: code, length, that many bytes. */
function checkedPeerId(bytes: Uint8Array): Uint8Array {
  const [code, length] = bytes;
  const known = (code === 0x00 || code === 0x12) && length === bytes.length - 2;
  if (!known || bytes.length > PEER_ID_SIZE_MAX) throw new MultiaddressError('not a peer id');
  return bytes;
}

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
const BITS_PER_DIGIT = 5n;

/** Base 32 of a key of `size` bytes, and a port. */
export function onion(size: number): ValueKind {
  const digits = (size * 8) / Number(BITS_PER_DIGIT);
  return {
    size: size + 2,
    write: (value) => {
      const match = new RegExp(`^([a-z2-7]{${digits}}):(\\d+)$`).exec(value);
      if (match === null) throw new MultiaddressError(`not an onion address with its port: ${value}`);
      let key = 0n;
      for (const digit of match[1] as string) key = (key << BITS_PER_DIGIT) | BigInt(BASE32.indexOf(digit));
      const bytes = Buffer.from(key.toString(16).padStart(size * 2, '0'), 'hex');
      return new Uint8Array(Buffer.concat([bytes, port.write(match[2] as string)]));
    },
    read: (bytes) => {
      let key = BigInt(`0x${Buffer.from(bytes.subarray(0, size)).toString('hex')}`);
      let address = '';
      for (let i = 0; i < digits; i++, key >>= BITS_PER_DIGIT)
        address = BASE32.charAt(Number(key & 31n)) + address;
      return `${address}:${port.read(bytes.subarray(size))}`;
    },
  };
}
