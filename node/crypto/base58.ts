/** Base 58 with the alphabet of Bitcoin: the text form of libp2p peer ids. */
const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const BASE = 58n;

export function toBase58(bytes: Uint8Array): string {
  let digits = '';
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
  for (let rest = BigInt(`0x0${hex}`); rest > 0n; rest /= BASE) {
    digits = ALPHABET.charAt(Number(rest % BASE)) + digits;
  }
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(zeros === -1 ? bytes.length : zeros) + digits;
}

/** Takes quadratic time: the caller bounds the length. @throws TypeError naming the first bad character */
export function fromBase58(text: string): Uint8Array {
  let value = 0n;
  for (const character of text) {
    const digit = ALPHABET.indexOf(character);
    if (digit === -1) throw new TypeError(`not a base58 digit: '${character}'`);
    value = value * BASE + BigInt(digit);
  }
  const zeros = /^1*/.exec(text)?.[0].length ?? 0;
  const hex = value === 0n ? '' : value.toString(16);
  const digits = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  return new Uint8Array(Buffer.concat([Buffer.alloc(zeros), digits]));
}
