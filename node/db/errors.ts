/** The message names the entry. */
export class ArchiveError extends Error {
  readonly code = 'ARCHIVE_INVALID';

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ArchiveError';
  }
}
