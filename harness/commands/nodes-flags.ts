/** Choose nodes: `-n 4 --with bee=2 --bee-binary PATH`. */

import { HarnessError } from '../base/errors.ts';
import { plural } from '../base/format.ts';
import type { DefinitionInput } from '../cluster/plan/definition-input.ts';
import { readFlavour } from '../cluster/plan/document/flavour-file.ts';
import { programsIn } from '../cluster/plan/trust.ts';
import { isOurs } from '../flavours/flavour.ts';
import type { ClusterFlags } from './cluster-flags.ts';

/** For `trace`, per node: about ten thousand chunks, 10 MB. */
const TRACED_EVENTS = 65_536;

export type NodesFlags = Pick<
  ClusterFlags,
  'nodes' | 'light' | 'with' | 'beeBinary' | 'dishonest' | 'trace' | 'flavour'
>;

/** Flavour files of a cluster file and the command line. @throws HarnessError `DEFINITION_INVALID` */
export async function flavoursWith(
  { flavour: paths = [] }: Pick<NodesFlags, 'flavour'>,
  file: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const { flavours = [] } = file;
  const given = await Promise.all(paths.map((path) => readFlavour(path)));
  // The definition's validation reports other values.
  return Array.isArray(flavours) ? [...flavours, ...given] : flavours;
}

/** A cluster file's; the command line's replaces its Bees'. */
export function programsOf(
  { nodes, flavours }: Readonly<Record<string, unknown>>,
  { beeBinary }: Pick<NodesFlags, 'beeBinary'>,
): string[] {
  return programsIn({ nodes: beeBinary === undefined ? nodes : withoutBees(nodes), flavours });
}

/** @param nodes unchecked */
function withoutBees(nodes: unknown): unknown {
  if (!Array.isArray(nodes)) return nodes;
  return nodes.filter((group: unknown) => (group as { flavour?: unknown } | null)?.flavour !== 'bee');
}

export type Nodes = NonNullable<DefinitionInput['nodes']>;
type Groups = Exclude<Nodes, number>;

/**
 * Options override the file.
 * @param nodes undefined: `fallback` svc nodes
 * @throws HarnessError `USAGE`
 */
export function nodesWith(flags: NodesFlags, nodes: unknown, fallback: number): Nodes {
  const base = flags.nodes ?? (nodes as Nodes | undefined) ?? fallback;
  const groups: Groups = typeof base === 'number' ? (base === 0 ? [] : [{ count: base }]) : base;
  if (!Array.isArray(groups)) return base;
  const { light = 0 } = flags;
  const lights: Groups = light === 0 ? [] : [{ flavour: 'svc', mode: 'light', count: light }];
  const all: Groups = [...groups, ...lights, ...withDishonest(flags)];
  if (all.length === 0) throw new HarnessError('USAGE', '--nodes 0 leaves no nodes; add some with --with');
  return withBinary(flags, flags.trace === true ? all.map(traced) : all);
}

function withDishonest({ with: beside, dishonest }: NodesFlags): Groups {
  const honest = beside.filter(({ flavour }) => flavour !== 'dishonest') as Groups;
  const count = beside.reduce((sum, one) => sum + (one.flavour === 'dishonest' ? one.count : 0), 0);
  if (dishonest === undefined && count > 0) {
    throw new HarnessError('USAGE', '--with dishonest: also expected --dishonest, with their behaviours');
  }
  return dishonest === undefined
    ? honest
    : [...honest, { flavour: 'dishonest', count: Math.max(1, count), dishonest: [...dishonest] }];
}

/** The file takes precedence. */
function traced(group: Groups[number]): Groups[number] {
  if (!isOurs({ flavour: group.flavour ?? 'svc' })) return group;
  return { ...group, options: { 'chunk-events': TRACED_EVENTS, ...group.options } };
}

function withBinary({ beeBinary, with: beside }: NodesFlags, all: Groups): Groups {
  if (beeBinary === undefined) return all;
  if (!all.some((group) => group.flavour === 'bee')) {
    throw new HarnessError('USAGE', '--bee-binary: the cluster has no Bee; add some with --with bee=2');
  }
  const named = new Set(beside.map(({ binary }) => binary));
  return all.map((group) => {
    if (group.flavour !== 'bee') return group;
    const { binary } = group as { readonly binary?: string };
    return binary !== undefined && named.has(binary) ? group : { ...group, binary: beeBinary };
  });
}

/** `4 nodes, 1 of them bee` @param light nodes beside them */
export function nodesText(nodes: Nodes, light: number): string {
  const groups: Groups = typeof nodes === 'number' ? [{ count: nodes }] : nodes;
  const total = groups.reduce((sum, { count = 1 }) => sum + count, light);
  const counts = new Map<string, number>();
  for (const { flavour = 'svc', count = 1 } of groups)
    counts.set(flavour, (counts.get(flavour) ?? 0) + count);
  counts.delete('svc');
  const others = Array.from(counts, ([flavour, count]) => `, ${count} of them ${flavour}`);
  const isLight = ({ mode }: Groups[number]) => mode === 'light';
  const allLight = groups.filter(isLight).reduce((sum, { count = 1 }) => sum + count, light);
  const lights = allLight > 0 ? `, ${allLight} of them light` : '';
  return `${plural(total, 'node')}${others.join('')}${lights}`;
}
