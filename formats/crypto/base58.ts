/** Bitcoin's alphabet, as libp2p writes peer ids. */
const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const BASE = 58;
const GROUP_DIGITS = 8;
const GROUP = BigInt(BASE ** GROUP_DIGITS);

export function toBase58(bytes: Uint8Array): string {
  let digits = '';
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
  for (let rest = BigInt(`0x0${hex}`); rest > 0n; rest /= GROUP) {
    const group = groupText(Number(rest % GROUP));
    digits = (rest < GROUP ? group : group.padStart(GROUP_DIGITS, ALPHABET.charAt(0))) + digits;
  }
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(zeros === -1 ? bytes.length : zeros) + digits;
}

function groupText(group: number): string {
  let text = '';
  for (let rest = group; rest > 0; rest = Math.floor(rest / BASE)) text = ALPHABET.charAt(rest % BASE) + text;
  return text;
}

/** Takes quadratic time: the caller bounds the length. @throws TypeError naming the first bad character */
export function fromBase58(text: string): Uint8Array {
  let value = 0n;
  for (let at = 0; at < text.length; at += GROUP_DIGITS) {
    const group = text.slice(at, at + GROUP_DIGITS);
    value = value * BigInt(BASE ** group.length) + BigInt(groupValue(group));
  }
  const zeros = /^1*/.exec(text)?.[0].length ?? 0;
  const hex = value === 0n ? '' : value.toString(16);
  const digits = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  return new Uint8Array(Buffer.concat([Buffer.alloc(zeros), digits]));
}

function groupValue(group: string): number {
  let value = 0;
  for (const character of group) {
    const digit = ALPHABET.indexOf(character);
    if (digit === -1) throw new TypeError(`not a base58 digit: '${character}'`);
    value = value * BASE + digit;
  }
  return value;
}
