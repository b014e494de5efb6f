import type { Clock } from '../../../formats/clock.ts';
import type { KeyValueStore } from '../../store/ports.ts';
import { decodeMessage, encodeMessage } from '../codec/codec.ts';
import type { BlocklistEntry } from '../host.ts';

const PREFIX = 'blocklist-';
/** Beyond it the entry that would expire first is dropped. */
const ENTRIES_MAX = 10_000;

const Entry = {
  since: [1, 'uint64'],
  durationMs: [2, 'uint64'],
  reason: [3, 'string'],
  fullNode: [4, 'bool'],
} as const;

interface Timed {
  readonly entry: BlocklistEntry;
  readonly endsAt: number;
}

/**
 * Refused overlays, kept across restarts. Their time runs by the monotonic clock, because a wall clock may be set wrong and
 * right again. The date on disk counts only at a start, for no more than the duration.
 */
export class Blocklist {
  readonly #state: KeyValueStore;
  readonly #clock: Clock;
  readonly #entries = new Map<string, Timed>();
  /** Without effect; removed from disk with the next write. */
  readonly #expired = new Set<string>();

  constructor(deps: { state: KeyValueStore; clock: Clock }) {
    this.#state = deps.state;
    this.#clock = deps.clock;
    const [now, monotonic] = [deps.clock.now(), deps.clock.monotonic()];
    for (const [key, value] of deps.state.entries(PREFIX)) {
      const overlay = key.slice(PREFIX.length);
      const { since, durationMs, reason, fullNode } = decodeMessage(Entry, value);
      const entry = { overlay, fullNode, reason, durationMs: Number(durationMs), since: Number(since) };
      // The clock was wrong when it was written, or is wrong now.
      const passedMs = Math.max(0, now - entry.since);
      this.#entries.set(overlay, { entry, endsAt: endOf(entry, monotonic - passedMs) });
    }
  }

  /** A second entry keeps the longer duration and starts anew. */
  async add(entry: Omit<BlocklistEntry, 'since'>): Promise<void> {
    const known = this.#valid(entry.overlay)?.entry;
    const durationMs = known === undefined ? entry.durationMs : longer(known.durationMs, entry.durationMs);
    const stored = { ...entry, durationMs, since: this.#clock.now() };
    if (this.#entries.size >= ENTRIES_MAX && known === undefined) this.#makeRoom();
    this.#expired.delete(entry.overlay);
    this.#entries.set(entry.overlay, { entry: stored, endsAt: endOf(stored, this.#clock.monotonic()) });
    const { since, reason, fullNode } = stored;
    const value = {
      since: BigInt(Math.floor(since)),
      durationMs: BigInt(Math.ceil(durationMs)),
      reason,
      fullNode,
    };
    const changes = [...this.#expired].map((overlay) => ({ remove: PREFIX + overlay }));
    this.#expired.clear();
    await this.#state.batch([
      ...changes,
      { put: PREFIX + entry.overlay, value: encodeMessage(Entry, value) },
    ]);
  }

  has(overlay: string): boolean {
    return this.#valid(overlay) !== undefined;
  }

  list(): BlocklistEntry[] {
    return this.#allValid().map(({ entry }) => entry);
  }

  #allValid(): Timed[] {
    return [...this.#entries.keys()].flatMap((overlay) => this.#valid(overlay) ?? []);
  }

  #makeRoom(): void {
    const valid = this.#allValid();
    if (valid.length < ENTRIES_MAX) return;
    const [first, ...others] = valid as [Timed, ...Timed[]];
    const { overlay } = others.reduce((a, b) => (b.endsAt < a.endsAt ? b : a), first).entry;
    this.#entries.delete(overlay);
    this.#expired.add(overlay);
  }

  #valid(overlay: string): Timed | undefined {
    const timed = this.#entries.get(overlay);
    if (timed === undefined) return undefined;
    if (this.#clock.monotonic() < timed.endsAt) return timed;
    this.#entries.delete(overlay);
    this.#expired.add(overlay);
    return undefined;
  }
}

/** @param startedAt and the result: on the same clock, ms */
function endOf({ durationMs }: Pick<BlocklistEntry, 'durationMs'>, startedAt: number): number {
  return durationMs === 0 ? Number.POSITIVE_INFINITY : startedAt + durationMs;
}

/** Zero means for ever. */
function longer(a: number, b: number): number {
  return a === 0 || b === 0 ? 0 : Math.max(a, b);
}
