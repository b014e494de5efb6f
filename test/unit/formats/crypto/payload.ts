import { fromHex } from '../../../../formats/crypto/hex.ts';

export interface PayloadInput {
  readonly dataUtf8?: string;
  readonly dataHex?: string;
  readonly generator?: string;
  readonly length?: number;
}

const RULES: Record<string, (offset: number) => number> = {
  '0': () => 0,
  'i mod 251': (offset) => offset % 251,
  'i mod 255': (offset) => offset % 255,
};

export function payloadOf(input: PayloadInput): Uint8Array {
  if (input.dataUtf8 !== undefined) return new TextEncoder().encode(input.dataUtf8);
  if (input.dataHex !== undefined) return fromHex(input.dataHex);
  const rule = RULES[input.generator ?? ''];
  if (rule === undefined || input.length === undefined)
    throw new Error(`no payload in ${JSON.stringify(input)}`);
  return Uint8Array.from({ length: input.length }, (_, offset) => rule(offset));
}
