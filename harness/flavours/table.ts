import { beeFlavour } from './bee.ts';
import { declaredFlavour } from './declared/declared.ts';
import type { FlavourInput } from './declared/input.ts';
import { dishonestFlavour } from './dishonest.ts';
import type { Flavour, FlavourName, OwnFlavour } from './flavour.ts';
import { svcFlavour } from './svc.ts';

export const FLAVOURS: Readonly<Record<OwnFlavour, Flavour>> = {
  svc: svcFlavour,
  bee: beeFlavour,
  dishonest: dishonestFlavour,
};

/** What says which program a node is. */
export interface Flavoured {
  readonly flavour: FlavourName;
  /** Its flavour file; absent: this package knows it. */
  readonly declared?: FlavourInput | undefined;
}

export function flavourOf({ flavour, declared }: Flavoured): Flavour {
  if (declared?.name === flavour) return declaredFlavour(declared);
  const own = (FLAVOURS as Readonly<Record<string, Flavour>>)[flavour];
  if (own === undefined) throw new TypeError(`flavour '${flavour}' has no file`);
  return own;
}
