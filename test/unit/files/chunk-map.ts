import { type Chunk, ChunkNotFoundError } from '../../../formats/chunk/chunk.ts';
import { toHex } from '../../../formats/crypto/hex.ts';

export class ChunkMap {
  readonly chunks = new Map<string, Chunk>();
  readonly asked: string[] = [];

  async put(chunk: Chunk): Promise<void> {
    this.chunks.set(toHex(chunk.address), chunk);
  }

  async get(address: Uint8Array): Promise<Chunk> {
    const key = toHex(address);
    this.asked.push(key);
    const chunk = this.chunks.get(key);
    if (chunk === undefined) throw new ChunkNotFoundError(key);
    return chunk;
  }
}

export async function* inParts(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void, void> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  return new Uint8Array(Buffer.concat(await Array.fromAsync(pieces)));
}

/** The vectors' content: byte `i` is `i mod modulus`, or a text repeated. */
export function generate(generator: string, length: number): Uint8Array {
  const modulus = /^i mod (\d+)$/.exec(generator)?.[1];
  if (modulus !== undefined) return Uint8Array.from({ length }, (_, i) => i % Number(modulus));
  const text = /^utf8\("(.*)"\) repeated$/.exec(generator)?.[1];
  if (text === undefined) throw new Error(`unknown generator ${generator}`);
  return new Uint8Array(Buffer.alloc(length, text));
}
