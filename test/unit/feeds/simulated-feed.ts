import { type Chunk, ChunkNotFoundError } from '../../../formats/chunk/chunk.ts';
import { indexBytes } from '../../../node/feeds/feed.ts';

/** `silent` until the read is given up. */
type Answer = 'found' | 'missing' | 'silent' | 'broken';

export class SimulatedFeed {
  readonly #answer: (index: bigint, time: number) => Answer;
  readonly asked: bigint[] = [];
  rounds = 0;
  widest = 0;
  #underWay = 0;

  constructor(answer: (index: bigint, time: number) => Answer) {
    this.#answer = answer;
  }

  readonly read = async (index: bigint, signal: AbortSignal): Promise<Chunk> => {
    this.asked.push(index);
    if (this.#underWay === 0) this.rounds++;
    this.widest = Math.max(this.widest, ++this.#underWay);
    try {
      await new Promise(setImmediate);
      const answer = this.#answer(index, this.asked.filter((one) => one === index).length);
      if (answer === 'missing') throw new ChunkNotFoundError(String(index));
      if (answer === 'broken') throw new Error('no peer found');
      if (answer === 'silent') await ended(signal);
      return chunkOf(index);
    } finally {
      this.#underWay--;
    }
  };
}

/** 0 up to, without, `count`, less the lost ones. */
export function feedOf(count: number | bigint, lost: readonly bigint[] = []): SimulatedFeed {
  return new SimulatedFeed((index) => (index < BigInt(count) && !lost.includes(index) ? 'found' : 'missing'));
}

export function chunkOf(index: bigint): Chunk {
  const address = new Uint8Array(32);
  address.set(indexBytes(index));
  return { address, data: new Uint8Array(105), kind: 'soc', identity: address };
}

function ended(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
