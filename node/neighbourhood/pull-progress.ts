/**
 * What has been pulled from whom, for restarts. Keys: `interval/<overlay>/<bin>`, `epoch/<overlay>`, and `radius`, for which
 * the intervals hold.
 */
import { proximityOrder } from '../../formats/chunk/address.ts';
import { fromHex } from '../../formats/crypto/hex.ts';
import type { Cursors } from '../protocols/pullsync/pullsync.ts';
import type { KeyValueChange, KeyValueStore } from '../store/ports.ts';
import { Intervals } from './intervals.ts';

const INTERVAL = 'interval/';
const EPOCH = 'epoch/';
const RADIUS = 'radius';
/** A neighbour may leave the address book while away, and would have to offer everything again. */
const PEERS_KEPT = 1_000;

export class PullProgress {
  readonly #state: KeyValueStore;
  readonly #overlay: Uint8Array;

  constructor(state: KeyValueStore, overlay: Uint8Array) {
    this.#state = state;
    this.#overlay = overlay;
  }

  /** An unreadable record counts as empty: the peer offers known chunks again. */
  intervals(overlayHex: string, bin: number): Intervals {
    const record = this.#state.get(intervalKey(overlayHex, bin));
    const known = record === undefined ? undefined : Intervals.decode(Buffer.from(record).toString());
    return known ?? Intervals.none();
  }

  async save(overlayHex: string, bin: number, intervals: Intervals): Promise<void> {
    await this.#state.put(intervalKey(overlayHex, bin), Buffer.from(intervals.encode()));
  }

  /**
   * With a new reserve nothing pulled before counts. Nor does a bin with more pulled than exists: its last ids are reused.
   */
  async meet(overlayHex: string, { epoch, cursors }: Cursors): Promise<void> {
    const text = String(epoch);
    const stored = this.#state.get(EPOCH + overlayHex);
    const known = stored !== undefined && Buffer.from(stored).toString() === text;
    const stale = (_overlayHex: string, bin: number) =>
      !known || this.intervals(overlayHex, bin).last() > (cursors[bin] ?? 0n);
    const changes = this.#removals(`${INTERVAL}${overlayHex}/`, stale);
    if (!known) changes.push({ put: EPOCH + overlayHex, value: Buffer.from(text) });
    if (changes.length > 0) await this.#state.batch(changes);
  }

  /**
   * With a smaller radius this node is responsible for chunks left out or evicted: neighbours must offer bins below the old
   * radius again, others everything.
   */
  async adopt(radius: number): Promise<void> {
    const before = this.#radius();
    if (before === radius) return;
    const stale = (overlayHex: string, bin: number) =>
      bin < before || proximityOrder(this.#overlay, fromHex(overlayHex)) < before;
    await this.#state.batch([
      ...(this.isStale(radius) ? this.#removals(INTERVAL, stale) : []),
      { put: RADIUS, value: Buffer.from(String(radius)) },
    ]);
  }

  /** Forgets others once there are many: an overlay costs nothing. */
  async retain(isKept: (overlayHex: string) => boolean): Promise<void> {
    const met = [...this.#state.entries(EPOCH)];
    if (met.length < PEERS_KEPT) return;
    const changes = this.#removals(INTERVAL, (overlayHex) => !isKept(overlayHex));
    for (const [key] of met) if (!isKept(key.slice(EPOCH.length))) changes.push({ remove: key });
    if (changes.length > 0) await this.#state.batch(changes);
  }

  /** `adopt` will forget intervals: until then nothing may be pulled. */
  isStale(radius: number): boolean {
    return radius < this.#radius();
  }

  #radius(): number {
    const stored = this.#state.get(RADIUS);
    return stored === undefined ? 0 : Number(Buffer.from(stored).toString());
  }

  #removals(prefix: string, stale: (overlayHex: string, bin: number) => boolean): KeyValueChange[] {
    const changes: KeyValueChange[] = [];
    for (const [key] of this.#state.entries(prefix)) {
      const [overlayHex, bin] = key.slice(INTERVAL.length).split('/') as [string, string];
      if (stale(overlayHex, Number(bin))) changes.push({ remove: key });
    }
    return changes;
  }
}

function intervalKey(overlayHex: string, bin: number): string {
  return `${INTERVAL}${overlayHex}/${String(bin).padStart(2, '0')}`;
}
