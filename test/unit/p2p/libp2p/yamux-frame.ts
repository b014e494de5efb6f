/** Header of a yamux frame, version 0, with any content. */
export function frame(type: number, flags: number, id: number, length: number): Uint8Array {
  const header = new DataView(new ArrayBuffer(12));
  header.setUint8(1, type);
  header.setUint16(2, flags);
  header.setUint32(4, id);
  header.setUint32(8, length);
  return new Uint8Array(header.buffer);
}
