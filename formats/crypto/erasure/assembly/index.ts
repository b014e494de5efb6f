// Linear combinations over GF(2^8). A product by a constant is the sum of the products of the other factor's two halves of
// four bits, and a table of 16 products for each half fits one v128: `swizzle` looks up sixteen bytes at once. Shards are
// worked through in blocks of 64 bytes, every input and output of a block in turn, so that a block stays in the nearest
// cache. Specification: `data-formats.md` 3.5.

const POLYNOMIAL: u32 = 0x11d;
const BLOCK: usize = 64;
/** From one shard to the next: a stored chunk of 4104 bytes, in whole blocks. */
export const stride: i32 = 65 * 64;
export const shardsMax: i32 = 128;
/** For every factor 16 products by the low half of a byte, then 16 by the high half. */
const PRODUCTS: usize = 32;

/** Inputs from the host, one after another, and the outputs after them. */
export const shards: usize = memory.data(128 * 65 * 64, 16);
/** The host writes one byte per input for each output: at most 64 * 64. */
export const factors: usize = memory.data(64 * 64, 16);
const products: usize = memory.data(256 * 32, 16);

for (let factor: u32 = 0; factor < 256; factor++) {
  const table = products + <usize>factor * PRODUCTS;
  for (let half: u32 = 0; half < 16; half++) {
    store<u8>(table + <usize>half, product(factor, half));
    store<u8>(table + <usize>half + 16, product(factor, half << 4));
  }
}

function product(a: u32, b: u32): u8 {
  let sum: u32 = 0;
  for (; b !== 0; b >>= 1) {
    if (b & 1) sum ^= a;
    a <<= 1;
    if (a & 0x100) a ^= POLYNOMIAL;
  }
  return <u8>sum;
}

/** `outputs` shards after the `inputs` at `shards`: each the sum of all inputs times its factors. */
export function combine(inputs: i32, outputs: i32): void {
  const inputsEnd = shards + <usize>(inputs * stride);
  const end = inputsEnd + <usize>(outputs * stride);
  for (let offset: usize = 0; offset < <usize>stride; offset += BLOCK) {
    let factor = factors;
    for (let output = inputsEnd + offset; output < end; output += <usize>stride) {
      let sum0 = i64x2.splat(0);
      let sum1 = sum0;
      let sum2 = sum0;
      let sum3 = sum0;
      for (let at = shards + offset; at < inputsEnd; at += <usize>stride) {
        const table = products + <usize>load<u8>(factor) * PRODUCTS;
        const low = v128.load(table);
        const high = v128.load(table, 16);
        sum0 = v128.xor(sum0, times(v128.load(at), low, high));
        sum1 = v128.xor(sum1, times(v128.load(at, 16), low, high));
        sum2 = v128.xor(sum2, times(v128.load(at, 32), low, high));
        sum3 = v128.xor(sum3, times(v128.load(at, 48), low, high));
        factor += 1;
      }
      v128.store(output, sum0);
      v128.store(output, sum1, 16);
      v128.store(output, sum2, 32);
      v128.store(output, sum3, 48);
    }
  }
}

function times(bytes: v128, low: v128, high: v128): v128 {
  const half = i8x16.splat(15);
  return v128.xor(i8x16.swizzle(low, v128.and(bytes, half)), i8x16.swizzle(high, i8x16.shr_u(bytes, 4)));
}
