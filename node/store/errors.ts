export type StoreErrorCode =
  | 'DATA_DIR_UNUSABLE'
  | 'DATA_DIR_IN_USE'
  | 'STORE_CLOSED'
  | 'STORE_FULL'
  | 'STORE_CORRUPT'
  | 'STORE_FOREIGN';

export class StoreError extends Error {
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StoreError';
    this.code = code;
  }
}

/** The folder can not be used; `cause` is what the system said. */
export function dataDirUnusable(path: string, cause: unknown): StoreError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `cannot keep data in ${path}: expected a folder that this process may read and write, got: ${reason}`;
  return new StoreError('DATA_DIR_UNUSABLE', message, { cause });
}
