/** Numbers up to 2^48, big-endian, to sort as keys. */
export const NUMBER_SIZE = 6;

/** Pushes: 16 MiB of chunks, so that a terabyte has some sixty thousand blocks. */
export const BLOCK_SIZE = 4096;

export function blockOf(sequence: number): number {
  return Math.floor(sequence / BLOCK_SIZE);
}

/** Sorts after every key whose first byte is below 255. */
export const END = new Uint8Array(65).fill(0xff);
export const START = new Uint8Array(1);

export function encodeNumber(value: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(NUMBER_SIZE);
  bytes.writeUIntBE(value, 0, NUMBER_SIZE);
  return bytes;
}

export function decodeNumber(bytes: Uint8Array, offset = 0): number {
  const high = (bytes[offset]! << 8) | bytes[offset + 1]!;
  const low =
    (bytes[offset + 2]! << 24) | (bytes[offset + 3]! << 16) | (bytes[offset + 4]! << 8) | bytes[offset + 5]!;
  return high * 2 ** 32 + (low >>> 0);
}

export function encodeNumbers(values: readonly number[]): Uint8Array {
  const bytes = Buffer.allocUnsafe(values.length * NUMBER_SIZE);
  values.forEach((value, i) => bytes.writeUIntBE(value, i * NUMBER_SIZE, NUMBER_SIZE));
  return bytes;
}

/** @param record undefined: none */
export function decodeNumbers(record: Uint8Array | undefined): number[] {
  const count = (record?.length ?? 0) / NUMBER_SIZE;
  return Array.from({ length: count }, (_, i) => decodeNumber(record!, i * NUMBER_SIZE));
}

export function join(...parts: Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}

export function behind(prefix: Uint8Array): Uint8Array {
  return Buffer.concat([prefix, END]);
}
