/** The owner of a single-owner chunk or of a feed, as a request names it. */
import { OWNER_SIZE } from '../../../formats/chunk/soc.ts';
import { ApiError } from '../errors.ts';

/** @throws ApiError `SOC_OWNER_INVALID` for an owner that is no chain address */
export function requireOwner(owner: Uint8Array): void {
  if (owner.length !== OWNER_SIZE) throw new ApiError('SOC_OWNER_INVALID');
}
