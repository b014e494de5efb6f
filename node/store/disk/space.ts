/**
 * While the disk has no room the store keeps nothing more, but serves what it has. A little is left free for records that a
 * node must write: what it owes, what it was paid, what has left.
 */
import type { Clock } from '../../../formats/clock.ts';
import type { Logger } from '../../env/logger.ts';
import type { Backend, Transaction } from '../backend.ts';
import { isDiskFailure, StoreError } from '../errors.ts';

/** Left free for records, bytes. */
const KEPT_FREE = 8 * 2 ** 20;
/** Free bytes before anything is accepted again, so that one chunk does not decide it. */
const ENOUGH = 2 * KEPT_FREE;
/** Pause between queries while all is well. */
const QUERY_MS = 1_000;
/** Pause between queries while the disk is full. */
const RETRY_MS = 2_000;
/** Pause between log lines about other write failures. */
const FAILURE_LOG_MS = 60_000;
/** No space, no quota, a file at its size limit; LMDB's full map. */
const NO_SPACE = new Set<unknown>(['ENOSPC', 'EDQUOT', 'EFBIG', 'MDB_MAP_FULL', 28, 122, 27, -30792]);

export interface DiskSpaceDeps {
  /** Bytes for this process; undefined where that is unknown. */
  readonly available: () => number | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

export class DiskSpace {
  readonly #deps: DiskSpaceDeps;
  #full = false;
  #queryAt = Number.NEGATIVE_INFINITY;
  #timer: Disposable | undefined;
  #closed = false;
  #failureLogAt = Number.NEGATIVE_INFINITY;

  constructor(deps: DiskSpaceDeps) {
    this.#deps = deps;
  }

  isFull(): boolean {
    const now = this.#deps.clock.monotonic();
    if (!this.#full && now >= this.#queryAt) {
      this.#queryAt = now + QUERY_MS;
      if ((this.#deps.available() ?? Number.POSITIVE_INFINITY) < KEPT_FREE) this.#enter();
    }
    return this.#full;
  }

  /** Call it before keeping anything. @throws StoreError STORE_FULL */
  expect(): void {
    if (this.isFull()) throw storeFull();
  }

  /** Errors for lack of room get their own code. */
  watching(backend: Backend): Backend {
    const failed = (error: unknown): never => {
      if (!meansNoSpace(error) && !(isCutShort(error) && (this.#full || this.#isShort()))) {
        if (isDiskFailure(error)) this.#noteFailure(error as Error);
        throw error;
      }
      this.#enter();
      throw storeFull(error);
    };
    return {
      slots: backend.slots,
      get: (table, key) => backend.get(table, key),
      has: (table, key) => backend.has(table, key),
      scan: (table, from, to, limit) => backend.scan(table, from, to, limit),
      last: (table, from, to) => backend.last(table, from, to),
      available: () => backend.available(),
      change: <T>(change: (tx: Transaction) => T) => backend.change(change).catch(failed),
      close: () => {
        this.#closed = true;
        this.#timer?.[Symbol.dispose]();
        return backend.close();
      },
    };
  }

  #isShort(): boolean {
    return (this.#deps.available() ?? Number.POSITIVE_INFINITY) < ENOUGH;
  }

  #enter(): void {
    if (this.#full || this.#closed) return;
    this.#full = true;
    const bytes = this.#deps.available();
    this.#deps.log.error({ bytes }, 'disk is full: nothing is stored until it has space again');
    this.#queryLater();
  }

  #noteFailure({ message: reason }: Error): void {
    const now = this.#deps.clock.monotonic();
    if (now < this.#failureLogAt) return;
    this.#failureLogAt = now + FAILURE_LOG_MS;
    this.#deps.log.error({ reason }, 'disk fails: what cannot be written is refused');
  }

  #queryLater(): void {
    this.#timer = this.#deps.clock.timer(RETRY_MS, () => {
      if (this.#isShort()) {
        this.#queryLater();
        return;
      }
      this.#full = false;
      this.#deps.log.info('disk has space again');
    });
  }
}

function storeFull(cause?: unknown): StoreError {
  const message = 'the disk is full, the node only reads until there is space again';
  return new StoreError('STORE_FULL', message, { cause });
}

/** The last write before a full disk is partial, which LMDB reports as a medium error. */
function isCutShort(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === 5;
}

function meansNoSpace(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return NO_SPACE.has((error as { code?: unknown }).code) || /No space left|MDB_MAP_FULL/.test(error.message);
}
