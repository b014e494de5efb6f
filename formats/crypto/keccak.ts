/** With the original padding (`data-formats.md` 1.1), in the WebAssembly module of the tree hash. */
import { absorb, CAPACITY, finish, INPUT, MEMORY, OUTPUT } from './bmt/wasm.ts';

const HASH_SIZE = 32;

export function keccak256(...parts: Uint8Array[]): Uint8Array {
  let filled = 0;
  for (const part of parts) {
    for (let at = 0; at < part.length; ) {
      if (filled === CAPACITY) {
        absorb(CAPACITY);
        filled = 0;
      }
      const taken = Math.min(part.length - at, CAPACITY - filled);
      MEMORY.set(taken === part.length ? part : part.subarray(at, at + taken), INPUT + filled);
      filled += taken;
      at += taken;
    }
  }
  finish(filled);
  return MEMORY.slice(OUTPUT, OUTPUT + HASH_SIZE);
}
