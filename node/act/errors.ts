import { CodedError } from '../../formats/coded-error.ts';

/**
 * `ENTRY_NOT_FOUND`: the history is empty, or the access list holds no key for the reader. `TIMESTAMP_INVALID`: zero
 * or negative. `HISTORY_MALFORMED`, `ACT_MALFORMED`, `GRANTEES_MALFORMED`: content of another kind. `GRANTEES_EMPTY`:
 * no one to revoke. `GRANTEES_TOO_MANY`: more than a list may hold. `GRANTEES_UNAVAILABLE`: there is no such list, or
 * it belongs to another publisher. `HISTORY_BUSY`: no second was free for another entry.
 */
export type ActErrorCode =
  | 'ENTRY_NOT_FOUND'
  | 'TIMESTAMP_INVALID'
  | 'HISTORY_MALFORMED'
  | 'HISTORY_BUSY'
  | 'ACT_MALFORMED'
  | 'GRANTEES_EMPTY'
  | 'GRANTEES_MALFORMED'
  | 'GRANTEES_TOO_MANY'
  | 'GRANTEES_UNAVAILABLE';

export class ActError extends CodedError<ActErrorCode> {}
