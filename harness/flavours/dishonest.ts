/** Our own node, with behaviours that the network has to withstand, among our honest nodes or among Bees. */
import type { Flavour } from './flavour.ts';
import { svcFlavour } from './svc.ts';

/** A boot node has nothing to be dishonest about. */
export const dishonestFlavour = {
  ...svcFlavour,
  name: 'dishonest',
  modes: ['full', 'light'],
} satisfies Flavour;
