/** Our multiplexer never sends these. */
import { proposalOf } from '../../../node/p2p/libp2p/multistream.ts';

export const TYPE = { data: 0, windowUpdate: 1, ping: 2, goAway: 3 } as const;
export const FLAG = { syn: 1, ack: 2, fin: 4, rst: 8 } as const;
export const YAMUX_HEADER_SIZE = 12;
/** Of a stream's first window. */
export const WINDOW = 262_144;

/** Version 0. */
export function frame(type: number, flags: number, id: number, length: number): Uint8Array {
  const header = new DataView(new ArrayBuffer(YAMUX_HEADER_SIZE));
  header.setUint8(1, type);
  header.setUint16(2, flags);
  header.setUint32(4, id);
  header.setUint32(8, length);
  return new Uint8Array(header.buffer);
}

export function data(id: number, body: Uint8Array, flags = 0): Uint8Array {
  return Buffer.concat([frame(TYPE.data, flags, id, body.length), body]);
}

/** Opens a stream with these first bytes. */
export function opening(id: number, protocolId: string, rest: Uint8Array = new Uint8Array(0)): Uint8Array {
  return data(id, Buffer.concat([proposalOf(protocolId), rest]), FLAG.syn);
}
