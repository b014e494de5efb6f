/** Bounds the cost of a sender of tiny pieces. */
import { allocate } from '../codec/table.ts';

/** This many may wait, however small. */
const PIECES_MIN = 64;
/** Average size of further pieces. */
const PIECE_SIZE_MIN = 1024;
/** Smaller buffers are not worth a copy. */
const BUFFER_SIZE_MIN = 8192;

/** Joins `pieces` when there are too many for their `size`. Copies every byte a few hundred times at worst. */
export function compact(pieces: Uint8Array[], size: number): void {
  if (pieces.length <= PIECES_MIN || size >= pieces.length * PIECE_SIZE_MIN) return;
  const whole = allocate(size);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  pieces.length = 0;
  pieces.push(whole);
}

/** Copies a piece that would keep a much larger network buffer alive. */
export function detached(piece: Uint8Array): Uint8Array {
  const { byteLength } = piece.buffer;
  return byteLength <= BUFFER_SIZE_MIN || piece.length * 4 > byteLength ? piece : new Uint8Array(piece);
}
