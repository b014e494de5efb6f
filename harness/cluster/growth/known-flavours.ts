/** Flavours that a cluster gets with nodes that join or are upgraded. */
import type { FlavourInput } from '../../flavours/declared/input.ts';
import type { FlavourName } from '../../flavours/flavour.ts';
import { parseDefinition } from '../plan/definition.ts';
import type { Definition } from '../plan/schema.ts';
import { refusal } from './refused.ts';

/**
 * The definition with this flavour, and its name.
 * @param flavour one that the cluster knows, or what `readFlavour` returns
 * @param action `add` or `upgrade`
 * @throws HarnessError `DEFINITION_INVALID`, `GROWTH_REFUSED` when the cluster has another file of that name
 */
export function withFlavour(
  definition: Definition,
  flavour: FlavourName | FlavourInput | undefined,
  action: string,
): { readonly definition: Definition; readonly flavour: FlavourName | undefined } {
  if (typeof flavour !== 'object') return { definition, flavour };
  const { name } = flavour;
  const { flavours } = definition;
  const [given] = parseDefinition({ flavours: [flavour] }, action).flavours;
  const namesake = flavours.find((known) => known.name === name);
  if (given === undefined) throw new TypeError('a flavour was given');
  if (namesake === undefined) {
    return { definition: { ...definition, flavours: [...flavours, given] }, flavour: name };
  }
  if (JSON.stringify(namesake) === JSON.stringify(given)) return { definition, flavour: name };
  throw refusal(action, `the cluster has another flavour file for '${name}'`, {
    hint: 'Give the new one another name.',
  });
}
