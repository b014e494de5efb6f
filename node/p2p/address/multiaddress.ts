/** Anything not in the public table of protocols, or not in its canonical form, is rejected. */
import { equalBytes } from '../../../formats/crypto/hex.ts';
import {
  certificateHash,
  ip4,
  ip6,
  MultiaddressError,
  onion,
  path,
  peerId,
  port,
  prefixLength,
  text,
  type ValueKind,
} from './multiaddress-values.ts';

/** Bytes of one address, and of the largest list of underlays. */
const SIZE_MAX = 2048;
interface Protocol {
  readonly code: number;
  readonly name: string;
  readonly value: ValueKind | undefined;
}

const PROTOCOLS: readonly Protocol[] = (
  [
    [4, 'ip4', ip4],
    [6, 'tcp', port],
    [33, 'dccp', port],
    [41, 'ip6', ip6],
    [42, 'ip6zone', text],
    [43, 'ipcidr', prefixLength],
    [53, 'dns', text],
    [54, 'dns4', text],
    [55, 'dns6', text],
    [56, 'dnsaddr', text],
    [132, 'sctp', port],
    [273, 'udp', port],
    [275, 'p2p-webrtc-star'],
    [276, 'p2p-webrtc-direct'],
    [277, 'p2p-stardust'],
    [280, 'webrtc-direct'],
    [281, 'webrtc'],
    [290, 'p2p-circuit'],
    [301, 'udt'],
    [302, 'utp'],
    [400, 'unix', path],
    [421, 'p2p', peerId],
    [443, 'https'],
    [444, 'onion', onion(10)],
    [445, 'onion3', onion(35)],
    [448, 'tls'],
    [449, 'sni', text],
    [454, 'noise'],
    [460, 'quic'],
    [461, 'quic-v1'],
    [465, 'webtransport'],
    [466, 'certhash', certificateHash],
    [477, 'ws'],
    [478, 'wss'],
    [479, 'p2p-websocket-star'],
    [480, 'http'],
    [481, 'http-path', path],
    [777, 'memory', text],
  ] as const satisfies readonly (readonly [number, string, ValueKind?])[]
).map(([code, name, value]) => ({ code, name, value }));

const BY_CODE: ReadonlyMap<number, Protocol> = new Map(PROTOCOLS.map((row) => [row.code, row]));
const BY_NAME: ReadonlyMap<string, Protocol> = new Map([
  ...PROTOCOLS.map((row) => [row.name, row] as const),
  // Older name, never written.
  ['ipfs', BY_CODE.get(421) as Protocol],
]);

/** @throws MultiaddressError */
export function encodeMultiaddress(address: string): Uint8Array {
  if (!address.startsWith('/')) throw new MultiaddressError('an address starts with "/"');
  if (address.length > 2 * SIZE_MAX)
    throw new MultiaddressError(`an address of ${address.length} characters`);
  const words = address.replace(/\/$/, '').slice(1).split('/');
  const parts: Uint8Array[] = [];
  for (let at = 0; at < words.length; ) {
    const name = words[at++] as string;
    const protocol = BY_NAME.get(name);
    if (protocol === undefined) throw new MultiaddressError(`unknown protocol ${name}`);
    parts.push(varint(protocol.code));
    if (protocol.value === undefined) continue;
    const word = words[at++];
    if (word === undefined || word === '') throw new MultiaddressError(`"${name}" without its value`);
    const value = valueOf(name, () => protocol.value?.write(word) as Uint8Array);
    if (protocol.value.size === undefined) parts.push(varint(value.length));
    parts.push(value);
  }
  return new Uint8Array(Buffer.concat(parts));
}

/**
 * @returns the canonical text
 * @throws MultiaddressError `MULTIADDRESS_UNKNOWN` for a protocol that is not in the table: the length of its value is
 *   unknown
 */
export function decodeMultiaddress(bytes: Uint8Array): string {
  if (bytes.length > SIZE_MAX) throw new MultiaddressError(`an address of ${bytes.length} bytes`);
  const reader = { bytes, at: 0 };
  const words: string[] = [];
  while (reader.at < bytes.length) {
    const code = readVarint(reader);
    const protocol = BY_CODE.get(code);
    if (protocol === undefined)
      throw new MultiaddressError(`unknown protocol ${code}`, 'MULTIADDRESS_UNKNOWN');
    words.push(protocol.name);
    if (protocol.value === undefined) continue;
    const size = protocol.value.size ?? readVarint(reader);
    const value = bytes.subarray(reader.at, reader.at + size);
    if (size === 0 || value.length < size)
      throw new MultiaddressError(`"${protocol.name}" without its value`);
    reader.at += size;
    words.push(valueOf(protocol.name, () => protocol.value?.read(value) as string));
  }
  const address = `/${words.join('/')}`;
  if (words.length === 0 || !equalBytes(encodeMultiaddress(address), bytes)) {
    throw new MultiaddressError('not in canonical form');
  }
  return address;
}

function valueOf<T>(name: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new MultiaddressError(`value of "${name}": ${(error as Error).message}`);
  }
}

function varint(value: number): Uint8Array {
  return value < 0x80 ? Uint8Array.of(value) : Uint8Array.of((value & 0x7f) | 0x80, value >> 7);
}

/** No code or length that we know has more than two bytes, but other codes have up to nine. */
function readVarint(reader: { readonly bytes: Uint8Array; at: number }): number {
  let number = 0;
  for (let scale = 1; scale < 2 ** 63; scale *= 0x80) {
    const byte = reader.bytes[reader.at++];
    if (byte === undefined) throw new MultiaddressError('cut within a number');
    number += (byte & 0x7f) * scale;
    if (byte >= 0x80) continue;
    if (byte === 0 && scale > 1) throw new MultiaddressError('a number in more bytes than it needs');
    return number;
  }
  throw new MultiaddressError('a number that is too large');
}
