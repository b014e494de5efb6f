import { availableParallelism } from 'node:os';
import { HarnessError } from '../base/errors.ts';
import { parseDefinition } from '../cluster/plan/definition.ts';
import type { DefinitionInput } from '../cluster/plan/definition-input.ts';
import { readClusterFile } from '../cluster/plan/document/read.ts';
import { withPreset } from '../cluster/plan/presets/presets.ts';
import { drawSeed } from '../cluster/plan/seed.ts';
import { expectTrusted } from '../cluster/plan/trust.ts';
import { FLAVOUR_NAMES, type OwnFlavour } from '../flavours/flavour.ts';
import { FLAVOURS } from '../flavours/table.ts';
import type { RunOptions } from '../run/run-options.ts';
import type { Scenario } from '../run/scenario.ts';
import { attributeOf, type ClusterFlags, freshOptions, isGiven, keysFrom } from './cluster-flags.ts';
import { flavoursWith, type Nodes, nodesText, nodesWith, programsOf } from './nodes-flags.ts';
import type { SeedRange } from './options/values.ts';

/** `name`: a running cluster; default: fresh ones. */
export interface RunFlags extends ClusterFlags {
  readonly list?: boolean;
  readonly suite?: string;
  readonly tag?: string;
  /** File with `checks`. */
  readonly checks?: string;
  readonly repeat?: number;
  readonly untilFailure?: boolean;
  readonly checkDeterminism?: boolean;
  readonly seeds?: SeedRange;
  readonly vary?: boolean;
  readonly jobs?: number;
  /** After a failure. */
  readonly keepGoing?: boolean;
  /** Each kind's first failure. */
  readonly minimise?: boolean;
  readonly seedLimit?: number;
  /** Clusters at once. */
  readonly parallel?: number;
  readonly keep?: boolean;
  /** Of a simulated run. */
  readonly ui?: boolean;
  /** `key=value` texts. */
  readonly set: readonly string[];
  readonly report?: string;
  readonly metricsPort?: number;
}

export interface ChosenClusters {
  readonly seed: bigint;
  readonly options: Pick<
    RunOptions,
    'attachTo' | 'nodes' | 'ownCounts' | 'exactNodes' | 'definition' | 'source' | 'keep'
  >;
  readonly where: string;
}

/** Options override the file, which overrides scenarios' needs. */
export async function chooseClusters(
  flags: RunFlags,
  scenarios: readonly Scenario[],
): Promise<ChosenClusters> {
  expectOneWay(flags);
  const { name } = flags;
  if (name !== undefined) {
    const fresh = freshFlags(flags);
    if (fresh.length > 0)
      throw new HarnessError(
        'USAGE',
        `${fresh.join(' and ')}: only for a fresh cluster, but --name ${name} is already running`,
      );
    return { seed: flags.seed ?? drawSeed(), options: { attachTo: name }, where: `on cluster ${name}` };
  }
  const read = flags.file === undefined ? {} : await readClusterFile(flags.file);
  const file = withPreset(read) as typeof read;
  const { name: _name, seed: fileSeed, nodes: fileNodes, ...rest } = file;
  const programs = programsOf(file, flags);
  expectTrusted(programs, { source: flags.file ?? 'options', trust: flags.trust });
  const flavours = await flavoursWith(flags, file);
  const nodes = freshNodes(scenarios, flags, file);
  const { seed: _flagSeed, ...chosen } = keysFrom(flags);
  const definition = { ...rest, ...chosen, flavours } as DefinitionInput;
  const source = flags.file ?? 'options';
  const parsed = parseDefinition({ ...file, ...definition, nodes, seed: flags.seed ?? fileSeed }, source);
  const exactNodes = fileNodes !== undefined;
  const ownCounts = flags.nodes === undefined && !exactNodes;
  const counts = new Set(scenarios.map(({ cluster }) => cluster.nodes));
  const light = exactNodes ? 0 : Math.max(...scenarios.map(({ cluster }) => cluster.light ?? 0));
  return {
    seed: parsed.seed ?? drawSeed(),
    options: { nodes, ownCounts, exactNodes, definition, source, keep: flags.keep === true },
    where: ownCounts && counts.size > 1 ? `up to ${nodesText(nodes, light)}` : nodesText(nodes, light),
  };
}

const EXCLUDED: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  '--repeat': [
    ['--keep', 'leaves one cluster running'],
    ['--ui', 'shows one run'],
  ],
  '--check-determinism': [
    ['--keep', 'leaves one cluster running'],
    ['--name', 'is a cluster that already runs'],
    ['--repeat', 'runs several seeds'],
    ['--ui', 'shows one run'],
  ],
  '--seeds': [
    ['--keep', 'leaves one cluster running'],
    ['--name', 'is a cluster that already runs'],
    ['--seed', 'is one seed'],
    ['--repeat', 'runs seeds one after the other'],
    ['--until-failure', 'is what happens without --keep-going'],
    ['--check-determinism', 'runs one seed twice'],
    ['--metrics-port', 'is one port'],
    ['--ui', 'shows one run'],
  ],
  '--vary': [['--file', 'describes the cluster']],
};

const OF_SEEDS = ['--vary', '--jobs', '--keep-going', '--minimise', '--seed-limit'];

/** @throws HarnessError `USAGE` */
function expectOneWay(flags: RunFlags): void {
  const given = new Map(Object.entries(flags));
  const has = (flag: string) => isGiven(flag, given.get(attributeOf(flag)));
  for (const [way, others] of Object.entries(EXCLUDED)) {
    const [wrong, why] = others.find(([flag]) => has(flag)) ?? [];
    if (wrong !== undefined && has(way))
      throw new HarnessError('USAGE', `${wrong} ${why} and cannot be combined with ${way}`);
  }
  const lonely = has('--seeds') ? undefined : OF_SEEDS.find(has);
  if (lonely !== undefined) throw new HarnessError('USAGE', `${lonely} goes with --seeds`);
}

/** More overload an ordinary machine's disk and memory. */
const LANES_MAX = 4;

/**
 * Default: one per core if scenarios choose them; otherwise one, which may be large.
 * @throws HarnessError `USAGE`
 */
export function lanesOf(flags: RunFlags): number {
  const { parallel } = flags;
  const single = [
    ...(flags.name === undefined ? [] : ['--name']),
    ...(flags.keep === true ? ['--keep'] : []),
    ...(flags.metricsPort === undefined ? [] : ['--metrics-port']),
    ...(flags.ui === true ? ['--ui'] : []),
  ];
  if (parallel !== undefined && parallel > 1 && single.length > 0) {
    throw new HarnessError(
      'USAGE',
      `--parallel: got ${parallel}, but ${single.join(' and ')} goes with one cluster`,
    );
  }
  if (parallel !== undefined) return parallel;
  const described = freshFlags(flags).some((flag) => flag !== '--driver');
  return single.length > 0 || described ? 1 : Math.min(availableParallelism(), LANES_MAX);
}

export function freshFlags(flags: RunFlags): string[] {
  return [...freshOptions(flags), ...(flags.keep === true ? ['--keep'] : [])];
}

/** Options or file decide, else the scenarios' needs; other flavours only with a known program. */
function freshNodes(
  scenarios: readonly Scenario[],
  flags: RunFlags,
  { nodes: fileNodes }: Readonly<Record<string, unknown>>,
): Nodes {
  const known = (flavour: OwnFlavour) => {
    const variable = FLAVOURS[flavour].binaryVariable;
    return variable === undefined || flags.beeBinary !== undefined || (process.env[variable] ?? '') !== '';
  };
  const asked = FLAVOUR_NAMES.map((flavour) => ({
    flavour,
    count: Math.max(...scenarios.map(({ cluster }) => cluster.with?.[flavour] ?? 0)),
  })).filter(({ flavour, count }) => count > 0 && known(flavour));
  const others = flags.with.length > 0 || fileNodes !== undefined ? flags.with : asked;
  return nodesWith(
    { ...flags, with: others },
    fileNodes,
    Math.max(...scenarios.map(({ cluster }) => cluster.nodes)),
  );
}
