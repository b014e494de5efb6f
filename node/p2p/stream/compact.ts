/** Keeps waiting pieces few, against tiny ones. */
import { allocate } from '../codec/table.ts';

/** This many pieces may wait, however small they are. */
const PIECES_MIN = 64;
/** Bytes that further pieces must have on average. */
const PIECE_SIZE_MIN = 1024;
/** Network buffers up to this size are not worth a copy. */
const BUFFER_SIZE_MIN = 8192;

/** Joins `pieces` too many for `size`; copies bytes a few hundred times at worst. */
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

/** A copy where it would keep a large buffer alive. */
export function detached(piece: Uint8Array): Uint8Array {
  const { byteLength } = piece.buffer;
  return byteLength <= BUFFER_SIZE_MIN || piece.length * 4 > byteLength ? piece : new Uint8Array(piece);
}
