/**
 * Chunks waiting to be pushed (`node-behaviour.md` 2.2), numbered in upload order. A block of numbers belongs to one
 * session, so that the pusher skips an open session and a rollback finds its pushes. A marker in `openSessions` that is
 * found at the start tells of a crash.
 */
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { decodeStamp, encodeStamp, type Stamp } from '../../../formats/chunk/stamp.ts';
import { equalBytes, toHex } from '../../../formats/crypto/hex.ts';
import type { Logger } from '../../env/logger.ts';
import type { Backend, TableReader, Transaction } from '../backend.ts';
import type { ChunkTable } from '../chunk-table.ts';
import { StoreError } from '../errors.ts';
import type { PendingPush, UploadStore } from '../ports.ts';
import {
  BLOCK_SIZE,
  blockOf,
  decodeNumber,
  decodeNumbers,
  END,
  encodeNumber,
  encodeNumbers,
  join,
  NUMBER_SIZE,
  START,
} from '../records.ts';

/** So that "after 0" means all. */
const FIRST_BLOCK = 1;
const ROLLBACK_STEP = 256;
const BLOCK_PAGE = 64;
const ADDRESS_SIZE = 32;
const STAMP_OFFSET = ADDRESS_SIZE + NUMBER_SIZE;
const TOTALS = Buffer.from('uploadTotals');
const NONE = new Uint8Array();

/** Previous versions left pushes without blocks on a failing disk. Each becomes a closed session. */
export async function enterBlocks(backend: Backend): Promise<void> {
  for (let from: Uint8Array = START; ; ) {
    const [first] = backend.scan('pushes', from, END, 1);
    if (first === undefined) return;
    const block = blockOf(decodeNumber(first[0]));
    const key = encodeNumber(block);
    if (!backend.has('blocks', key)) await backend.change((tx) => tx.put('blocks', key, key));
    from = encodeNumber((block + 1) * BLOCK_SIZE);
  }
}

export function unusedBlock(reader: TableReader): number {
  const push = reader.last('pushes', START, END);
  // A half undone session may have only its marker.
  const used = [reader.last('blocks', START, END), reader.last('openSessions', START, END)];
  const blocks = used.flatMap((key) => (key === undefined ? [] : [decodeNumber(key) + 1]));
  if (push !== undefined) blocks.push(blockOf(decodeNumber(push)) + 1);
  return Math.max(FIRST_BLOCK, ...blocks);
}

type Totals = ReturnType<UploadStore['totals']>;

/** A session is numbered by its first block. */
export interface PushPlace {
  readonly session: number;
  readonly sequence: number;
}

interface PushRecord {
  readonly address: Uint8Array;
  readonly tagUid: number;
  readonly stamp: Stamp;
}

export class PushQueue {
  readonly #backend: Backend;
  readonly #chunks: ChunkTable;
  readonly #log: Logger;
  #nextBlock: number;

  constructor(deps: { backend: Backend; chunks: ChunkTable; log: Logger }) {
    const { backend, chunks, log } = deps;
    this.#backend = backend;
    this.#chunks = chunks;
    this.#log = log;
    this.#nextBlock = unusedBlock(backend);
  }

  nextBlock(): number {
    this.#nextBlock += 1;
    return this.#nextBlock - 1;
  }

  /** The first push written opens block and session. Not the lowest: its write may fail alone. */
  open(tx: Transaction, { session, sequence }: PushPlace): void {
    const block = encodeNumber(blockOf(sequence));
    if (tx.has('blocks', block)) return;
    tx.put('openSessions', encodeNumber(session), NONE);
    tx.put('blocks', block, encodeNumber(session));
  }

  /**
   * @returns false when the chunk already waits under that batch; then nothing is stored, except another single-owner chunk
   */
  add(tx: Transaction, place: PushPlace, push: Pick<PendingPush, 'tagUid' | 'chunk' | 'stamp'>): boolean {
    const { chunk, stamp, tagUid } = push;
    const key = join(chunk.address, stamp.batchId);
    const waiting = decodeNumbers(tx.get('uploads', key)).filter((sequence) => isPushOf(tx, sequence, key));
    const lasting = waiting.find((sequence) => !this.#mayBeUndone(tx, sequence, place.session));
    if (lasting !== undefined) {
      if (!this.#supersede(tx, encodeNumber(lasting), push)) this.#chunks.restore(tx, chunk);
      return false;
    }
    const sequence = encodeNumber(place.sequence);
    tx.put('uploads', key, encodeNumbers([...waiting, place.sequence]));
    tx.put('pushes', sequence, join(chunk.address, encodeNumber(tagUid), encodeStamp(stamp)));
    this.#chunks.retainChosen(tx, chunk, { by: 'upload', stamp });
    this.#count(tx, { uploaded: 0, synced: 0, pending: 1 });
    return true;
  }

  /** A single-owner chunk replaces the waiting one, whose tag goes on counting it; not under the same or an older stamp. */
  #supersede(
    tx: Transaction,
    sequence: Uint8Array,
    { chunk, stamp }: Pick<PendingPush, 'chunk' | 'stamp'>,
  ): boolean {
    const record = tx.get('pushes', sequence);
    if (record === undefined || isUnder(record, stamp)) return false;
    const { tagUid } = decodePush(record);
    if (!this.#chunks.supersede(tx, chunk, { by: 'upload', stamp })) return false;
    tx.put('pushes', sequence, join(chunk.address, encodeNumber(tagUid), encodeStamp(stamp)));
    return true;
  }

  close(tx: Transaction, session: number, uploaded: number): void {
    tx.remove('openSessions', encodeNumber(session));
    this.#count(tx, { uploaded, synced: 0, pending: 0 });
  }

  pending(after: number, limit: number): PendingPush[] {
    const found: PendingPush[] = [];
    for (const [block, session] of this.#blocksFrom(blockOf(after + 1))) {
      if (this.#isOpen(this.#backend, session)) continue;
      const first = Math.max(after + 1, block * BLOCK_SIZE);
      const pushes = this.#scan(this.#backend, first, (block + 1) * BLOCK_SIZE, limit - found.length);
      if (pushes.length === 0 && first === block * BLOCK_SIZE) this.#forgetBlock(block);
      for (const [sequence, record] of pushes) found.push(this.#waiting(sequence, record));
      if (found.length === limit) break;
    }
    return found;
  }

  /** False also if another single-owner chunk took its place. */
  has(reader: TableReader, push: PendingPush): boolean {
    const record = reader.get('pushes', encodeNumber(push.sequence));
    return record !== undefined && isUnder(record, push.stamp);
  }

  /** @returns `gone` when done already, `replaced` when another single-owner chunk, still to be pushed, took its place */
  finish(tx: Transaction, push: PendingPush, synced: number): 'finished' | 'gone' | 'replaced' {
    const record = tx.get('pushes', encodeNumber(push.sequence));
    if (record === undefined) return 'gone';
    if (!isUnder(record, push.stamp)) return 'replaced';
    this.#remove(tx, push.sequence, decodePush(record));
    this.#count(tx, { uploaded: 0, synced, pending: -1 });
    return 'finished';
  }

  totals(): Totals {
    return totalsOf(this.#backend);
  }

  openSessions(): number[] {
    return this.#backend
      .scan('openSessions', START, END, Number.MAX_SAFE_INTEGER)
      .map(([session]) => decodeNumber(session));
  }

  /**
   * Undoes a session in steps. The marker goes last, so that the next start continues after a crash. A replaced single-owner
   * chunk keeps its new bytes, and one that was waiting its new stamp.
   */
  async rollback(session: number): Promise<void> {
    if (!this.#isOpen(this.#backend, session)) return;
    for (const [block, owner] of this.#blocksFrom(session)) {
      if (owner !== session) continue;
      while ((await this.#backend.change((tx) => this.#rollbackStep(tx, block))) === ROLLBACK_STEP);
      await this.#backend.change((tx) => tx.remove('blocks', encodeNumber(block)));
    }
    await this.#backend.change((tx) => tx.remove('openSessions', encodeNumber(session)));
  }

  #rollbackStep(tx: Transaction, block: number): number {
    const pushes = this.#scan(tx, block * BLOCK_SIZE, (block + 1) * BLOCK_SIZE, ROLLBACK_STEP);
    for (const [sequence, record] of pushes) this.#remove(tx, sequence, record);
    this.#count(tx, { uploaded: 0, synced: 0, pending: -pushes.length });
    return pushes.length;
  }

  /** Another open session's rollback would lose the chunk. */
  #mayBeUndone(tx: Transaction, sequence: number, ownSession: number): boolean {
    const session = tx.get('blocks', encodeNumber(blockOf(sequence)));
    // Of a closed one whose block is not entered yet.
    if (session === undefined) return false;
    return decodeNumber(session) !== ownSession && this.#isOpen(tx, decodeNumber(session));
  }

  #isOpen(reader: TableReader, session: number): boolean {
    return reader.has('openSessions', encodeNumber(session));
  }

  *#blocksFrom(block: number): Generator<readonly [block: number, session: number]> {
    let from = block;
    for (;;) {
      const page = this.#backend.scan('blocks', encodeNumber(from), END, BLOCK_PAGE);
      for (const [key, session] of page) yield [decodeNumber(key), decodeNumber(session)];
      if (page.length < BLOCK_PAGE) return;
      from = decodeNumber(page[BLOCK_PAGE - 1]![0]) + 1;
    }
  }

  #scan(
    reader: TableReader,
    from: number,
    to: number,
    limit: number,
  ): [sequence: number, record: PushRecord][] {
    return reader
      .scan('pushes', encodeNumber(from), encodeNumber(to), limit)
      .map(([sequence, record]) => [decodeNumber(sequence), decodePush(record)]);
  }

  #waiting(sequence: number, { address, tagUid, stamp }: PushRecord): PendingPush {
    let loaded: Chunk | undefined;
    const load = () => (loaded ??= this.#chunks.get(address));
    return {
      sequence,
      tagUid,
      address,
      stamp,
      get chunk() {
        const chunk = load();
        if (chunk !== undefined) return chunk;
        throw new StoreError(
          'STORE_CORRUPT',
          `chunk ${toHex(address)} waits to be pushed but cannot be read`,
        );
      },
      get isReadable() {
        return load() !== undefined;
      },
    };
  }

  #remove(tx: Transaction, sequence: number, { address, stamp }: PushRecord): void {
    tx.remove('pushes', encodeNumber(sequence));
    const key = join(address, stamp.batchId);
    const others = decodeNumbers(tx.get('uploads', key)).filter((other) => other !== sequence);
    if (others.length === 0) tx.remove('uploads', key);
    else tx.put('uploads', key, encodeNumbers(others));
    this.#chunks.release(tx, address);
  }

  #count(tx: Transaction, change: Totals): void {
    const { uploaded, synced, pending } = totalsOf(tx);
    const totals = [uploaded + change.uploaded, synced + change.synced, pending + change.pending];
    tx.put('meta', TOTALS, encodeNumbers(totals));
  }

  #forgetBlock(block: number): void {
    const forget = (tx: Transaction) => {
      const rest = tx.scan(
        'pushes',
        encodeNumber(block * BLOCK_SIZE),
        encodeNumber((block + 1) * BLOCK_SIZE),
        1,
      );
      if (rest.length === 0) tx.remove('blocks', encodeNumber(block));
    };
    this.#backend
      .change(forget)
      .catch((error: unknown) =>
        this.#log.warn({ err: error, block }, 'block of the push queue could not be removed'),
      );
  }
}

function totalsOf(reader: TableReader): Totals {
  const record = reader.get('meta', TOTALS);
  if (record === undefined) return { uploaded: 0, synced: 0, pending: 0 };
  return {
    uploaded: decodeNumber(record),
    synced: decodeNumber(record, NUMBER_SIZE),
    pending: decodeNumber(record, 2 * NUMBER_SIZE),
  };
}

/** False where a previous version used a number twice. @param key of `uploads` */
function isPushOf(reader: TableReader, sequence: number, key: Uint8Array): boolean {
  const record = reader.get('pushes', encodeNumber(sequence));
  if (record === undefined) return false;
  const { address, stamp } = decodePush(record);
  return equalBytes(join(address, stamp.batchId), key);
}

function isUnder(record: Uint8Array, stamp: Stamp): boolean {
  return equalBytes(record.subarray(STAMP_OFFSET), encodeStamp(stamp));
}

function decodePush(record: Uint8Array): PushRecord {
  return {
    address: record.subarray(0, ADDRESS_SIZE),
    tagUid: decodeNumber(record, ADDRESS_SIZE),
    stamp: decodeStamp(record.subarray(STAMP_OFFSET)),
  };
}
