import { makeCac } from '../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { signSoc, socParts } from '../../../formats/chunk/soc.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';

export const OWNER = createSigner(new Uint8Array(32).fill(9));

export interface MadeSoc {
  readonly chunk: Chunk;
  readonly id: string;
  readonly signature: string;
  readonly wrapped: Buffer;
  readonly url: string;
}

/** @param content payload with its own length as span, or a whole wrapped chunk @param id 32 bytes */
export function socOf(content: string | Chunk, id: Uint8Array = new Uint8Array(32).fill(1)): MadeSoc {
  const payload = typeof content === 'string' ? Buffer.from(content) : Buffer.alloc(0);
  const wrapped = typeof content === 'string' ? makeCac(BigInt(payload.length), payload) : content;
  const chunk = signSoc(id, wrapped.data, OWNER);
  const signature = toHex(socParts(chunk.data).signature);
  return {
    chunk,
    id: toHex(id),
    signature,
    wrapped: Buffer.from(wrapped.data),
    url: `/soc/${toHex(OWNER.address)}/${toHex(id)}?sig=${signature}`,
  };
}
