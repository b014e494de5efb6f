import { expect, test } from 'vitest';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import { overlayAddress } from '../../../../formats/crypto/overlay.ts';
import vectors from '../../../vectors/keys-and-cheques.json' with { type: 'json' };

interface Case {
  readonly name: string;
  readonly input: { readonly ethAddress?: string; readonly networkId?: number; readonly nonce?: string };
  readonly expected: { readonly overlay?: string; readonly ethAddress?: string };
}

const cases = (vectors.cases as Case[]).filter(({ expected }) => expected.overlay !== undefined);

test.each(cases)('$name', ({ input, expected }) => {
  const ethereum = fromHex((input.ethAddress ?? expected.ethAddress)!);
  const nonce = input.nonce === '00*32' ? new Uint8Array(32) : fromHex(input.nonce!);
  expect(toHex(overlayAddress(ethereum, BigInt(input.networkId!), nonce))).toBe(expected.overlay);
});
