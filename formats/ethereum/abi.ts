/**
 * Types of fixed length: words of 32 bytes. A full ABI library would cost each node process about 80 ms at start. Data from
 * the chain is checked, never sliced blindly.
 */
import { fromBigEndian } from '../crypto/big-endian.ts';
import { toHex } from '../crypto/hex.ts';
import { keccak256 } from '../crypto/keccak.ts';
import { hexBytes, malformed } from './hex.ts';

const WORD_SIZE = 32;
const SELECTOR_SIZE = 4;
const ADDRESS_SIZE = 20;
const ADDRESS_BITS = 160n;
const UINT256_END = 1n << 256n;

/** One static argument: a number (uintN), bytes32 or a 20-byte address as bytes or 0x-hex, or a flag. */
export type AbiValue = bigint | number | boolean | Uint8Array | string;

/** First four bytes of the hash, `0x` and 8 hex digits. Functions and custom errors. */
export function selectorOf(signature: string): string {
  return `0x${toHex(signatureHash(signature).subarray(0, SELECTOR_SIZE))}`;
}

export function topicOf(signature: string): string {
  return `0x${toHex(signatureHash(signature))}`;
}

export function encodeCall(selector: string, ...values: AbiValue[]): string {
  return selector + values.map((value) => toHex(encodeWord(value))).join('');
}

/**
 * @param value addresses (20 bytes) and numbers are padded on the left
 * @throws RangeError for a value that does not fit; ChainError RPC_ERROR for text that is not hex
 */
export function encodeWord(value: AbiValue): Uint8Array {
  if (typeof value === 'string') return encodeWord(hexBytes(value, 'ABI value'));
  const word = new Uint8Array(WORD_SIZE);
  if (value instanceof Uint8Array) {
    if (value.length !== WORD_SIZE && value.length !== ADDRESS_SIZE) {
      throw new RangeError(`no static ABI value of ${value.length} bytes`);
    }
    word.set(value, WORD_SIZE - value.length);
    return word;
  }
  const number = BigInt(value);
  if (number < 0n || number >= UINT256_END) throw new RangeError(`${number} is no uint256`);
  word.set(Buffer.from(number.toString(16).padStart(2 * WORD_SIZE, '0'), 'hex'));
  return word;
}

/** Every method throws ChainError RPC_ERROR when the data lacks the word. */
export interface WordReader {
  readonly count: number;
  uint(index: number): bigint;
  /** It must fit `Number` exactly. */
  small(index: number): number;
  bool(index: number): boolean;
  address(index: number): Uint8Array;
  bytes32(index: number): Uint8Array;
}

/** @param hex 0x-hex @param about what is read, for the error */
export function readWords(hex: string, about: string): WordReader {
  const bytes = hexBytes(hex, about);
  const word = (index: number): Uint8Array => {
    const end = (index + 1) * WORD_SIZE;
    if (bytes.length < end) throw malformed(`${about}: ${bytes.length} bytes, expected at least ${end}`);
    return bytes.subarray(end - WORD_SIZE, end);
  };
  const uint = (index: number): bigint => fromBigEndian(word(index));
  return {
    count: Math.floor(bytes.length / WORD_SIZE),
    uint,
    small(index) {
      const number = uint(index);
      if (number > BigInt(Number.MAX_SAFE_INTEGER)) throw malformed(`${about}: ${number} is too large`);
      return Number(number);
    },
    bool(index) {
      const flag = uint(index);
      if (flag > 1n) throw malformed(`${about}: ${flag} is no flag`);
      return flag === 1n;
    },
    address(index) {
      if (uint(index) >> ADDRESS_BITS !== 0n) throw malformed(`${about}: not an address`);
      return word(index).slice(WORD_SIZE - ADDRESS_SIZE);
    },
    bytes32: (index) => word(index).slice(),
  };
}

function signatureHash(signature: string): Uint8Array {
  return keccak256(new TextEncoder().encode(signature));
}
