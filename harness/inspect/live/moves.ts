/** A sample of chunk moves between nodes: there are more than a page can show. */
import { allAtMost } from '../../base/wait.ts';
import type { ChunkEvents } from '../../client/types.ts';
import { flavourOf } from '../../flavours/table.ts';
import type { ChunkMove } from '../../web/picture/live.ts';
import { replyOf } from '../status/ask.ts';
import type { ObservedNode } from './network-observer.ts';

const ANSWER_LIMIT_MS = 2000;
const NODES_AT_ONCE = 8;
const EVENTS_MAX = 1000;
const MOVES_MAX = 100;
/** Rounds until a node without events is asked again: a restart may have turned them on. */
const ROUNDS_WITHOUT = 40;
/** Beyond all events: a node answers with its last number. */
const END = Number.MAX_SAFE_INTEGER;

/** Events at the end of a hop, and its direction from the reporting node. */
const HOPS: Readonly<Record<string, { readonly kind: ChunkMove['kind']; readonly toPeer: boolean }>> = {
  'push-accepted': { kind: 'push', toPeer: true },
  'ask-delivered': { kind: 'retrieval', toPeer: false },
  pulled: { kind: 'pull', toPeer: false },
};

interface Reader {
  /** Undefined: not asked yet. */
  cursor: number | undefined;
  without: number;
}

export class MoveReader {
  readonly #nodes: readonly ObservedNode[];
  readonly #readers: Reader[];
  readonly #places: ReadonlyMap<string, number>;
  readonly #onAsked: (place: number) => void;

  constructor(nodes: readonly ObservedNode[], onAsked: (place: number) => void) {
    this.#nodes = [...nodes];
    this.#onAsked = onAsked;
    this.#readers = nodes.map(() => ({ cursor: undefined, without: 0 }));
    this.#places = new Map(nodes.map(({ overlay }, place) => [overlay, place]));
  }

  get sight(): 'on' | 'off' {
    return this.#readers.some(({ cursor }) => cursor !== undefined) ? 'on' : 'off';
  }

  /** Skips moves while no page was open. */
  forget(): void {
    for (const reader of this.#readers) reader.cursor = undefined;
  }

  /** Moves since the previous call; none at the first. */
  async sample(signal: AbortSignal): Promise<ChunkMove[]> {
    const limit = Math.max(10, Math.floor(EVENTS_MAX / Math.max(this.#nodes.length, 1)));
    const found = await allAtMost(
      NODES_AT_ONCE,
      this.#nodes.map((node, place) => () => this.#movesOf(node, { place, limit }, signal)),
    );
    return sample(found.flat(), MOVES_MAX);
  }

  async #movesOf(
    node: ObservedNode,
    { place, limit }: { place: number; limit: number },
    interruption: AbortSignal,
  ): Promise<ChunkMove[]> {
    const reader = this.#readers[place] as Reader;
    if (!node.running || !flavourOf(node).debugApi || node.debug === node.api) return [];
    if (reader.without > 0) {
      reader.without--;
      return [];
    }
    using asking = node.client.clock.deadline(ANSWER_LIMIT_MS, interruption);
    const { signal } = asking;
    this.#onAsked(place);
    const end = await replyOf(node.client.chunkEvents({ after: END, limit: 1 }, signal));
    const { cursor } = reader;
    reader.cursor = 'value' in end && end.value.capacity > 0 ? end.value.last : undefined;
    if ('value' in end && end.value.capacity === 0) reader.without = ROUNDS_WITHOUT;
    if (cursor === undefined || reader.cursor === undefined || reader.cursor === cursor) return [];
    // Only the newest; a restarted node counts anew.
    const after = Math.max(reader.cursor < cursor ? 0 : cursor, reader.cursor - limit);
    this.#onAsked(place);
    const page = await replyOf(node.client.chunkEvents({ after, limit }, signal));
    const events = 'value' in page ? page.value.events : [];
    return movesOf(events, place, this.#places);
  }
}

export function movesOf(
  events: ChunkEvents['events'],
  place: number,
  places: ReadonlyMap<string, number>,
): ChunkMove[] {
  return events.flatMap(({ kind, peer, address }) => {
    const hop = HOPS[kind];
    const other = peer === undefined ? undefined : places.get(peer);
    if (hop === undefined || other === undefined) return [];
    const [from, to] = hop.toPeer ? [place, other] : [other, place];
    return [{ kind: hop.kind, from, to, chunk: address.slice(0, 8) }];
  });
}

/** Evenly spaced. Exported for its test. */
export function sample<T>(all: readonly T[], most: number): T[] {
  if (all.length <= most) return [...all];
  return Array.from({ length: most }, (_, i) => all[Math.floor((i * all.length) / most)] as T);
}
