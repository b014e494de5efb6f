import { OWNER_SIZE } from '../../../formats/chunk/soc.ts';
import { ApiError } from '../errors.ts';

/** @throws ApiError `SOC_OWNER_INVALID` unless it is a chain address */
export function requireOwner(owner: Uint8Array): void {
  if (owner.length !== OWNER_SIZE) throw new ApiError('SOC_OWNER_INVALID');
}
