/** Single-owner chunks near a node, as official clients find their owners. `data-formats.md` 8.2. */
import { createSigner, proximityOrder, type Signer, socAddress } from 'svcnet/scenario';

const FIRST_KEY = 0xb33;
const KEYS = 0xffff;
const KEY_SIZE = 32;

const owners: Uint8Array[] = [];

/**
 * The first key whose chunk under `id` shares at least `proximity` leading bits with the overlay. Vectors:
 * test/vectors/messaging.json.
 * @param overlay,id 32 bytes each @throws RangeError when none does; one in 2^proximity is expected to
 */
export function ownerNear(overlay: Uint8Array, id: Uint8Array, proximity: number): Signer {
  for (let index = 0; index < KEYS; index++) {
    const address = (owners[index] ??= signerOf(index).address);
    if (proximityOrder(socAddress(id, address), overlay) >= proximity) return signerOf(index);
  }
  throw new RangeError(`none of ${KEYS} keys is within ${proximity} bits of the node`);
}

function signerOf(index: number): Signer {
  const privateKey = Buffer.alloc(KEY_SIZE);
  privateKey.writeUInt32BE(FIRST_KEY + index, KEY_SIZE - 4);
  return createSigner(privateKey);
}
