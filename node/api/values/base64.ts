/** Base64 as Bees read it, which report the byte at which it stops being base64. */

const PAD = '=';
const DIGIT = /[A-Za-z0-9+/_-]/;
/** Characters that are ignored between the others. */
const LINE_END = /[\r\n]/g;

/**
 * @param text of the URL's alphabet or the plain one, padded to whole groups of four
 * @returns the bytes, or the index of the character at which the text is wrong
 */
export function decodeBase64(text: string): Uint8Array | number {
  const wrong = firstWrong(text);
  return wrong ?? new Uint8Array(Buffer.from(text.replaceAll(LINE_END, ''), 'base64'));
}

function firstWrong(text: string): number | undefined {
  // The group of four that is being read.
  let inGroup = 0;
  for (let i = 0; i < text.length; i++) {
    const character = text[i] as string;
    if (DIGIT.test(character)) inGroup = (inGroup + 1) % 4;
    else if (character === PAD) return inGroup < 2 ? i : wrongPadding(text, i, 4 - inGroup);
    else if (character !== '\r' && character !== '\n') return i;
  }
  // A group without padding is wrong from its start.
  return inGroup === 0 ? undefined : text.length - inGroup;
}

/** From the first pad on, only the due pads and line ends are allowed. */
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
