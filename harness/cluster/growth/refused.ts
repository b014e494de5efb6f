/** What keeps a cluster from getting more nodes, or from losing one for good: said before anything changes. */
import { HarnessError } from '../../base/errors.ts';
import type { Driver } from '../../places/driver.ts';
import { DRIVER_FACTS } from '../../places/facts.ts';
import { hasPublicNode, isEmbeddable } from '../plan/facts.ts';
import type { Definition } from '../plan/schema.ts';

/** @param action such as `add nodes to` @throws HarnessError `GROWTH_REFUSED` */
export function expectElastic(
  action: string,
  { name, definition, driver }: { name: string; definition: Definition; driver: Driver },
): void {
  const { owned, images } = DRIVER_FACTS[driver.name];
  const refuse = (why: string, hint: string) => {
    throw new HarnessError('GROWTH_REFUSED', `cannot ${action} cluster '${name}': ${why}`, { hint });
  };
  if (!owned) refuse('it was not started by svcnet', 'Whatever runs it adds and removes its nodes.');
  if (images) {
    refuse('its nodes are containers', 'Start a cluster of processes: svcnet up --driver process');
  }
  if (definition.topology !== 'mesh') {
    refuse(
      'its topology names the links of all nodes',
      'Start one whose nodes choose their peers: topology: mesh',
    );
  }
  if (driver.proxied === true) {
    refuse(
      'its link proxy knows the nodes of the start alone',
      'Start one without link faults, or with driver embedded, whose links need no proxy.',
    );
  }
}

/** What holds for all nodes of a cluster must hold with the new ones. @throws HarnessError `GROWTH_REFUSED` */
export function expectSameKind(before: Definition, grown: Definition): void {
  if (hasPublicNode(grown) && !hasPublicNode(before)) {
    throw new HarnessError(
      'GROWTH_REFUSED',
      'add: a Bee needs a chain that runs in real time, and this cluster started without one',
      { hint: 'Start a cluster with a Bee: svcnet up --with bee=1' },
    );
  }
  const hasBoot = ({ nodes }: Definition) => nodes.some(({ mode }) => mode === 'boot');
  if (hasBoot(grown) && !hasBoot(before)) {
    throw new HarnessError(
      'GROWTH_REFUSED',
      'add: the nodes of this cluster know no boot node, so none would ask a new one for peers',
      { hint: 'Start a cluster with one, in a cluster file: nodes: [{ mode: boot }, { count: 4 }]' },
    );
  }
  if (isEmbeddable(before) && !isEmbeddable(grown) && DRIVER_FACTS[before.driver].shared) {
    throw new HarnessError(
      'GROWTH_REFUSED',
      `add: the nodes of this cluster reach each other in the memory of one process, which a process of its own cannot`,
      { hint: 'Start a cluster of processes: svcnet up --driver process' },
    );
  }
}
