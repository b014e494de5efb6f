/**
 * Files of a tar archive, as `files/collection/tar.ts` reads them: ustar, with nothing machine-specific in the
 * headers.
 */

const BLOCK_SIZE = 512;
const NAME_SIZE_MAX = 100;

/** The end mark of an archive. */
export const TAR_END = new Uint8Array(2 * BLOCK_SIZE);

/** @param name at most 100 bytes @param size of the body, bytes */
export function tarHeader(name: string, size: number): Uint8Array {
  if (name.length > NAME_SIZE_MAX) throw new RangeError(`tar: the name ${name} is too long`);
  const block = Buffer.alloc(BLOCK_SIZE);
  block.write(name, 0);
  block.write('0000600\0', 100);
  // Owner and group.
  for (const at of [108, 116]) block.write('0000000\0', at);
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  block.write(`${'0'.repeat(11)}\0`, 136);
  // The checksum counts its own field as spaces.
  block.write('        ', 148);
  block.write('0', 156);
  block.write('ustar\x0000', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

/** Padding of the last block of a body of `size` bytes. */
export function tarPadding(size: number): Uint8Array {
  return new Uint8Array((BLOCK_SIZE - (size % BLOCK_SIZE)) % BLOCK_SIZE);
}

/** A whole file. */
export function tarFile(name: string, body: Uint8Array): Uint8Array {
  return Buffer.concat([tarHeader(name, body.length), body, tarPadding(body.length)]);
}
