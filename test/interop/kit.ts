/**
 * What tests against real Bees share: the programs to test against, mixed clusters, who holds a chunk, and what the
 * logs complain about.
 */
import { basename, resolve } from 'node:path';
import { Cluster, type ClusterOptions } from '../../harness/cluster.ts';
import type { ClusterNode } from '../../harness/cluster-node.ts';
import { logEntry } from '../../harness/log-entry.ts';

/** Every line of a log of these tests: they are some thousand. */
const ALL_LINES = Number.POSITIVE_INFINITY;

export interface Bee {
  /** Name of its file, for the titles of tests. */
  readonly name: string;
  readonly binary: string;
}

/** Each is tested by itself: `describe.each(BEES)('$name', ({ binary }) => …)`. */
export const BEES: readonly Bee[] = (process.env['SVCNET_BEE_BINARY'] ?? '')
  .split(',')
  .map((path) => path.trim())
  .filter((path) => path !== '')
  .map((path) => ({ name: basename(path), binary: resolve(path) }));

export interface MixedOptions extends Omit<ClusterOptions, 'nodes'> {
  readonly binary: string;
  /** Nodes of our own; default 4. */
  readonly own?: number;
  /** Default 2. */
  readonly bees?: number;
  readonly lightBees?: number;
  readonly beeOptions?: Record<string, string | number | boolean>;
}

/** Our own nodes first, then full Bees, then light ones; started, meshed, every batch usable. */
export function startMixed({
  binary,
  own = 4,
  bees = 2,
  lightBees = 0,
  beeOptions = {},
  ...rest
}: MixedOptions): Promise<Cluster> {
  const group = { flavour: 'bee', binary, options: beeOptions } as const;
  const nodes = [
    { flavour: 'svc' as const, count: own },
    { ...group, count: bees },
    { ...group, mode: 'light' as const, count: lightBees },
  ];
  return Cluster.start({ ...rest, nodes: nodes.filter(({ count }) => count > 0) });
}

/** Nodes of one implementation. */
export function of(flavour: ClusterNode['flavour'], { nodes }: Cluster): ClusterNode[] {
  return nodes.filter((node) => node.flavour === flavour);
}

/** `node-4: message error=…` for every complaint in a log; there should be none. */
export function errorsInLogs({ nodes }: Cluster): string[] {
  return nodes.flatMap((node) =>
    node.logs({ lines: ALL_LINES }).flatMap((line) => {
      const entry = logEntry(line);
      if (entry?.level !== 'error') return [];
      return [`${node.name}: ${entry.module} ${entry.message} ${JSON.stringify(entry.fields)}`];
    }),
  );
}
