/** What follows from a definition as a whole. */

import type { Credit } from '../flavours/profiles.ts';
import { FLAVOURS } from '../flavours/table.ts';
import type { Definition } from './schema.ts';

/** What the definition says, or else what suits its profile and its nodes. */
export function creditOf(definition: Definition): Credit {
  const { credit, profile } = definition;
  return credit ?? (profile === 'production' || hasPublicNode(definition) ? 'network' : 'high');
}

/** Whether a node of the public network's constants takes part: real time for the chain, its credit limits for all. */
export function hasPublicNode(definition: Definition): boolean {
  return definition.nodes.some(({ flavour }) => FLAVOURS[flavour].public);
}

export function nodeCount(definition: Definition): number {
  return definition.nodes.reduce((sum, { count }) => sum + count, 0);
}

/** What the definition says, or else what suits its driver. */
export function storeOf({ driver, store }: Pick<Definition, 'driver' | 'store'>): 'memory' | 'disk' {
  return store ?? (driver === 'embedded' ? 'memory' : 'disk');
}

/** Whether all nodes could share one process, and so a network in memory. */
export function isEmbeddable({ nodes }: Pick<Definition, 'nodes'>): boolean {
  return nodes.every(({ flavour }) => FLAVOURS[flavour].embedded !== undefined);
}
