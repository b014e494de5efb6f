/**
 * V8 allocates arrays of more than 64 bytes outside its heap, which costs several times as much. Not for arrays that live
 * long, since one keeps all 8 KiB.
 * @returns uninitialised, to be filled completely; not a Buffer, whose `slice` copies nothing
 */
export function pooled(size: number): Uint8Array {
  const { buffer, byteOffset } = Buffer.allocUnsafe(size);
  return new Uint8Array(buffer, byteOffset, size);
}

export function pooledCopy(bytes: Uint8Array): Uint8Array {
  const copy = pooled(bytes.length);
  copy.set(bytes);
  return copy;
}
