import { CodedError } from '../../formats/coded-error.ts';

/**
 * `ENTRY_NOT_FOUND`: an empty history, or no key for the reader. `TIMESTAMP_INVALID`: zero or negative. `HISTORY_MALFORMED`,
 * `ACT_MALFORMED`, `GRANTEES_MALFORMED`: content of another kind. `GRANTEES_EMPTY`: no one to revoke.
 * `GRANTEES_UNAVAILABLE`: no such list, or another publisher's. `HISTORY_BUSY`: no free second.
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
