import { beeFlavour } from './bee.ts';
import { dishonestFlavour } from './dishonest.ts';
import type { Flavour, FlavourName } from './flavour.ts';
import { svcFlavour } from './svc.ts';

export const FLAVOURS: Readonly<Record<FlavourName, Flavour>> = {
  svc: svcFlavour,
  bee: beeFlavour,
  dishonest: dishonestFlavour,
};
