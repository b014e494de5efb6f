import { beeFlavour } from './bee.ts';
import { declaredFlavour } from './declared/declared.ts';
import type { FlavourInput } from './declared/input.ts';
import type { Flavour, FlavourName, OwnFlavour } from './flavour.ts';
import { svcFlavour } from './svc.ts';
import { svcBinaryFlavour } from './svc-binary.ts';

const dishonestFlavour: Flavour = {
  ...svcFlavour,
  name: 'dishonest',
  modes: ['full', 'light'],
  compile: () => svcFlavour.compile(true),
};

export const FLAVOURS: Readonly<Record<OwnFlavour, Flavour>> = {
  svc: svcFlavour,
  bee: beeFlavour,
  dishonest: dishonestFlavour,
};

export interface Flavoured {
  readonly flavour: FlavourName;
  readonly declared?: FlavourInput | undefined;
  readonly binary?: string | undefined;
}

export function flavourOf({ flavour, declared, binary }: Flavoured): Flavour {
  if (flavour === 'svc' && binary !== undefined) return svcBinaryFlavour;
  if (declared?.name === flavour) return declaredFlavour(declared);
  const own = (FLAVOURS as Readonly<Record<string, Flavour>>)[flavour];
  if (own === undefined) throw new TypeError(`flavour '${flavour}' has no file`);
  return own;
}
