import { CodedError } from '../../formats/coded-error.ts';

export type StoreErrorCode =
  | 'DATA_DIR_UNUSABLE'
  | 'DATA_DIR_IN_USE'
  | 'STORE_CLOSED'
  | 'STORE_FULL'
  | 'STORE_CORRUPT'
  | 'STORE_FOREIGN';

export class StoreError extends CodedError<StoreErrorCode> {}

/** The disk takes no writes: no space or quota, read-only, medium errors; LMDB gives the numbers. */
const DISK_FAILURES = new Set<unknown>(['STORE_FULL', 'ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 28, 122, 30, 5]);

/** The write may succeed later. */
export function isDiskFailure(error: unknown): boolean {
  return error instanceof Error && DISK_FAILURES.has((error as { code?: unknown }).code);
}

/** @param cause the system's error */
export function dataDirUnusable(path: string, cause: unknown): StoreError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `cannot keep data in ${path}: expected a folder that this process may read and write, got: ${reason}`;
  return new StoreError('DATA_DIR_UNUSABLE', message, { cause });
}
