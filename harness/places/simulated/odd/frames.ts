/** Cuts what nodes send into pieces: each arrives in a turn of its own, after all that was sent before it. */
import { type Random, seededRandom } from '../../../../formats/random.ts';
import type { MemoryFrame } from '../../../../node/p2p/memory-link.ts';
import type { Surroundings } from '../../embedded/host.ts';

export type Relay = NonNullable<ReturnType<Surroundings['relay']>>;

interface OddFramesDeps {
  readonly seed: string;
  readonly defer: (work: () => void) => void;
  /** Most pieces of a frame that this peer sends; undefined: it stays whole. */
  readonly piecesOf: (peerId: string) => number | undefined;
  readonly before: Relay | undefined;
}

interface Way {
  readonly random: Random;
  readonly waiting: (() => void)[];
}

export class OddFrames implements Relay {
  readonly #deps: OddFramesDeps;
  readonly #ways = new Map<string, Way>();

  constructor(deps: OddFramesDeps) {
    this.#deps = deps;
  }

  opened(...connection: Parameters<Relay['opened']>): void {
    this.#deps.before?.opened(...connection);
  }

  closed(connection: object): void {
    this.#deps.before?.closed(connection);
  }

  pass(frame: MemoryFrame, send: (frame: MemoryFrame) => void): void {
    const { before } = this.#deps;
    if (before === undefined) this.#cut(frame, send);
    else before.pass(frame, (passed) => this.#cut(passed, send));
  }

  #cut(frame: MemoryFrame, send: (frame: MemoryFrame) => void): void {
    const most = this.#deps.piecesOf(frame.from);
    if (most === undefined) return send(frame);
    const way = this.#way(frame);
    const { waiting } = way;
    const isFree = waiting.length === 0;
    for (const bytes of piecesOf(frame.bytes, most, way.random))
      waiting.push(() => send({ ...frame, bytes }));
    if (isFree) this.#next(way);
  }

  #next(way: Way): void {
    way.waiting[0]?.();
    // It stays until the next turn, so that what is sent meanwhile comes after it.
    this.#deps.defer(() => {
      way.waiting.shift();
      if (way.waiting.length > 0) this.#next(way);
    });
  }

  #way({ from, to }: MemoryFrame): Way {
    const key = `${from} ${to}`;
    let way = this.#ways.get(key);
    if (way === undefined) {
      way = { random: seededRandom(this.#deps.seed, 'pieces', key), waiting: [] };
      this.#ways.set(key, way);
    }
    return way;
  }
}

/** At least one piece, in order; often the first or the last is of a single byte. */
function piecesOf(bytes: Uint8Array, most: number, random: Random): Uint8Array[] {
  const cuts = Array.from({ length: random.below(most) }, () => {
    const how = random.below(4);
    if (how === 0) return 1;
    return how === 1 ? bytes.length - 1 : random.below(bytes.length + 1);
  });
  const ends = [...new Set(cuts)].filter((at) => at > 0 && at < bytes.length).toSorted((a, b) => a - b);
  return [...ends, bytes.length].map((end, n) => bytes.subarray(ends[n - 1] ?? 0, end));
}
