/**
 * The mirror with its records: each page of events is a transaction, and the newest are undone when the chain replaces their
 * blocks. Beyond these, a second mirror is built from the start block while the first serves; then the records change at
 * once. Every crash leaves a consistent state.
 */

import type { Clock } from '../../formats/clock.ts';
import { fromHex, toHex } from '../../formats/crypto/hex.ts';
import { encodeWord } from '../../formats/ethereum/abi.ts';
import type { KeyValueChange, KeyValueStore } from '../store/ports.ts';
import { type Anchor, BatchMirror, type MirroredBatch, NO_RECORDS } from './batch-store.ts';
import type { FollowedEvent, PlacedEvent } from './listener.ts';
import { keyOf, PageHistory } from './page-history.ts';
import type { BatchStore } from './ports.ts';
import { batchSize } from './rules.ts';

const VANISHED = 'vanished/';
/**
 * How long a batch removed by a reorganisation is awaited: it is usually mined again within a few, and given up by its
 * sender after twelve.
 */
export const VANISHED_GRACE_BLOCKS = 64;

interface LedgerOptions {
  readonly startBlock: number;
  readonly reserveCapacity: number;
  readonly tailBlocks: number;
}

/** Empty pages kept in memory as one: most blocks of a test chain are empty. A crash costs only reading them again. */
export const QUIET_PAGES = 8;

interface LedgerDeps {
  readonly state: KeyValueStore;
  /** Records wait for the disk, so that empty pages try too. */
  readonly mustWrite: () => boolean;
  readonly isOwn: (batch: MirroredBatch) => boolean;
  /** @returns changes to write in the same transaction */
  readonly follow: (batches: readonly MirroredBatch[]) => KeyValueChange[];
  readonly clock: Pick<Clock, 'nowNs'>;
  /** `ignored`: a creation that is too small. */
  readonly onEvent: (event: FollowedEvent, outcome: 'applied' | 'ignored', tookNs: bigint) => void;
}

export interface PageEnd extends Anchor {
  readonly full: boolean;
}

export class Ledger {
  readonly #options: LedgerOptions;
  readonly #deps: LedgerDeps;
  readonly #mirror: BatchMirror;
  readonly #history: PageHistory;
  /** Batch id → last height with it. */
  readonly #vanished = new Map<string, number>();
  /** Pages in memory, and the end of the disk's state. */
  #quiet: { readonly pages: number; readonly saved: Anchor | undefined } | undefined;
  /** Set while everything is read again. `own` includes used-up batches. */
  #rebuilt: { readonly mirror: BatchMirror; readonly own: Map<string, MirroredBatch> } | undefined;

  constructor(options: LedgerOptions, deps: LedgerDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#mirror = new BatchMirror(options, deps.state);
    this.#history = new PageHistory(deps.state);
    for (const [key, value] of deps.state.entries(VANISHED)) {
      this.#vanished.set(key.slice(VANISHED.length), Number(`0x${toHex(value)}`));
    }
  }

  get batches(): BatchStore {
    return this.#mirror;
  }

  get(id: Uint8Array): MirroredBatch | undefined {
    return this.#mirror.get(id);
  }

  /** A reorganisation removed its creation, or may undo its expiry. */
  awaited(id: Uint8Array): boolean {
    return this.#vanished.has(toHex(id)) || this.#mirror.isDoubtful(id);
  }

  lastBlock(): number {
    return this.#open().chainState().block;
  }

  /** Undefined before the first page. */
  applied(): Anchor | undefined {
    return this.#open().anchor();
  }

  /** Newest first, of the current and restorable states; undefined before the first page. */
  anchors(): (Anchor | undefined)[] {
    const open = this.#open();
    if (open !== this.#mirror) return [open.anchor()];
    const saved = this.#quiet === undefined ? [] : [this.#quiet.saved];
    return [open.anchor(), ...saved, ...this.#history.anchors()];
  }

  /** @returns batches used up beyond doubt or awaited in vain, hex */
  async apply(events: readonly PlacedEvent[], end: PageEnd): Promise<string[]> {
    const mirror = this.#open();
    const before = mirror.anchor();
    const own = this.#rebuilt?.own ?? new Map<string, MirroredBatch>();
    for (const placed of events) {
      this.#applyEvent(mirror, placed);
      const batch = 'id' in placed.event ? mirror.get(placed.event.id) : undefined;
      if (batch !== undefined && this.#deps.isOwn(batch)) own.set(toHex(batch.id), batch);
    }
    mirror.close({ block: end.block, hash: end.hash });
    if (this.#rebuilt !== undefined) {
      mirror.takeChanges();
      if (!end.full) await this.#replace(mirror, [...own.values()]);
      return [];
    }
    const review = this.#review();
    const { pages = 0, saved = before } = this.#quiet ?? {};
    this.#quiet = { pages: pages + 1, saved };
    const isQuiet = events.length === 0 && review.changes.length === 0 && !mirror.hasExpired();
    if (isQuiet && !end.full && pages + 1 < QUIET_PAGES && !this.#deps.mustWrite()) return review.givenUp;
    const expired = await this.#write(end, [...review.changes, ...this.#deps.follow([...own.values()])]);
    return [...expired, ...review.givenUp];
  }

  async save(): Promise<void> {
    const end = this.#mirror.anchor();
    if (this.#quiet !== undefined && end !== undefined) await this.#write({ ...end, full: false }, []);
  }

  /** Writes one page. @returns batches expired beyond doubt, hex */
  async #write(end: PageEnd, also: readonly KeyValueChange[]): Promise<string[]> {
    const { changes, expired } = this.#mirror.takeChanges();
    const undo = end.full
      ? this.#history.clear()
      : this.#history.record(end.block, changes, this.#quiet?.saved);
    this.#quiet = undefined;
    await this.#deps.state.batch([...changes, ...undo, ...also]);
    return expired;
  }

  async revert(pages: number): Promise<void> {
    const before = this.#mirror.ids();
    const height = this.#mirror.chainState().block;
    const restored = this.#history.revert(pages - (this.#quiet === undefined ? 0 : 1));
    this.#quiet = undefined;
    this.#mirror.load(overlaid(this.#deps.state, restored));
    const missing = this.#missing({ before, after: this.#mirror.ids(), height });
    await this.#deps.state.batch([
      ...restored,
      ...missing,
      ...this.#deps.follow(this.#mirror.all().filter(this.#deps.isOwn)),
    ]);
  }

  /** Reads again from the start block; the known state stays until then. */
  reset(): void {
    this.#rebuilt = { mirror: new BatchMirror(this.#options, NO_RECORDS), own: new Map() };
  }

  #open(): BatchMirror {
    return this.#rebuilt?.mirror ?? this.#mirror;
  }

  #applyEvent(mirror: BatchMirror, { block, event }: PlacedEvent): void {
    const { clock, onEvent } = this.#deps;
    const startedAt = clock.nowNs();
    mirror.advance(block);
    const applied = change(mirror, { block, event });
    onEvent(event, applied ? 'applied' : 'ignored', clock.nowNs() - startedAt);
  }

  async #replace(rebuilt: BatchMirror, own: readonly MirroredBatch[]): Promise<void> {
    const { state, follow } = this.#deps;
    const height = this.#mirror.chainState().block;
    const missing = this.#missing({ before: this.#mirror.ids(), after: rebuilt.ids(), height });
    await state.batch([...rebuilt.difference(state), ...this.#history.clear(), ...missing, ...follow(own)]);
    this.#rebuilt = undefined;
    this.#quiet = undefined;
    this.#mirror.load(state);
  }

  #missing(states: {
    readonly before: readonly string[];
    readonly after: readonly string[];
    readonly height: number;
  }): KeyValueChange[] {
    const kept = new Set(states.after);
    const gone = states.before.filter((id) => !kept.has(id));
    return gone.map((id) => {
      this.#vanished.set(id, states.height);
      return { put: VANISHED + id, value: encodeWord(states.height) };
    });
  }

  /** Gives up batches that are back, or were awaited for long enough. */
  #review(): { readonly changes: KeyValueChange[]; readonly givenUp: string[] } {
    const changes: KeyValueChange[] = [];
    const givenUp: string[] = [];
    for (const [id, height] of this.#vanished) {
      const back = this.#mirror.get(fromHex(id)) !== undefined;
      const late = this.#mirror.chainState().block >= height + VANISHED_GRACE_BLOCKS;
      if (!back && !late) continue;
      if (!back) givenUp.push(id);
      this.#vanished.delete(id);
      changes.push({ remove: VANISHED + id });
    }
    return { changes, givenUp };
  }
}

/** @returns false when nothing changes */
function change(mirror: BatchMirror, { block, event }: PlacedEvent): boolean {
  switch (event.kind) {
    case 'BatchCreated': {
      const { id, owner, depth, bucketDepth, immutable, normalisedBalance: value, totalAmount } = event;
      const amount = totalAmount / batchSize(depth);
      return mirror.create({ id, value, start: block, owner, bucketDepth, depth, immutable, amount });
    }
    case 'BatchTopUp':
      mirror.topUp(event.id, { value: event.normalisedBalance, total: event.topUpAmount });
      return true;
    case 'BatchDepthIncrease':
      mirror.increaseDepth(event.id, event.depth, event.normalisedBalance);
      return true;
    case 'PriceUpdate':
      mirror.setPrice(event.price);
      return true;
  }
}

function overlaid(
  state: KeyValueStore,
  changes: readonly KeyValueChange[],
): Pick<KeyValueStore, 'get' | 'entries'> {
  const changed = new Map(changes.map((one) => [keyOf(one), 'put' in one ? one.value : undefined]));
  return {
    get: (key) => (changed.has(key) ? changed.get(key) : state.get(key)),
    *entries(prefix) {
      for (const entry of state.entries(prefix)) if (!changed.has(entry[0])) yield entry;
      for (const [key, value] of changed) {
        if (value !== undefined && key.startsWith(prefix)) yield [key, value] as const;
      }
    },
  };
}
