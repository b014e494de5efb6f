/**
 * The one instance of the erasure module (`assembly/index.ts`). Its memory never grows, so one view on it stays valid;
 * a call is synchronous, and each one writes all that it reads.
 */
import { ERASURE_WASM_BASE64 } from './erasure-wasm.gen.ts';

/** The part of the standard global used here; the compiler's library for Node.js has no types for it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: Exports };
};

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly stride: { readonly value: number };
  readonly shardsMax: { readonly value: number };
  readonly shards: { readonly value: number };
  readonly factors: { readonly value: number };
  readonly combine: (inputs: number, outputs: number) => void;
}

const { exports } = new WebAssembly.Instance(
  new WebAssembly.Module(Buffer.from(ERASURE_WASM_BASE64, 'base64')),
);

/** Makes `outputs` shards behind the `inputs` at `SHARDS`: sums of inputs times the factors at `FACTORS`, row by row. */
export const combine = exports.combine;
export const MEMORY = new Uint8Array(exports.memory.buffer);
export const SHARDS = exports.shards.value;
export const SHARDS_MAX = exports.shardsMax.value;
/** Bytes from one shard to the next. */
export const STRIDE = exports.stride.value;
export const FACTORS = exports.factors.value;
