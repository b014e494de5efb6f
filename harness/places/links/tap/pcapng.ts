/**
 * Events as a capture for Wireshark: one packet each, of a link type for private use, for the dissector `svcnet.lua` beside
 * this file. A packet is seven texts, each with two bytes of length in front (kind, protocol, name, from, to, stream, id),
 * four bytes that count the bytes on the stream (at most 2^32 - 1), the fields as JSON with four bytes of length in front,
 * and what was said, if that is known.
 */
import type { TapEvent } from './events.ts';

const SECTION = 0x0a0d0d0a;
const INTERFACE = 1;
const PACKET = 6;
const BYTE_ORDER = 0x1a2b3c4d;
const LINK_TYPE = 147;
/** A connection may have carried more. */
const BYTES_MAX = 2 ** 32 - 1;
/** Longer names are cut; protocols of others may have any. */
const TEXT_MAX = 1024;

/** Times are microseconds, the default. */
export function captureHeader(): Buffer {
  const section = Buffer.alloc(16);
  section.writeUInt32LE(BYTE_ORDER, 0);
  section.writeUInt16LE(1, 4);
  // The section's length is not known before its end.
  section.writeBigInt64LE(-1n, 8);
  const link = Buffer.alloc(8);
  link.writeUInt16LE(LINK_TYPE, 0);
  return Buffer.concat([block(SECTION, section), block(INTERFACE, link)]);
}

export function capturedPacket(event: TapEvent): Buffer {
  const { at, kind, protocol, name, from, to, stream, id, bytes, fields, raw = '' } = event;
  const said = Buffer.from(JSON.stringify(fields));
  const sizes = Buffer.alloc(8);
  sizes.writeUInt32BE(Math.min(bytes, BYTES_MAX));
  sizes.writeUInt32BE(said.length, 4);
  const texts = [kind, protocol, name, from, to, stream, id].map(withLength);
  const packet = Buffer.concat([...texts, sizes, said, Buffer.from(raw, 'hex')]);
  const head = Buffer.alloc(20);
  const micros = BigInt(Math.round(at * 1000));
  head.writeUInt32LE(Number(micros >> 32n), 4);
  head.writeUInt32LE(Number(micros & 0xffff_ffffn), 8);
  head.writeUInt32LE(packet.length, 12);
  head.writeUInt32LE(packet.length, 16);
  return block(PACKET, Buffer.concat([head, packet]));
}

/** Its length is in front and behind, and a multiple of four. */
function block(type: number, body: Buffer): Buffer {
  const padded = Math.ceil(body.length / 4) * 4;
  const all = Buffer.alloc(12 + padded);
  all.writeUInt32LE(type, 0);
  all.writeUInt32LE(all.length, 4);
  body.copy(all, 8);
  all.writeUInt32LE(all.length, 8 + padded);
  return all;
}

function withLength(text: string): Buffer {
  const bytes = Buffer.from(text).subarray(0, TEXT_MAX);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
