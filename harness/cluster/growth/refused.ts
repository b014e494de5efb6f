import { HarnessError } from '../../base/errors.ts';
import type { Driver } from '../../places/driver.ts';
import { DRIVER_FACTS } from '../../places/facts.ts';
import { hasPublicNode, isEmbeddable } from '../plan/facts.ts';
import type { Definition } from '../plan/schema.ts';

export function expectElastic(
  action: string,
  { name, definition, driver }: { name: string; definition: Definition; driver: Driver },
): void {
  const { owned } = DRIVER_FACTS[driver.name];
  const refuse = (why: string, hint: string) => {
    throw new HarnessError('GROWTH_REFUSED', `cannot ${action} cluster '${name}': ${why}`, { hint });
  };
  if (!owned) refuse('it was not started here', 'Whatever runs it adds and removes its nodes.');
  if (definition.topology !== 'mesh') {
    refuse(
      'its topology names the links of all nodes',
      'Start one whose nodes choose their peers: topology: mesh',
    );
  }
}

export function refusal(action: string, why: string, options: { readonly hint?: string } = {}): HarnessError {
  return new HarnessError('GROWTH_REFUSED', `${action}: ${why}`, options);
}

export interface ActiveFault {
  readonly id: string;
  readonly kind: string;
  readonly targets: readonly string[];
}

/** A fault must end on the node on which it began. @throws HarnessError `GROWTH_REFUSED` */
export function expectNoFault(
  action: string,
  { name }: { readonly name: string },
  { faults, cluster }: { readonly faults: readonly ActiveFault[]; readonly cluster: string },
): void {
  const fault = faults.find(({ targets }) => targets.includes(name));
  if (fault === undefined) return;
  throw refusal(action, `${fault.id} is active on ${name}`, {
    hint: `End it first: svcnet heal ${fault.id} --name ${cluster}`,
  });
}

/**
 * New nodes must fit what holds for all.
 * @param action `add` or `upgrade` @throws HarnessError `GROWTH_REFUSED`
 */
export function expectSameKind(action: string, before: Definition, grown: Definition): void {
  if (hasPublicNode(grown) && !hasPublicNode(before)) {
    const flavour = grown.nodes.at(-1)?.flavour;
    throw refusal(
      action,
      `a node of flavour ${flavour} needs a chain that runs in real time, and this cluster started without one`,
      {
        hint: `What all its nodes share is settled at the start. Start a cluster with such a node: svcnet up --with ${flavour}=1`.concat(
          flavour === 'bee'
            ? ''
            : '\nA program that takes credit and timing from options needs none, if its flavour file says publicConstants: false.',
        ),
      },
    );
  }
  const hasBoot = ({ nodes }: Definition) => nodes.some(({ mode }) => mode === 'boot');
  if (hasBoot(grown) && !hasBoot(before)) {
    throw new HarnessError(
      'GROWTH_REFUSED',
      `${action}: the nodes of this cluster know no boot node, so none would ask a new one for peers`,
      { hint: 'Start a cluster with one, in a cluster file: nodes: [{ mode: boot }, { count: 4 }]' },
    );
  }
  if (isEmbeddable(before) && !isEmbeddable(grown) && DRIVER_FACTS[before.driver].shared) {
    throw new HarnessError(
      'GROWTH_REFUSED',
      `${action}: the nodes of this cluster reach each other in the memory of one process, which a process of its own cannot`,
      { hint: 'Start a cluster of processes: svcnet up --driver process' },
    );
  }
}
