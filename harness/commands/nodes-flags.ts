/** The flags that say which nodes a cluster has: `-n 4 --with bee=2 --bee-binary PATH`. */

import { HarnessError } from '../base/errors.ts';
import type { FlavourName } from '../flavours/flavour.ts';
import type { DefinitionInput } from '../plan/schema.ts';

/** Events that a node keeps for `trace`: those of some ten thousand chunks, in some ten megabytes. */
const TRACED_EVENTS = 65_536;

/** One `--with`. */
export interface FlavourCount {
  readonly flavour: FlavourName;
  readonly count: number;
}

export interface NodesFlags {
  /** Nodes of our own flavour. */
  readonly nodes?: number;
  readonly with: readonly FlavourCount[];
  readonly beeBinary?: string;
  /** Nodes of ours keep the events of chunks. */
  readonly trace?: boolean;
}

export type Nodes = NonNullable<DefinitionInput['nodes']>;
type Groups = Exclude<Nodes, number>;

/**
 * The nodes of a cluster file, or of nothing, with the flags applied; flags win.
 * @param nodes of the file; undefined: as many of our own as `fallback`
 * @throws HarnessError `USAGE`
 */
export function nodesWith(flags: NodesFlags, nodes: unknown, fallback: number): Nodes {
  const base = flags.nodes ?? (nodes as Nodes | undefined) ?? fallback;
  const groups: Groups = typeof base === 'number' ? (base === 0 ? [] : [{ count: base }]) : base;
  // What is no list of groups is for the definition to complain about.
  if (!Array.isArray(groups)) return base;
  const all: Groups = [...groups, ...flags.with];
  if (all.length === 0) throw new HarnessError('USAGE', '--nodes 0 leaves no node; add some with --with');
  return withBinary(flags, flags.trace === true ? all.map(traced) : all);
}

/** What a file says about events stays. */
function traced(group: Groups[number]): Groups[number] {
  if (group.flavour === 'bee') return group;
  return { ...group, options: { 'chunk-events': TRACED_EVENTS, ...group.options } };
}

function withBinary({ beeBinary }: NodesFlags, all: Groups): Groups {
  if (beeBinary === undefined) return all;
  if (!all.some((group) => group.flavour === 'bee')) {
    throw new HarnessError(
      'USAGE',
      '--bee-binary: no node of the cluster is a bee; add some with --with bee=2',
    );
  }
  return all.map((group) => (group.flavour === 'bee' ? { ...group, binary: beeBinary } : group));
}
