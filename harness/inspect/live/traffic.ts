/** What nodes say to each other, for a page: the latest messages, sampled chunks, bytes per link. */
import type { ChunkMove, LinkView, MessageView } from '../../web/picture/live.ts';

const MESSAGES_MAX = 40;
const MOVES_MAX = 100;
/** Shorter messages carry no chunk. */
const CHUNK_BYTES_MIN = 512;
const CHUNKS_OF: Readonly<Record<string, ChunkMove['kind']>> = {
  pushsync: 'push',
  retrieval: 'retrieval',
  pullsync: 'pull',
};

export interface Said extends MessageView {
  /** Places of the nodes. */
  readonly a: number;
  readonly b: number;
}

/** `pushsync` of `/swarm/pushsync/1.3.1/pushsync`; others unchanged. */
export function shortProtocol(id: string): string {
  const [, domain, name] = id.split('/');
  return domain === 'swarm' && name !== undefined ? name : id;
}

export class Traffic {
  #messages: MessageView[] = [];
  #moves: ChunkMove[] = [];
  #seen = 0;
  /** By link, since the last look. */
  readonly #bytes = new Map<string, number>();
  #flows = new Map<string, number>();
  #lookedMs: number | undefined;

  add({ a, b, ...message }: Said): void {
    this.recall(message);
    const key = a < b ? `${a}-${b}` : `${b}-${a}`;
    this.#bytes.set(key, (this.#bytes.get(key) ?? 0) + message.bytes);
    const kind = message.bytes < CHUNK_BYTES_MIN ? undefined : CHUNKS_OF[message.protocol];
    if (kind === undefined) return;
    const move = { kind, from: a, to: b, chunk: '' };
    // Later ones replace earlier ones in turn.
    this.#moves[this.#seen++ % MOVES_MAX] = move;
  }

  /** From before what is looked at: it counts in no rate. */
  recall(message: MessageView): void {
    this.#messages.push(message);
    if (this.#messages.length >= 2 * MESSAGES_MAX) this.#messages = this.messages;
  }

  /** Oldest first. */
  get messages(): MessageView[] {
    return this.#messages.slice(-MESSAGES_MAX);
  }

  takeMoves(): ChunkMove[] {
    this.#seen = 0;
    return this.#moves.splice(0);
  }

  /** Bytes per second since the last call. @param pairs places of connected nodes */
  links(
    pairs: readonly (readonly [number, number])[],
    before: readonly LinkView[],
    nowMs: number,
  ): LinkView[] {
    const elapsedMs = nowMs - (this.#lookedMs ?? nowMs);
    if (elapsedMs > 0) {
      this.#flows = new Map(
        Array.from(this.#bytes, ([key, bytes]) => [key, Math.round((bytes * 1000) / elapsedMs)]),
      );
      this.#bytes.clear();
    }
    if (elapsedMs !== 0 || this.#lookedMs === undefined) this.#lookedMs = nowMs;
    const connected = new Set(pairs.map(([a, b]) => (a < b ? `${a}-${b}` : `${b}-${a}`)));
    const keys = new Set([...before.map(({ a, b }) => `${a}-${b}`), ...connected]);
    return Array.from(keys, (key) => {
      const [a, b] = key.split('-').map(Number) as [number, number];
      const flow = this.#flows.get(key) ?? 0;
      return {
        a,
        b,
        connected: connected.has(key),
        latencyMs: null,
        balance: '0',
        flow,
        paidByA: '0',
        paidByB: '0',
      };
    });
  }

  /** Nodes have other places. */
  clear(): void {
    this.#messages = [];
    this.#moves = [];
    this.#seen = 0;
    this.#bytes.clear();
    this.#flows.clear();
    this.#lookedMs = undefined;
  }
}
