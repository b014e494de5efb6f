import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { LogEntry } from '../../harness/base/logs/log-entry.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import type { ClusterOptions } from '../../harness/cluster/opening.ts';
import type { DeclaredGroupInput } from '../../harness/cluster/plan/definition-input.ts';
import { type Side, sidesNamed } from '../../harness/commands/diff-sides.ts';
import type { FlavourInput } from '../../harness/flavours/declared/input.ts';
import type { NodeMode } from '../../harness/flavours/flavour.ts';
import type { RunOptions } from '../../harness/run/run-options.ts';
import { planScenarios, runScenarios } from '../../harness/run/runner.ts';
import { until } from '../../harness/scenario.ts';
import mixed from '../../scenarios/mixed.ts';
import { flavoursNamed } from './flavours-named.ts';

/** Pull syncing a reserve takes seconds. */
const EVENTUALLY_MS = 120_000;

export interface Other extends Side {
  /** Of the tests. */
  readonly title: string;
  /** Keys of a group of its nodes. */
  readonly group: Pick<DeclaredGroupInput, 'flavour' | 'binary'>;
  /** What a cluster has to know of it. */
  readonly flavours: readonly FlavourInput[];
}

/**
 * `describe.each(OTHERS)('$title', (side) => …)` tests each by itself. `SVCNET_FLAVOURS` names them as `svcnet diff
 * --flavours` takes them; without it they are the Bees of `SVCNET_BEE_BINARY`.
 */
export const OTHERS: readonly Other[] = (await sidesNamed(flavoursNamed())).map((side) => {
  const { flavour, declared } = side;
  const program = side.binary === undefined ? {} : { binary: resolve(side.binary) };
  return {
    ...side,
    ...program,
    title: basename(side.name),
    group: { flavour, ...program },
    flavours: declared === undefined ? [] : [declared],
  };
});

/** @returns what an implementation lacks */
type Need = (side: Other) => string | undefined;

export const aBee: Need = ({ flavour }) => (flavour === 'bee' ? undefined : 'it is about Bees alone');

export const asBee28: Need = ({ flavour, binary = '' }) => {
  if (flavour !== 'bee') return undefined;
  const version = execFileSync(binary, ['version'], { encoding: 'utf8' }).trim();
  return version.includes('2.8.') ? undefined : `our dialect is that of Bee 2.8, and this is ${version}`;
};

export function mode(name: NodeMode): Need {
  return ({ flavour, declared: { modes = ['full'] } = {} }) =>
    flavour === 'bee' || modes.includes(name) ? undefined : `its flavour file names no mode ${name}`;
}

export function option(name: string): Need {
  return ({ flavour, declared }) =>
    flavour === 'bee' || Object.hasOwn(declared?.config?.defaults ?? {}, name)
      ? undefined
      : `its flavour file names no option ${name}`;
}

/** Of an implementation that lacks what they need, says that they did not run, and why. */
export function describeOthers(need: Need, title: string, tests: (side: Other) => void): void {
  for (const side of OTHERS) {
    const lack = need(side);
    describe(title.replace('$title', side.title), () => {
      if (lack === undefined) tests(side);
      // A skipped test fails a run of continuous integration.
      else test(`not run: ${lack}`, () => undefined);
    });
  }
}

export interface MixedOptions extends Omit<ClusterOptions, 'nodes' | 'flavours'> {
  readonly side: Other;
  /** Nodes of our own; default 4. */
  readonly own?: number;
  /** Default 2. */
  readonly others?: number;
  readonly lightOthers?: number;
  readonly options?: Record<string, string | number | boolean>;
}

/** Our own nodes first, then full ones of the other, then light ones; every batch usable. */
export function startMixed({
  side,
  own = 4,
  others = 2,
  lightOthers = 0,
  options = {},
  ...rest
}: MixedOptions): Promise<Cluster> {
  const group = { ...side.group, options };
  const nodes = [
    { flavour: 'svc' as const, count: own },
    { ...group, count: others },
    { ...group, mode: 'light' as const, count: lightOthers },
  ];
  return Cluster.start({
    ...rest,
    flavours: side.flavours,
    nodes: nodes.filter(({ count }) => count > 0),
  });
}

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

export function of(flavour: ClusterNode['flavour'], { nodes }: Cluster): ClusterNode[] {
  return nodes.filter((node) => node.flavour === flavour);
}

/** Keys and configuration stay. */
export function forget({ dataDir }: ClusterNode): void {
  for (const name of readdirSync(dataDir).filter((entry) => !['keys', 'config.yaml'].includes(entry))) {
    rmSync(join(dataDir, name), { recursive: true });
  }
}

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

/** JSON cannot represent amounts. */
function plainly(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}

/** A Bee's pusher looks at a chunk that it has just released, logs it and looks again. */
const isOwnRace = (entry: LogEntry) =>
  entry.message === 'subscribe push: iterate error' &&
  JSON.stringify(entry.fields).includes('storage: not found');

/** As `node-4: module message {…}`; there should be none. */
export async function errorsInLogs({ nodes }: Pick<Cluster, 'nodes'>): Promise<string[]> {
  const lines = nodes.map(async (node) =>
    (await node.loggedErrors())
      .filter((entry) => node.flavour !== 'bee' || !isOwnRace(entry))
      .map(({ module, message, fields }) => `${node.name}: ${module} ${message} ${JSON.stringify(fields)}`),
  );
  return (await Promise.all(lines)).flat();
}

/** Of ours alone, where others rightly log what the test does to them. */
export function ownErrors(net: Cluster): Promise<string[]> {
  return errorsInLogs({ nodes: of('svc', net) });
}
