import type { EngineName } from '../../../chain/engine/engine.ts';
import type { Credit } from '../../flavours/profiles.ts';
import { flavourOf } from '../../flavours/table.ts';
import { DRIVER_FACTS, type DriverName } from '../../places/facts.ts';
import type { NetworkShape } from '../../places/links/regions.ts';
import type { Definition, NodeGroup } from './schema.ts';

export function creditOf(definition: Definition): Credit {
  const { credit, profile, prepare } = definition;
  const asOnTheNetwork = profile === 'production' || hasPublicNode(definition) || prepare.cheques.length > 0;
  return credit ?? (asOnTheNetwork ? 'network' : 'high');
}

/** A node with the public network's constants: the chain then runs in real time, and all nodes use its credit limits. */
export function hasPublicNode(definition: Definition): boolean {
  return definition.nodes.some((group) => flavourOf(group).public);
}

export function nodeCount(definition: Definition): number {
  return numbersGiven(definition) - (definition.grown?.gone.length ?? 0);
}

export function groupsByNumber({ nodes }: Pick<Definition, 'nodes'>): NodeGroup[] {
  return nodes.flatMap((group) => Array.from({ length: group.count }, () => group));
}

export function numbersGiven({ nodes }: Pick<Definition, 'nodes'>): number {
  return nodes.reduce((sum, { count }) => sum + count, 0);
}

export interface UsedGroup {
  readonly where: string;
  readonly group: NodeGroup;
}

/** Some nodes may have left, or have got another program. */
export function groupsInUse({ nodes, grown, upgraded = {} }: Definition): UsedGroup[] {
  let first = 0;
  const asStarted = nodes.flatMap((group, index): UsedGroup[] => {
    const numbers = Array.from({ length: group.count }, (_, place) => first + place);
    first += group.count;
    const isUsed = numbers.some((number) => !(number in upgraded) && grown?.gone.includes(number) !== true);
    return isUsed ? [{ where: `nodes[${index}]`, group }] : [];
  });
  const changed = Object.entries(upgraded)
    .filter(([number]) => grown?.gone.includes(Number(number)) !== true)
    .map(([number, group]): UsedGroup => ({ where: `node-${number}`, group }));
  return [...asStarted, ...changed];
}

export function storeOf({
  driver,
  store,
}: Pick<Definition, 'store'> & { readonly driver: DriverName }): 'memory' | 'disk' {
  return store ?? (DRIVER_FACTS[driver].shared ? 'memory' : 'disk');
}

export function engineOf({ driver, chain }: Pick<Definition, 'driver' | 'chain'>): EngineName {
  return DRIVER_FACTS[driver].simulated ? 'in-process' : chain.engine;
}

export function networkOf({ network }: Pick<Definition, 'network'>): NetworkShape | undefined {
  if (network === undefined) return undefined;
  const { latency, jitter, regions, bandwidth } = network;
  return { latencyMs: latency, jitterMs: jitter, regions, bytesPerSecond: bandwidth };
}

export function isEmbeddable({ nodes }: Pick<Definition, 'nodes'>): boolean {
  return nodes.every((group) => flavourOf(group).embedded !== undefined);
}

export function batchesOf(
  definition: Pick<Definition, 'batches'>,
  { mode, batches }: Pick<NodeGroup, 'mode' | 'batches'>,
): Definition['batches'] {
  return mode === 'boot' ? [] : (batches ?? definition.batches);
}
