import { CodedError } from '../../formats/coded-error.ts';

/** The first three: no manifest node. `MANIFEST_TOO_LARGE`: more nodes than are read. The others: the format has no room. */
export type ManifestErrorCode =
  | 'NODE_TOO_SHORT'
  | 'VERSION_UNKNOWN'
  | 'NODE_MALFORMED'
  | 'ENTRY_SIZE_INVALID'
  | 'METADATA_TOO_LARGE'
  | 'MANIFEST_TOO_LARGE'
  | 'PATH_TOO_LONG';

export class ManifestError extends CodedError<ManifestErrorCode> {}
