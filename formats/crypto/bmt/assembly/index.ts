// Keccak-256, the binary Merkle tree of a whole chunk or of many that differ at their ends, and the counter-mode keystream.
//
// Calls dominate small hashes, so the host makes one call per chunk. Two Keccak states run side by side in the two 64-bit
// lanes of every v128, so that a level of the tree is hashed two pairs at a time; a single hash uses lane 0. A state is 25
// v128 words; a round reads one state and writes the other. Specification: `data-formats.md` 1.1, 1.3, 2.3.

/** Bytes absorbed per permutation. */
const RATE: usize = 136;
const SEGMENT: usize = 32;
const PAIR: usize = 64;
const SPAN: usize = 8;
/** 128 segments are 64 leaf pairs; seven levels lead to one node. */
const LEVELS: i32 = 7;

/** Bytes that `input` takes at once: 31 blocks, enough for a chunk of either kind. */
export const capacity: i32 = 31 * 136;
/** The host writes span and payload for `chunk`, a message for `absorb` and `finish` (which needs a block more). */
export const input: usize = memory.data(32 * 136, 16);
/** The host reads 32 bytes of root or digest, then 32 bytes of address. */
export const output: usize = memory.data(64, 16);
/** The host writes it for `transcrypt`. */
export const key: usize = memory.data(32, 16);

/** The host writes what `keyed` puts before the input of every hash. */
export const anchor: usize = memory.data(32, 16);
/** The host writes the roots of all-zero subtrees under that key by level, 0 to 6. */
export const keyedZeros: usize = memory.data(7 * 32, 16);

/** First or last segments of chunks for `climb`, which turns them into half trees for `combine`. */
export const segments: usize = memory.data(256 * 32, 16);
/** The host writes them for `climb`, lowest first. */
export const siblings: usize = memory.data(6 * 32, 16);
/** What `combine` found: the first four bytes of each address, as a number. */
export const prefixes: usize = memory.data(256 * 4, 16);

const state: usize = memory.data(25 * 16, 16);
const other: usize = memory.data(25 * 16, 16);
/** The current level, with room for a zero node. */
const nodes: usize = memory.data(65 * 32, 16);
/** Roots of all-zero subtrees by level, 0 to 7. */
const zeros: usize = memory.data(8 * 32, 16);
const roundConstants: usize = memory.data<u64>([
  0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b,
  0x0000000080000001, 0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088,
  0x0000000080008009, 0x000000008000000a, 0x000000008000808b, 0x800000000000008b, 0x8000000000008089,
  0x8000000000008003, 0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
  0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
]);

for (let level = 0; level < LEVELS; level++) {
  const below = zeros + <usize>level * SEGMENT;
  memory.copy(nodes, below, SEGMENT);
  memory.copy(nodes + SEGMENT, below, SEGMENT);
  hashLevel(nodes, 1);
  memory.copy(below + SEGMENT, nodes, SEGMENT);
}
memory.fill(state, 0, 25 * 16);

/** Root of the tree over the `length` payload bytes behind the span in `input`, then the address, to `output`. */
export function chunk(length: i32): void {
  const payload = input + SPAN;
  let count = max<usize>((<usize>length + PAIR - 1) / PAIR, 1);
  memory.fill(payload + <usize>length, 0, count * PAIR - <usize>length);
  hashLevel(payload, count);
  for (let level = 1; level < LEVELS; level++) {
    // The missing rest of a level is zero subtrees, of which only the first has a written neighbour.
    if (count & 1) memory.copy(nodes + count * SEGMENT, zeros + <usize>level * SEGMENT, SEGMENT);
    count = (count + 1) >> 1;
    hashLevel(nodes, count);
  }
  memory.copy(output, nodes, SEGMENT);
  memory.fill(state, 0, 25 * 16);
  store<u64>(state, load<u64>(input));
  for (let word: usize = 0; word < 4; word++)
    store<u64>(state + 16 * (word + 1), load<u64>(output + 8 * word));
  store<u8>(state + 16 * 5, 1);
  store<u64>(state + 16 * 16, 1 << 63);
  permute();
  digestTo(output + SEGMENT, 0);
  memory.fill(state, 0, 25 * 16);
}

/** As `chunk`, with `anchor` before the input of every hash; only the address is returned. */
export function keyed(length: i32): void {
  const payload = input + SPAN;
  let count = max<usize>((<usize>length + PAIR - 1) / PAIR, 1);
  memory.fill(payload + <usize>length, 0, count * PAIR - <usize>length);
  hashKeyedLevel(payload, count);
  for (let level = 1; level < LEVELS; level++) {
    if (count & 1) memory.copy(nodes + count * SEGMENT, keyedZeros + <usize>level * SEGMENT, SEGMENT);
    count = (count + 1) >> 1;
    hashKeyedLevel(nodes, count);
  }
  loadSegment(0, anchor, anchor);
  v128.store(state + 16 * 4, v128.load64_splat(input));
  loadSegment(5, nodes, nodes);
  v128.store(state + 16 * 9, i64x2.splat(1));
  padAndPermute(10);
  digestTo(output + SEGMENT, 0);
  memory.fill(state, 0, 25 * 16);
}

/** As `hashLevel`, with `anchor` before every pair. */
function hashKeyedLevel(source: usize, count: usize): void {
  for (let pair: usize = 0; pair < count; pair += 2) {
    const left = source + pair * PAIR;
    const right = pair + 1 < count ? left + PAIR : left;
    loadSegment(0, anchor, anchor);
    loadSegment(4, left, right);
    loadSegment(8, left + SEGMENT, right + SEGMENT);
    v128.store(state, i64x2.splat(1), 12 * 16);
    padAndPermute(13);
    digestTo(nodes + pair * SEGMENT, 0);
    digestTo(nodes + (pair + 1) * SEGMENT, 8);
  }
}

/** `length` bytes of `input`, a multiple of 136. */
export function absorb(length: i32): void {
  const end = input + <usize>length;
  for (let block = input; block < end; block += RATE) {
    for (let word: usize = 0; word < 17; word++) {
      const at = state + 16 * word;
      store<u64>(at, load<u64>(at) ^ load<u64>(block + 8 * word));
    }
    permute();
  }
}

/** Takes the last `length` bytes of `input`, writes the digest to `output` and resets the hash. */
export function finish(length: i32): void {
  const end = input + <usize>length;
  const padding = RATE - (<usize>length % RATE);
  memory.fill(end, 0, padding);
  store<u8>(end, 1);
  store<u8>(end + padding - 1, load<u8>(end + padding - 1) | 0x80);
  absorb(length + <i32>padding);
  digestTo(output, 0);
  memory.fill(state, 0, 25 * 16);
}

/**
 * XORs the `length` bytes of `input` with the keystream: for every 32 bytes H(H(key ‖ LE4(counter))), the counter increasing
 * by one. Up to 63 bytes after the end are overwritten.
 */
export function transcrypt(length: i32, counter: u32): void {
  const end = input + <usize>length;
  for (let at = input; at < end; at += PAIR) {
    for (let word: usize = 0; word < 4; word++)
      v128.store(state + 16 * word, v128.load64_splat(key + 8 * word));
    store<u64>(state, (1 << 32) | <u64>counter, 4 * 16);
    store<u64>(state, (1 << 32) | <u64>(counter + 1), 4 * 16 + 8);
    padAndPermute(5);
    v128.store(state, i64x2.splat(1), 4 * 16);
    padAndPermute(5);
    for (let word: usize = 0; word < 4; word++) {
      const left = at + 8 * word;
      const right = left + SEGMENT;
      store<u64>(left, load<u64>(left) ^ load<u64>(state + 16 * word));
      store<u64>(right, load<u64>(right) ^ load<u64>(state + 16 * word, 8));
    }
    counter += 2;
  }
  memory.fill(state, 0, 25 * 16);
}

/** Turns each segment into the root of the half of a chunk that it begins, or ends if `last`. */
export function climb(count: i32, last: bool): void {
  const own: usize = last ? 4 : 0;
  for (let i: usize = 0; i < <usize>count; i += 2) {
    const left = segments + i * SEGMENT;
    // An odd last one goes into both lanes.
    const right = i + 1 < <usize>count ? left + SEGMENT : left;
    for (let sibling = siblings; sibling < siblings + 6 * SEGMENT; sibling += SEGMENT) {
      loadSegment(own, left, right);
      loadSegment(4 - own, sibling, sibling);
      v128.store(state, i64x2.splat(1), 8 * 16);
      padAndPermute(9);
      digestTo(left, 0);
      digestTo(right, 8);
    }
  }
  memory.fill(state, 0, 25 * 16);
}

/**
 * For `count` left halves in `segments`, and their common right half in `input`, followed by the span: writes the first four
 * bytes of each address to `prefixes`.
 */
export function combine(count: i32): void {
  for (let i: usize = 0; i < <usize>count; i += 2) {
    const left = segments + i * SEGMENT;
    loadSegment(0, left, i + 1 < <usize>count ? left + SEGMENT : left);
    loadSegment(4, input, input);
    v128.store(state, i64x2.splat(1), 8 * 16);
    padAndPermute(9);
    for (let word: usize = 4; word > 0; word--)
      v128.store(state + 16 * word, v128.load(state + 16 * (word - 1)));
    v128.store(state, v128.load64_splat(input + SEGMENT));
    v128.store(state, i64x2.splat(1), 5 * 16);
    padAndPermute(6);
    store<u32>(prefixes + 4 * i, bswap<u32>(load<u32>(state)));
    store<u32>(prefixes + 4 * i, bswap<u32>(load<u32>(state, 8)), 4);
  }
  memory.fill(state, 0, 25 * 16);
}

/** One segment into each lane, from word `first` of the state on. */
function loadSegment(first: usize, left: usize, right: usize): void {
  for (let word: usize = 0; word < 4; word++)
    v128.store(
      state + 16 * (first + word),
      v128.load64_lane(right + 8 * word, v128.load64_zero(left + 8 * word), 1),
    );
}

/** Clears the words of a message of one block from `from` on, ends the padding and permutes. */
function padAndPermute(from: usize): void {
  for (let word = from; word < 25; word++) v128.store(state + 16 * word, i64x2.splat(0));
  v128.store(state, i64x2.splat(1 << 63), 16 * 16);
  permute();
}

/** `count` pairs of segments at `source` to as many segments in `nodes`; `source` may be `nodes`. */
function hashLevel(source: usize, count: usize): void {
  for (let pair: usize = 0; pair < count; pair += 2) {
    const left = source + pair * PAIR;
    // An odd last pair is hashed in both lanes.
    const right = pair + 1 < count ? left + PAIR : left;
    loadWord(0, left, right);
    loadWord(1, left, right);
    loadWord(2, left, right);
    loadWord(3, left, right);
    loadWord(4, left, right);
    loadWord(5, left, right);
    loadWord(6, left, right);
    loadWord(7, left, right);
    v128.store(state, i64x2.splat(1), 8 * 16);
    padAndPermute(9);
    digestTo(nodes + pair * SEGMENT, 0);
    digestTo(nodes + (pair + 1) * SEGMENT, 8);
  }
}

function loadWord(word: usize, left: usize, right: usize): void {
  v128.store(state + 16 * word, v128.load64_lane(right + 8 * word, v128.load64_zero(left + 8 * word), 1));
}

function digestTo(target: usize, lane: usize): void {
  store<u64>(target, load<u64>(state + lane), 0);
  store<u64>(target, load<u64>(state + lane, 16), 8);
  store<u64>(target, load<u64>(state + lane, 32), 16);
  store<u64>(target, load<u64>(state + lane, 48), 24);
}

/** Keccak-f[1600] on both lanes of `state`. */
function permute(): void {
  for (let r: usize = 0; r < 24; r += 2) {
    round(state, other, roundConstants + 8 * r);
    round(other, state, roundConstants + 8 * r + 8);
  }
}

function round(from: usize, to: usize, constant: usize): void {
  const c0 = column(from, 0);
  const c1 = column(from, 1);
  const c2 = column(from, 2);
  const c3 = column(from, 3);
  const c4 = column(from, 4);
  const d0 = v128.xor(c4, rotate(c1, 1));
  const d1 = v128.xor(c0, rotate(c2, 1));
  const d2 = v128.xor(c1, rotate(c3, 1));
  const d3 = v128.xor(c2, rotate(c4, 1));
  const d4 = v128.xor(c3, rotate(c0, 1));
  // Words are numbered x + 5y. Each call makes one row of the result out of a diagonal.
  row(
    to,
    0,
    v128.xor(word(from, 0), d0),
    turned(from, 6, d1, 44),
    turned(from, 12, d2, 43),
    turned(from, 18, d3, 21),
    turned(from, 24, d4, 14),
  );
  v128.store(to, v128.xor(v128.load(to), v128.load64_splat(constant)));
  row(
    to,
    5,
    turned(from, 3, d3, 28),
    turned(from, 9, d4, 20),
    turned(from, 10, d0, 3),
    turned(from, 16, d1, 45),
    turned(from, 22, d2, 61),
  );
  row(
    to,
    10,
    turned(from, 1, d1, 1),
    turned(from, 7, d2, 6),
    turned(from, 13, d3, 25),
    turned(from, 19, d4, 8),
    turned(from, 20, d0, 18),
  );
  row(
    to,
    15,
    turned(from, 4, d4, 27),
    turned(from, 5, d0, 36),
    turned(from, 11, d1, 10),
    turned(from, 17, d2, 15),
    turned(from, 23, d3, 56),
  );
  row(
    to,
    20,
    turned(from, 2, d2, 62),
    turned(from, 8, d3, 55),
    turned(from, 14, d4, 39),
    turned(from, 15, d0, 41),
    turned(from, 21, d1, 2),
  );
}

function word(from: usize, index: usize): v128 {
  return v128.load(from + 16 * index);
}

function column(from: usize, x: usize): v128 {
  return v128.xor(
    v128.xor(v128.xor(word(from, x), word(from, x + 5)), v128.xor(word(from, x + 10), word(from, x + 15))),
    word(from, x + 20),
  );
}

function turned(from: usize, index: usize, d: v128, bits: i32): v128 {
  return rotate(v128.xor(word(from, index), d), bits);
}

function rotate(value: v128, bits: i32): v128 {
  return v128.or(i64x2.shl(value, bits), i64x2.shr_u(value, 64 - bits));
}

function row(to: usize, first: usize, b0: v128, b1: v128, b2: v128, b3: v128, b4: v128): void {
  const at = to + 16 * first;
  v128.store(at, v128.xor(b0, v128.andnot(b2, b1)), 0);
  v128.store(at, v128.xor(b1, v128.andnot(b3, b2)), 16);
  v128.store(at, v128.xor(b2, v128.andnot(b4, b3)), 32);
  v128.store(at, v128.xor(b3, v128.andnot(b0, b4)), 48);
  v128.store(at, v128.xor(b4, v128.andnot(b1, b0)), 64);
}
