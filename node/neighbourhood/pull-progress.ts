/**
 * What has been pulled from which peer, so that a restart continues where it stopped. Keys:
 * `interval/<overlay>/<bin>`, `epoch/<overlay>`, and `radius`, the storage radius for which the intervals
 * hold: bins below it were left out.
 */
import { proximityOrder } from '../../formats/chunk/address.ts';
import { fromHex } from '../../formats/crypto/hex.ts';
import type { Cursors } from '../protocols/pullsync/pullsync.ts';
import type { KeyValueChange, KeyValueStore } from '../store/ports.ts';
import { Intervals } from './intervals.ts';

const INTERVAL = 'interval/';
const EPOCH = 'epoch/';
const RADIUS = 'radius';
/** A neighbour that is away for a while may leave the address book, and would then have to offer everything again. */
const PEERS_KEPT = 1_000;

export class PullProgress {
  readonly #state: KeyValueStore;
  readonly #overlay: Uint8Array;

  /** @param state of subsystem `puller` @param overlay of this node */
  constructor(state: KeyValueStore, overlay: Uint8Array) {
    this.#state = state;
    this.#overlay = overlay;
  }

  /** An unreadable record counts as empty, which costs only offers of chunks that are already here. */
  intervals(overlayHex: string, bin: number): Intervals {
    const record = this.#state.get(intervalKey(overlayHex, bin));
    const known = record === undefined ? undefined : Intervals.decode(Buffer.from(record).toString());
    return known ?? Intervals.none();
  }

  /** Durable when it resolves. */
  async save(overlayHex: string, bin: number, intervals: Intervals): Promise<void> {
    await this.#state.put(intervalKey(overlayHex, bin), Buffer.from(intervals.encode()));
  }

  /**
   * A peer with a new reserve numbers its chunks anew, so nothing pulled from it before counts. Nor does a
   * bin with more pulled than exists: the peer lost its last entries, and reuses their ids.
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
   * The storage radius has changed. With a smaller one this node is responsible for chunks that it has left out or
   * evicted: neighbours must offer their bins below the old radius again, all other peers everything.
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

  /** Forgets other peers once there are many: an overlay costs nothing, and many strangers may come only once. */
  async retain(isKept: (overlayHex: string) => boolean): Promise<void> {
    const met = [...this.#state.entries(EPOCH)];
    if (met.length < PEERS_KEPT) return;
    const changes = this.#removals(INTERVAL, (overlayHex) => !isKept(overlayHex));
    for (const [key] of met) if (!isKept(key.slice(EPOCH.length))) changes.push({ remove: key });
    if (changes.length > 0) await this.#state.batch(changes);
  }

  /** Whether `adopt` will forget intervals: until then nothing may be pulled. */
  isStale(radius: number): boolean {
    return radius < this.#radius();
  }

  /** Radius of the last `adopt`; at the very beginning nothing has been left out. */
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
