/** As Bees read it: errors name the byte. */

const PAD = '=';
const DIGIT = /[A-Za-z0-9+/_-]/;
const LINE_END = /[\r\n]/g;

/** @param text either alphabet, padded to groups of four @returns bytes, or the index of the wrong character */
export function decodeBase64(text: string): Uint8Array | number {
  const wrong = firstWrong(text);
  return wrong ?? new Uint8Array(Buffer.from(text.replaceAll(LINE_END, ''), 'base64'));
}

function firstWrong(text: string): number | undefined {
  let inGroup = 0;
  for (let i = 0; i < text.length; i++) {
    const character = text[i] as string;
    if (DIGIT.test(character)) inGroup = (inGroup + 1) % 4;
    else if (character === PAD) return inGroup < 2 ? i : wrongPadding(text, i, 4 - inGroup);
    else if (character !== '\r' && character !== '\n') return i;
  }
  // Wrong from its start.
  return inGroup === 0 ? undefined : text.length - inGroup;
}

/** Then only pads and line ends. */
function wrongPadding(text: string, start: number, due: number): number | undefined {
  let left = due;
  for (let i = start; i < text.length; i++) {
    const character = text[i] as string;
    if (character === '\r' || character === '\n') continue;
    if (left === 0) return i;
    if (character !== PAD) return i - 1;
    left--;
  }
  return left === 0 ? undefined : text.length;
}
