import { CodedError } from '../../formats/coded-error.ts';

export type PssErrorCode = 'MESSAGE_TOO_LONG' | 'TARGETS_EMPTY' | 'TARGETS_UNEQUAL' | 'NONCES_EXHAUSTED';

export class PssError extends CodedError<PssErrorCode> {}
