export type PssErrorCode = 'MESSAGE_TOO_LONG' | 'TARGETS_EMPTY' | 'TARGETS_UNEQUAL' | 'NONCES_EXHAUSTED';

/** A message that cannot be sent. */
export class PssError extends Error {
  readonly code: PssErrorCode;

  constructor(code: PssErrorCode, message: string) {
    super(message);
    this.name = 'PssError';
    this.code = code;
  }
}
