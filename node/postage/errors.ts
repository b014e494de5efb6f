import { CodedError } from '../../formats/coded-error.ts';

type PostageSyncErrorCode =
  | 'SYNC_STALLED'
  | 'CONTRACT_MISSING'
  | 'CONTRACT_PAUSED'
  | 'CHAIN_RESET'
  | 'EVENTS_INCONSISTENT';

/** The node must stop. `node-behaviour.md` 3.1. */
export class PostageSyncError extends CodedError<PostageSyncErrorCode> {}
