import type { FlavourInput } from '../../flavours/declared/input.ts';
import type { FlavourName } from '../../flavours/flavour.ts';
import { parseDefinition } from '../plan/definition.ts';
import { groupsInUse } from '../plan/facts.ts';
import type { Definition } from '../plan/schema.ts';
import { refusal } from './refused.ts';

/**
 * Replaces an unused flavour of that name.
 * @param flavour one that the cluster knows, or what `readFlavour` returns
 * @param action `add` or `upgrade`
 * @throws HarnessError `DEFINITION_INVALID`, `GROWTH_REFUSED` when nodes run by another file of that name
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
  if (JSON.stringify(namesake) === JSON.stringify(given)) return { definition, flavour: name };
  if (groupsInUse(definition).some(({ group }) => group.flavour === name)) {
    throw refusal(action, `the cluster has another flavour file for '${name}'`, {
      hint: 'Give the new one another name.',
    });
  }
  const others = flavours.filter((known) => known !== namesake);
  return { definition: { ...definition, flavours: [...others, given] }, flavour: name };
}
