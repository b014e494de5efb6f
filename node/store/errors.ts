import { CodedError } from '../../formats/coded-error.ts';

export type StoreErrorCode =
  | 'DATA_DIR_UNUSABLE'
  | 'DATA_DIR_IN_USE'
  | 'STORE_CLOSED'
  | 'STORE_FULL'
  | 'STORE_CORRUPT'
  | 'STORE_FOREIGN';

export class StoreError extends CodedError<StoreErrorCode> {}

/**
 * A system's codes for a disk that takes no writes: no space or quota, read-only, errors of the medium; LMDB gives
 * the numbers.
 */
const DISK_FAILURES = new Set<unknown>(['STORE_FULL', 'ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 28, 122, 30, 5]);

/** Whether a write failed by the disk and may succeed later. */
export function isDiskFailure(error: unknown): boolean {
  return error instanceof Error && DISK_FAILURES.has((error as { code?: unknown }).code);
}

/** The folder cannot be used; `cause` is the system's error. */
export function dataDirUnusable(path: string, cause: unknown): StoreError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `cannot keep data in ${path}: expected a folder that this process may read and write, got: ${reason}`;
  return new StoreError('DATA_DIR_UNUSABLE', message, { cause });
}
