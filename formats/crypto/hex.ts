/** Lower-case hex without prefix. */
export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}

/** @param text hex of even length, any case, optional `0x` @throws TypeError naming the first bad character */
export function fromHex(text: string): Uint8Array {
  const digits = text.startsWith('0x') ? text.slice(2) : text;
  if (digits.length % 2 !== 0) throw new TypeError(`hex of odd length ${digits.length}: ${shown(text)}`);
  const bad = /[^0-9a-fA-F]/.exec(digits);
  if (bad !== null) throw new TypeError(`not a hex digit: '${bad[0]}' in ${shown(text)}`);
  return new Uint8Array(Buffer.from(digits, 'hex'));
}

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

function shown(text: string): string {
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
