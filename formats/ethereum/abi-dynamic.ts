import { type AbiValue, encodeWord } from './abi.ts';

const WORD_SIZE = 32;

/** A dynamic value follows the others, and its offset takes its place. */
export interface Encoded {
  readonly data: Uint8Array;
  readonly dynamic: boolean;
}

export function word(value: AbiValue): Encoded {
  return { data: encodeWord(value), dynamic: false };
}

/** The length, then whole words. */
export function bytes(value: Uint8Array): Encoded {
  const padded = new Uint8Array(Math.ceil(value.length / WORD_SIZE) * WORD_SIZE);
  padded.set(value);
  return { data: joined([encodeWord(value.length), padded]), dynamic: true };
}

export function text(value: string): Encoded {
  return bytes(new TextEncoder().encode(value));
}

export function list(values: readonly Encoded[]): Encoded {
  return { data: joined([encodeWord(values.length), tuple(...values).data]), dynamic: true };
}

export function tuple(...values: readonly Encoded[]): Encoded {
  const size = (value: Encoded) => (value.dynamic ? WORD_SIZE : value.data.length);
  let end = values.reduce((sum, value) => sum + size(value), 0);
  const heads: Uint8Array[] = [];
  const tails: Uint8Array[] = [];
  for (const { data, dynamic } of values) {
    heads.push(dynamic ? encodeWord(end) : data);
    if (!dynamic) continue;
    tails.push(data);
    end += data.length;
  }
  return { data: joined([...heads, ...tails]), dynamic: tails.length > 0 };
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}
