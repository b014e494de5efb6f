/** References as CIDv1 with Keccak-256: `http-api-completion.md` 3.2. */
const CODECS: ReadonlySet<number> = new Set([0xe4, 0xfa, 0xfb]);
const KECCAK_256 = 0x1b;
const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
/** Prefix, four varints of two bytes, digest: in hex, the longest base. */
const CID_TEXT_MAX = 1 + 2 * (8 + 32);

/** @returns the digest, or why it is none */
export function referenceFromCid(text: string): Uint8Array | string {
  if (text.length < 2) return 'cid too short';
  if (text.length > CID_TEXT_MAX) return 'cid too long';
  const bytes = decodeMultibase(text);
  if (bytes === undefined) return 'selected encoding not supported';
  const reader = { bytes, offset: 0 };
  if (varint(reader) !== 1) return 'expected 1 as the cid version number';
  if (!CODECS.has(varint(reader))) return 'unsupported multicodec';
  if (varint(reader) !== KECCAK_256 || varint(reader) !== 32) return 'unsupported multihash';
  const digest = bytes.subarray(reader.offset);
  return digest.length === 32 ? digest : 'length of digest differs';
}

function decodeMultibase(text: string): Uint8Array | undefined {
  const digits = text.slice(1).toLowerCase();
  if (/^b/i.test(text)) return decodeBase32(digits);
  if (!/^f([0-9a-f]{2})+$/i.test(text)) return undefined;
  return new Uint8Array(Buffer.from(digits, 'hex'));
}

/** RFC 4648, lower case, without padding. */
function decodeBase32(digits: string): Uint8Array | undefined {
  const bytes: number[] = [];
  let bits = 0;
  let pending = 0;
  for (const digit of digits) {
    const value = BASE32.indexOf(digit);
    if (value === -1) return undefined;
    pending = (pending << 5) | value;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((pending >> bits) & 0xff);
    pending &= (1 << bits) - 1;
  }
  return Uint8Array.from(bytes);
}

/** At most two bytes; -1 for none. */
function varint(reader: { bytes: Uint8Array; offset: number }): number {
  const low = reader.bytes[reader.offset++];
  if (low === undefined) return -1;
  if (low < 0x80) return low;
  const high = reader.bytes[reader.offset++];
  return high === undefined || high >= 0x80 ? -1 : (low & 0x7f) | (high << 7);
}
