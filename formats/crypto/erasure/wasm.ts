/**
 * The one instance of the erasure module (`assembly/index.ts`). Its memory never grows, so one view on it stays valid;
 * a call is synchronous, and its caller first writes everything that it reads.
 */
import { instantiate } from '../instantiate.ts';
import { ERASURE_WASM_BASE64 } from './erasure-wasm.gen.ts';

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly stride: { readonly value: number };
  readonly shardsMax: { readonly value: number };
  readonly shards: { readonly value: number };
  readonly factors: { readonly value: number };
  readonly combine: (inputs: number, outputs: number) => void;
}

const exports = instantiate(ERASURE_WASM_BASE64) as Exports;

/**
 * Makes `outputs` shards after the `inputs` at `SHARDS`: sums of inputs times the factors at `FACTORS`, row
 * by row.
 */
export const combine = exports.combine;
export const MEMORY = new Uint8Array(exports.memory.buffer);
export const SHARDS = exports.shards.value;
export const SHARDS_MAX = exports.shardsMax.value;
/** Bytes from one shard to the next. */
export const STRIDE = exports.stride.value;
export const FACTORS = exports.factors.value;
