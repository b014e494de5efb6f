/**
 * Pulled bin ids of one bin of a peer: ranges, both ends included, ascending and disjoint. Stored as
 * `start;from,to;from,to…` in base 36. `p2p-protocols.md` 7.3.
 */

interface Range {
  readonly from: bigint;
  readonly to: bigint;
}

const FIRST = 1n;
const RADIX = 36;
const TEXT = /^1(?:;[0-9a-z]{1,13},[0-9a-z]{1,13})*$/;

export class Intervals {
  #ranges: readonly Range[];

  private constructor(ranges: readonly Range[]) {
    this.#ranges = ranges;
  }

  static none(): Intervals {
    return new Intervals([]);
  }

  static decode(text: string): Intervals | undefined {
    if (!TEXT.test(text)) return undefined;
    const intervals = Intervals.none();
    for (const part of text.split(';').slice(1)) {
      const [from, to] = part.split(',').map(fromBase36) as [bigint, bigint];
      intervals.add(from, to);
    }
    return intervals;
  }

  encode(): string {
    const ranges = this.#ranges.map(({ from, to }) => `${from.toString(RADIX)},${to.toString(RADIX)}`);
    return [FIRST.toString(RADIX), ...ranges].join(';');
  }

  /** Joins touching ranges. */
  add(from: bigint, to: bigint): void {
    const lower = from < FIRST ? FIRST : from;
    if (to < lower) return;
    const before = this.#ranges.filter((range) => range.to + 1n < lower);
    const after = this.#ranges.filter((range) => range.from > to + 1n);
    const touching = this.#ranges.slice(before.length, this.#ranges.length - after.length);
    const merged = {
      from: touching.reduce((least, range) => (range.from < least ? range.from : least), lower),
      to: touching.reduce((most, range) => (range.to > most ? range.to : most), to),
    };
    this.#ranges = [...before, merged, ...after];
  }

  /** 0 for none. */
  last(): bigint {
    return this.#ranges.at(-1)?.to ?? 0n;
  }

  next(): bigint {
    const first = this.#ranges[0];
    return first === undefined || first.from > FIRST ? FIRST : first.to + 1n;
  }
}

function fromBase36(digits: string): bigint {
  let value = 0n;
  for (const digit of digits) value = value * BigInt(RADIX) + BigInt(Number.parseInt(digit, RADIX));
  return value;
}
