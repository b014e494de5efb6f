/**
 * What tests against real Bees share: the programs to test against, mixed clusters, the holders of a chunk, and what the
 * logs complain about.
 */
import { readdirSync, rmSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { expect } from 'vitest';
import type { LogEntry } from '../../harness/base/logs/log-entry.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import type { ClusterOptions } from '../../harness/cluster/opening.ts';
import type { RunOptions } from '../../harness/run/run-options.ts';
import { planScenarios, runScenarios } from '../../harness/run/runner.ts';
import { until } from '../../harness/scenario.ts';
import mixed from '../../scenarios/mixed.ts';

/** Pull syncing a reserve takes seconds; a loaded machine gets time. */
const EVENTUALLY_MS = 120_000;

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

/** The scenario `mixed` passes on these nodes and loses nothing. */
export async function expectMixedPasses({
  sizes,
  folder,
  ...options
}: Pick<RunOptions, 'nodes' | 'seed' | 'definition'> & {
  readonly sizes: string;
  readonly folder: string;
}): Promise<void> {
  const result = await runScenarios({
    ...options,
    planned: planScenarios([mixed], new Map([['sizes', sizes]])),
    stateDir: join(folder, 'state'),
    report: join(folder, 'report'),
    name: 'interop',
    command: 'npm run test:interop',
    signal: new AbortController().signal,
  });
  const [scenario] = result.scenarios;
  expect(scenario?.error).toBeUndefined();
  expect(scenario?.assertions.filter(({ passed }) => !passed)).toEqual([]);
  expect(result.passed).toBe(true);
  expect(scenario?.ledger.missing).toBe(0);
}

/** Nodes of one implementation. */
export function of(flavour: ClusterNode['flavour'], { nodes }: Cluster): ClusterNode[] {
  return nodes.filter((node) => node.flavour === flavour);
}

/** Removes from a stopped node everything it knows of the network; its keys and its configuration stay. */
export function forget({ dataDir }: ClusterNode): void {
  for (const name of readdirSync(dataDir).filter((entry) => !['keys', 'config.yaml'].includes(entry))) {
    rmSync(join(dataDir, name), { recursive: true });
  }
}

/** The part of a node's answers that a wait looks at, until it is as expected; the error says what was seen last. */
export function eventually<T>(what: string, probe: () => Promise<T>, isSo: (seen: T) => boolean): Promise<T> {
  return until<T>(
    what,
    async () => {
      const seen = await probe();
      return isSo(seen) ? { done: seen } : { missing: JSON.stringify(seen, plainly) };
    },
    { timeoutMs: EVENTUALLY_MS },
  );
}

/** Amounts, which JSON cannot represent. */
function plainly(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

/**
 * Its own pusher looks at a chunk that it has just released, logs it and looks again a second later: nothing that another
 * node has done.
 */
const isOwnRace = (entry: LogEntry) =>
  entry.message === 'subscribe push: iterate error' &&
  JSON.stringify(entry.fields).includes('storage: not found');

/** `node-4: module message {…}` for every complaint in a log; there should be none. */
export async function errorsInLogs({ nodes }: Cluster): Promise<string[]> {
  const lines = nodes.map(async (node) =>
    (await node.loggedErrors())
      .filter((entry) => node.flavour !== 'bee' || !isOwnRace(entry))
      .map(({ module, message, fields }) => `${node.name}: ${module} ${message} ${JSON.stringify(fields)}`),
  );
  return (await Promise.all(lines)).flat();
}
