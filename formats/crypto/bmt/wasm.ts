/**
 * The one instance of the hashing module (`assembly/index.ts`). Its memory never grows, so one view on it stays valid. Calls
 * are synchronous and leave nothing behind, so callers cannot interfere with each other.
 */
import { instantiate } from '../instantiate.ts';
import { BMT_WASM_BASE64 } from './bmt-wasm.gen.ts';

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly capacity: { readonly value: number };
  readonly input: { readonly value: number };
  readonly output: { readonly value: number };
  readonly key: { readonly value: number };
  readonly anchor: { readonly value: number };
  readonly keyedZeros: { readonly value: number };
  readonly segments: { readonly value: number };
  readonly siblings: { readonly value: number };
  readonly prefixes: { readonly value: number };
  readonly chunk: (length: number) => void;
  readonly keyed: (length: number) => void;
  readonly absorb: (length: number) => void;
  readonly finish: (length: number) => void;
  readonly transcrypt: (length: number, counter: number) => void;
  readonly climb: (count: number, last: boolean) => void;
  readonly combine: (count: number) => void;
}

const exports = instantiate(BMT_WASM_BASE64) as Exports;

/** Span and `length` payload bytes at `INPUT`: root to `OUTPUT`, address 32 bytes after it. */
export const hashChunk = exports.chunk;
/** The same under the key at `ANCHOR`, whose roots of zeros are at `KEYED_ZEROS`: address 32 bytes after `OUTPUT`. */
export const hashKeyed = exports.keyed;
/** `length` bytes at `INPUT`, a multiple of 136 and at most `CAPACITY`, into the running Keccak hash. */
export const absorb = exports.absorb;
/** The last `length` bytes at `INPUT`, at most `CAPACITY`; the digest goes to `OUTPUT`. */
export const finish = exports.finish;
/**
 * XORs `length` bytes at `INPUT` with the keystream of the key at `KEY` from `counter` on; overwrites up to 63 bytes more.
 */
export const xorKeystream = exports.transcrypt;
/** `count` segments at `SEGMENTS`, with those at `SIBLINGS`, into the roots of the halves that they begin or end. */
export const climb = exports.climb;
/**
 * For `count` left halves at `SEGMENTS` with the right half at `INPUT`, followed by the span: address prefixes, to
 * `PREFIXES`.
 */
export const combine = exports.combine;
export const MEMORY = new Uint8Array(exports.memory.buffer);
export const INPUT = exports.input.value;
export const OUTPUT = exports.output.value;
export const KEY = exports.key.value;
export const ANCHOR = exports.anchor.value;
export const KEYED_ZEROS = exports.keyedZeros.value;
export const SEGMENTS = exports.segments.value;
export const SIBLINGS = exports.siblings.value;
export const PREFIXES = exports.prefixes.value;
export const CAPACITY = exports.capacity.value;
