/**
 * The few encodings that deploying needs: RLP for transactions and the ABI for calls. They are written out
 * here because loading a complete chain library takes longer than starting and deploying the whole chain.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';

const WORD_BYTES = 32;

export function hex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')}`;
}

export function fromHex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text.slice(2), 'hex'));
}

export function quantity(value: bigint | number): string {
  return `0x${value.toString(16)}`;
}

export function keccak256(bytes: Uint8Array): Uint8Array {
  return keccak_256(bytes);
}

/** Address with the mixed-case checksum (ERC-55) that tools print. @param address 20 bytes */
export function checksumAddress(address: Uint8Array): string {
  const lower = hex(address).slice(2);
  const hash = hex(keccak256(Buffer.from(lower, 'ascii'))).slice(2);
  const mixed = Array.from(lower, (digit, i) =>
    Number.parseInt(hash.charAt(i), 16) > 7 ? digit.toUpperCase() : digit,
  );
  return `0x${mixed.join('')}`;
}

/** Shortest big-endian form; zero is empty, as RLP wants it. */
export function integerBytes(value: bigint): Uint8Array {
  if (value === 0n) return new Uint8Array(0);
  const digits = value.toString(16);
  return Uint8Array.from(Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex'));
}

export type RlpItem = Uint8Array | readonly RlpItem[];

/** Recursive length prefix encoding of byte strings and lists. Source: Ethereum yellow paper, appendix B. */
export function rlp(item: RlpItem): Uint8Array {
  if (item instanceof Uint8Array) {
    const [first] = item;
    return item.length === 1 && first !== undefined && first < 0x80 ? item : rlpPrefixed(0x80, item);
  }
  return rlpPrefixed(0xc0, Buffer.concat(item.map(rlp)));
}

function rlpPrefixed(offset: number, payload: Uint8Array): Uint8Array {
  if (payload.length <= 55) return Buffer.concat([Uint8Array.of(offset + payload.length), payload]);
  const length = integerBytes(BigInt(payload.length));
  return Buffer.concat([Uint8Array.of(offset + 55 + length.length), length, payload]);
}

/** A value of a static ABI type: integers and booleans as numbers, addresses and bytes32 as hex. */
export type AbiValue = bigint | number | boolean | string;

/** One 32-byte word; shorter hex strings (addresses) are padded on the left. */
export function abiWord(value: AbiValue): Uint8Array {
  const digits = typeof value === 'string' ? value.slice(2) : BigInt(value).toString(16);
  return Uint8Array.from(Buffer.from(digits.padStart(2 * WORD_BYTES, '0'), 'hex'));
}

/** Call data for a function whose arguments are all of static types. @param signature canonical form */
export function encodeCall(signature: string, ...values: AbiValue[]): Uint8Array {
  return Buffer.concat([keccak256(Buffer.from(signature, 'ascii')).subarray(0, 4), ...values.map(abiWord)]);
}

/** Arguments of `(string, string, uint256)`, the one dynamic list among the constructors. */
export function encodeTextsAndNumber(first: string, second: string, number: bigint): Uint8Array {
  const tails = [abiString(first), abiString(second)] as const;
  const offset = 3 * WORD_BYTES;
  return Buffer.concat([
    abiWord(offset),
    abiWord(offset + tails[0].length),
    abiWord(number),
    tails[0],
    tails[1],
  ]);
}

function abiString(text: string): Uint8Array {
  const bytes = Buffer.from(text, 'utf8');
  const padding = (WORD_BYTES - (bytes.length % WORD_BYTES)) % WORD_BYTES;
  return Buffer.concat([abiWord(bytes.length), bytes, new Uint8Array(padding)]);
}
