import { expect, test } from 'vitest';
import { socAddress } from '../../../formats/chunk/soc.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { ownerNear } from '../../../scenarios/steps/gsoc-owner.ts';
import vectors from '../../vectors/messaging.json' with { type: 'json' };

interface Case {
  readonly name: string;
  readonly input: { overlay: string; identifier: string; proximity: number };
  readonly expected: { owner: string; socAddress: string };
}

const cases = (vectors.cases as unknown as Case[]).filter(({ name }) => name.startsWith('GSOC'));

test.each(cases)('$name', ({ input, expected }) => {
  const id = fromHex(input.identifier);
  const owner = ownerNear(fromHex(input.overlay), id, input.proximity);
  expect(toHex(owner.address)).toBe(expected.owner);
  expect(toHex(socAddress(id, owner.address))).toBe(expected.socAddress);
});
