/** Our own node with behaviours that honest nodes must withstand. */
import type { Flavour } from './flavour.ts';
import { svcFlavour } from './svc.ts';

/** A boot node has nothing to be dishonest about. */
export const dishonestFlavour = {
  ...svcFlavour,
  name: 'dishonest',
  modes: ['full', 'light'],
} satisfies Flavour;
