import type { Random } from './fuzzer.ts';

/** Bounds that parsers get wrong. */
const NUMBERS = [0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
const STEPS_LOG_MAX = 4;
/** Of what is copied, removed or repeated. */
const PIECE_MAX = 256;

type Mutation = (input: Uint8Array, random: Random, pool: readonly Uint8Array[]) => Uint8Array;

const MUTATIONS: readonly Mutation[] = [
  flipBit,
  setByte,
  setNumber,
  removePiece,
  repeatPiece,
  insertNoise,
  overwriteFromOther,
  splice,
  changeDigit,
];

export function mutated(pool: readonly Uint8Array[], random: Random, sizeMax: number): Uint8Array {
  // The newest ones reached something new.
  const newest = random.below(2) === 0;
  const from = newest ? Math.max(0, pool.length - 16) : 0;
  let input: Uint8Array = Uint8Array.from(pool[from + random.below(pool.length - from)] as Uint8Array);
  for (let steps = 1 << random.below(STEPS_LOG_MAX); steps > 0; steps--) {
    const mutation = MUTATIONS[random.below(MUTATIONS.length)] as Mutation;
    input = mutation(input, random, pool);
  }
  return input.length > sizeMax ? input.slice(0, sizeMax) : input;
}

function flipBit(input: Uint8Array, random: Random): Uint8Array {
  if (input.length === 0) return input;
  const at = random.below(input.length);
  input[at] = (input[at] as number) ^ (1 << random.below(8));
  return input;
}

function setByte(input: Uint8Array, random: Random): Uint8Array {
  if (input.length > 0) input[random.below(input.length)] = random.below(256);
  return input;
}

/** One, two or four bytes, either end first. */
function setNumber(input: Uint8Array, random: Random): Uint8Array {
  const size = 1 << random.below(3);
  if (input.length < size) return input;
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
  const at = random.below(input.length - size + 1);
  const value = NUMBERS[random.below(NUMBERS.length)] as number;
  const littleEndian = random.below(2) === 0;
  if (size === 1) view.setUint8(at, value);
  else if (size === 2) view.setUint16(at, value, littleEndian);
  else view.setUint32(at, value, littleEndian);
  return input;
}

function removePiece(input: Uint8Array, random: Random): Uint8Array {
  const { start, end } = piece(input, random);
  return joined(input.subarray(0, start), input.subarray(end));
}

function repeatPiece(input: Uint8Array, random: Random): Uint8Array {
  const { start, end } = piece(input, random);
  return joined(input.subarray(0, end), input.subarray(start));
}

function insertNoise(input: Uint8Array, random: Random): Uint8Array {
  const at = random.below(input.length + 1);
  const noise = Uint8Array.from({ length: 1 + random.below(16) }, () => random.below(256));
  return joined(input.subarray(0, at), noise, input.subarray(at));
}

function overwriteFromOther(input: Uint8Array, random: Random, pool: readonly Uint8Array[]): Uint8Array {
  const other = pool[random.below(pool.length)] as Uint8Array;
  const { start, end } = piece(other, random);
  if (input.length === 0) return input;
  const at = random.below(input.length);
  input.set(other.subarray(start, Math.min(end, start + input.length - at)), at);
  return input;
}

function splice(input: Uint8Array, random: Random, pool: readonly Uint8Array[]): Uint8Array {
  const other = pool[random.below(pool.length)] as Uint8Array;
  return joined(
    input.subarray(0, random.below(input.length + 1)),
    other.subarray(random.below(other.length + 1)),
  );
}

/** Texts hold numbers. */
function changeDigit(input: Uint8Array, random: Random): Uint8Array {
  const isDigit = (byte: number) => byte >= 0x30 && byte <= 0x39;
  const at = input.findIndex((byte, index) => isDigit(byte) && random.below(4 + (index & 3)) === 0);
  if (at !== -1) input[at] = 0x30 + random.below(10);
  return input;
}

function piece(input: Uint8Array, random: Random): { start: number; end: number } {
  const start = random.below(input.length + 1);
  return { start, end: Math.min(input.length, start + random.below(PIECE_MAX)) };
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(parts));
}
