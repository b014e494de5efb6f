/**
 * One own batch: used slots per bucket, and which chunk has which. Each stamp queues one write of slot and counter, before
 * the chunk's own write, so a slot is never issued twice, whenever the process dies. `node-behaviour.md` 3.3,
 * `data-formats.md` 6.3. Vectors: test/vectors/postage.json.
 */
import { bucketOf, type Stamp, stampDigest, stampIndex } from '../../formats/chunk/stamp.ts';
import type { Clock } from '../../formats/clock.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import type { Signer } from '../../formats/crypto/signer.ts';
import type { Logger } from '../env/logger.ts';
import type { Workers } from '../env/workers.ts';
import { isDiskFailure } from '../store/errors.ts';
import type { KeyValueChange, KeyValueStore } from '../store/ports.ts';
import { type Issuer, PostageError, type Stampable, type UploadStamper } from './ports.ts';
import { slotsPerBucket } from './rules.ts';

const INDEX_SIZE = 8;
const TIMESTAMP_SIZE = 8;
const COUNT_SIZE = 4;
const BUCKET_DIGITS = 8;
/** Records per transaction: other writers get their turn. */
const DROP_PAGE = 1000;

export type IssuerRecord = Omit<Issuer, 'utilization' | 'displaced'>;

export interface IssuerDeps {
  readonly state: KeyValueStore;
  readonly signer: Pick<Signer, 'sign'>;
  /** Absent: the main thread signs. */
  readonly workers?: Pick<Workers, 'offer' | 'sign'> | undefined;
  readonly clock: Pick<Clock, 'nowNs'>;
  readonly log: Logger;
}

export class BatchIssuer implements Issuer, UploadStamper {
  readonly #deps: IssuerDeps;
  #record: IssuerRecord;
  readonly #keys: Readonly<Record<'item' | 'count' | 'utilization' | 'displaced', string>>;
  /** Read at the first stamp. */
  #counts: Uint32Array | undefined;
  /** Restarted buckets of a mutable batch → slots that chunks had by then. */
  readonly #marks = new Map<number, number>();
  #displaced: number;
  #utilization: number;
  /** Bounded by the writes that uploads keep open. */
  readonly #uncommitted = new Map<string, Uint8Array>();
  /** Earlier ones are committed with it. */
  #written: Promise<void> = Promise.resolve();
  #failure: unknown;
  /** Refused by a failing disk; bounded, because no stamp follows a failure. */
  readonly #unwritten = new Set<string>();
  #retrying = false;

  constructor(record: IssuerRecord, deps: IssuerDeps) {
    this.#deps = deps;
    this.#record = record;
    const id = toHex(record.batchId);
    this.#keys = {
      item: `item/${id}/`,
      count: `count/${id}/`,
      utilization: `utilization/${id}`,
      displaced: `displaced/${id}`,
    };
    this.#utilization = readUint32(deps.state.get(this.#keys.utilization));
    this.#displaced = readUint32(deps.state.get(this.#keys.displaced));
  }

  get batchId(): Uint8Array {
    return this.#record.batchId;
  }
  get label(): string {
    return this.#record.label;
  }
  get amount(): bigint {
    return this.#record.amount;
  }
  get depth(): number {
    return this.#record.depth;
  }
  get bucketDepth(): number {
    return this.#record.bucketDepth;
  }
  get blockNumber(): number {
    return this.#record.blockNumber;
  }
  get immutable(): boolean {
    return this.#record.immutable;
  }
  get utilization(): number {
    return this.#utilization;
  }
  get displaced(): number {
    return this.#displaced;
  }

  /** Called after a top-up, dilution, or purchase. The caller writes the record. */
  update(record: IssuerRecord): void {
    this.#record = record;
  }

  /** A copy, 2^bucketDepth entries. */
  buckets(): Uint32Array {
    return this.#loadedCounts().slice();
  }

  stamp(chunk: Stampable): Stamp {
    const unsigned = this.#unsigned(chunk);
    return { ...unsigned, signature: this.#deps.signer.sign(digestOf(chunk, unsigned)) };
  }

  async stampAsync(chunk: Stampable): Promise<Stamp> {
    const { workers } = this.#deps;
    if (workers?.offer(1) !== true) return this.stamp(chunk);
    const unsigned = this.#unsigned(chunk);
    return { ...unsigned, signature: await workers.sign(digestOf(chunk, unsigned)) };
  }

  #unsigned(chunk: Stampable): Omit<Stamp, 'signature'> {
    if (this.#failure !== undefined) {
      if (isDiskFailure(this.#failure)) void this.#retry();
      throw this.#failure;
    }
    const { batchId } = this.#record;
    const item = this.#keys.item + toHex(chunk.identity);
    const bucket = bucketOf(chunk.address, this.#record.bucketDepth);
    const changes: KeyValueChange[] = [];
    const used = this.#usedSlot(item, bucket);
    const index = used?.subarray(0, INDEX_SIZE) ?? this.#takeSlot(bucket, changes);
    const slot = new Uint8Array(INDEX_SIZE + TIMESTAMP_SIZE);
    slot.set(index);
    new DataView(slot.buffer).setBigUint64(INDEX_SIZE, this.#timestampAfter(used));
    changes.push({ put: item, value: slot });
    this.#write(item, slot, changes);
    return { batchId, index, timestamp: slot.subarray(INDEX_SIZE) };
  }

  /** Nanoseconds since 1970. */
  stampedAt(identity: Uint8Array): bigint | undefined {
    const slot = this.#slot(this.#keys.item + toHex(identity));
    return slot && timestampOf(slot);
  }

  /** Rejects with the error of a stamp that could not be written. */
  async saved(): Promise<void> {
    await this.#written;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Page by page; counters stay. For expired batches. */
  async dropItems(): Promise<void> {
    for (;;) {
      const page: KeyValueChange[] = [];
      for (const [key] of this.#deps.state.entries(this.#keys.item)) {
        if (page.push({ remove: key }) === DROP_PAGE) break;
      }
      if (page.length === 0) return;
      await this.#deps.state.batch(page);
    }
  }

  /** An uncounted bucket has none: saves the look-up. */
  #usedSlot(item: string, bucket: number): Uint8Array | undefined {
    if (this.#loadedCounts()[bucket] === 0) return undefined;
    return this.#slot(item);
  }

  /** Newer than the chunk's last stamp, even if the clock was set back: storers refuse an older one. */
  #timestampAfter(used: Uint8Array | undefined): bigint {
    const now = this.#deps.clock.nowNs();
    const next = used === undefined ? now : timestampOf(used) + 1n;
    return next > now ? next : now;
  }

  #takeSlot(bucket: number, changes: KeyValueChange[]): Uint8Array {
    const counts = this.#loadedCounts();
    let position = counts[bucket] ?? 0;
    if (position >= slotsPerBucket(this.#record)) {
      if (this.#record.immutable) throw new PostageError('BATCH_OVERISSUED', 'bucket full');
      this.#marks.set(bucket, position);
      position = 0;
    }
    const count = position + 1;
    counts[bucket] = count;
    changes.push({ put: this.#countKey(bucket), value: this.#countValue(bucket) });
    if (position < (this.#marks.get(bucket) ?? 0)) changes.push(this.#displace());
    if (count > this.#utilization) {
      this.#utilization = count;
      changes.push({ put: this.#keys.utilization, value: uint32(count) });
    }
    return stampIndex(bucket, position);
  }

  /** Storers then drop the older chunk. */
  #displace(): KeyValueChange {
    const displaced = ++this.#displaced;
    // The first displacement is told, then every power of ten.
    if (Number.isInteger(Math.log10(displaced))) {
      const batch = toHex(this.batchId);
      this.#deps.log.warn(
        { batch, displaced },
        'mutable batch is full: new stamps displace its oldest chunks',
      );
    }
    return { put: this.#keys.displaced, value: uint32(displaced) };
  }

  #countValue(bucket: number): Uint8Array {
    const count = uint32(this.#loadedCounts()[bucket] ?? 0);
    const mark = this.#marks.get(bucket);
    return mark === undefined ? count : new Uint8Array([...count, ...uint32(mark)]);
  }

  #slot(item: string): Uint8Array | undefined {
    return this.#uncommitted.get(item) ?? this.#deps.state.get(item);
  }

  #write(item: string, slot: Uint8Array, changes: readonly KeyValueChange[]): void {
    this.#uncommitted.set(item, slot);
    this.#written = this.#deps.state.batch(changes);
    this.#written.then(
      () => this.#uncommitted.delete(item),
      (error: unknown) => {
        // Disk and memory disagree: no stamp until they agree.
        this.#failure = error;
        for (const change of changes) this.#unwritten.add('put' in change ? change.put : change.remove);
        // The store reports it.
        if (isDiskFailure(error)) return;
        this.#deps.log.error({ batch: toHex(this.batchId), err: error }, 'stamp could not be written');
      },
    );
  }

  /** Writes them as in memory; until then no stamp is issued. */
  async #retry(): Promise<void> {
    if (this.#retrying) return;
    this.#retrying = true;
    const keys = [...this.#unwritten];
    try {
      this.#written = this.#deps.state.batch(keys.flatMap((key) => this.#present(key)));
      await this.#written;
      for (const key of keys) {
        this.#unwritten.delete(key);
        this.#uncommitted.delete(key);
      }
      if (this.#unwritten.size === 0) this.#failure = undefined;
    } catch (error) {
      this.#failure = error;
    } finally {
      this.#retrying = false;
    }
  }

  #present(key: string): KeyValueChange[] {
    if (key === this.#keys.utilization) return [{ put: key, value: uint32(this.#utilization) }];
    if (key === this.#keys.displaced) return [{ put: key, value: uint32(this.#displaced) }];
    const { count } = this.#keys;
    const value = key.startsWith(count)
      ? this.#countValue(Number.parseInt(key.slice(count.length), 16))
      : this.#uncommitted.get(key);
    return value === undefined ? [] : [{ put: key, value }];
  }

  #loadedCounts(): Uint32Array {
    if (this.#counts !== undefined) return this.#counts;
    const counts = new Uint32Array(2 ** this.#record.bucketDepth);
    for (const [key, count] of this.#deps.state.entries(this.#keys.count)) {
      const bucket = Number.parseInt(key.slice(-BUCKET_DIGITS), 16);
      counts[bucket] = readUint32(count);
      if (count.length > COUNT_SIZE) this.#marks.set(bucket, readUint32(count.subarray(COUNT_SIZE)));
    }
    this.#counts = counts;
    return counts;
  }

  #countKey(bucket: number): string {
    return this.#keys.count + bucket.toString(16).padStart(BUCKET_DIGITS, '0');
  }
}

function digestOf(
  { address }: Stampable,
  { batchId, index, timestamp }: Omit<Stamp, 'signature'>,
): Uint8Array {
  return stampDigest(address, batchId, index, timestamp);
}

function uint32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  return bytes;
}

function readUint32(bytes: Uint8Array | undefined): number {
  return bytes === undefined ? 0 : new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0);
}

/** @param slot index and timestamp @returns nanoseconds since 1970 */
function timestampOf(slot: Uint8Array): bigint {
  return new DataView(slot.buffer, slot.byteOffset + INDEX_SIZE, TIMESTAMP_SIZE).getBigUint64(0);
}
