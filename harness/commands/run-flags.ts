/** The options of `svcnet run`, and the fresh clusters they describe. */

import { availableParallelism } from 'node:os';
import { HarnessError } from '../base/errors.ts';
import { plural } from '../base/format.ts';
import { typed } from '../base/typed.ts';
import { parseDefinition } from '../cluster/plan/definition.ts';
import type { DefinitionInput } from '../cluster/plan/definition-input.ts';
import { readClusterFile } from '../cluster/plan/document/read.ts';
import { withPreset } from '../cluster/plan/presets/presets.ts';
import { drawSeed } from '../cluster/plan/seed.ts';
import { expectTrusted, programsIn } from '../cluster/plan/trust.ts';
import { FLAVOUR_NAMES, type FlavourName } from '../flavours/flavour.ts';
import { FLAVOURS } from '../flavours/table.ts';
import type { RunOptions } from '../run/run-options.ts';
import type { Scenario } from '../run/scenario.ts';
import { type Nodes, type NodesFlags, nodesWith } from './nodes-flags.ts';

export interface RunFlags extends NodesFlags {
  readonly list?: boolean;
  /** Name of a suite. */
  readonly suite?: string;
  /** Tag or group of scenarios to run. */
  readonly tag?: string;
  /** Path of a file with `checks`. */
  readonly checks?: string;
  /** Running cluster; default: fresh clusters. */
  readonly name?: string;
  /** Path of the cluster file for fresh clusters. */
  readonly file?: string;
  readonly trust?: boolean;
  readonly driver?: DefinitionInput['driver'];
  readonly profile?: DefinitionInput['profile'];
  readonly credit?: DefinitionInput['credit'];
  readonly dialect?: DefinitionInput['dialect'];
  readonly coldGossip?: boolean;
  readonly machineFaults?: boolean;
  readonly linkFaults?: boolean;
  readonly seed?: bigint;
  /** Number of runs, each with its own seed. */
  readonly repeat?: number;
  /** Stop after the first run that failed. */
  readonly untilFailure?: boolean;
  /** Clusters at once. */
  readonly parallel?: number;
  readonly keep?: boolean;
  /** `key=value` texts. */
  readonly set: readonly string[];
  readonly report?: string;
  readonly metricsPort?: number;
}

/** The clusters of a run, as far as options and file decide. */
export interface ChosenClusters {
  readonly seed: bigint;
  readonly options: Pick<
    RunOptions,
    'attachTo' | 'nodes' | 'ownCounts' | 'exactNodes' | 'definition' | 'source' | 'keep'
  >;
  /** Where the run takes place, as text. */
  readonly where: string;
}

/** Options override the file, which overrides what scenarios need. @throws HarnessError `USAGE`, `DEFINITION_INVALID` */
export async function chooseClusters(
  flags: RunFlags,
  scenarios: readonly Scenario[],
): Promise<ChosenClusters> {
  if (flags.keep === true && flags.repeat !== undefined) {
    throw new HarnessError('USAGE', '--keep leaves one cluster running and cannot be combined with --repeat');
  }
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
  const programs = flags.beeBinary === undefined ? programsIn(fileNodes) : [];
  expectTrusted(programs, { source: flags.file ?? 'options', trust: flags.trust });
  const nodes = freshNodes(scenarios, flags, fileNodes);
  const definition = {
    ...rest,
    ...(flags.driver === undefined ? {} : { driver: flags.driver }),
    ...(flags.profile === undefined ? {} : { profile: flags.profile }),
    ...(flags.credit === undefined ? {} : { credit: flags.credit }),
    ...(flags.dialect === undefined ? {} : { dialect: flags.dialect }),
    ...(flags.coldGossip === undefined ? {} : { coldGossip: flags.coldGossip }),
    ...(flags.machineFaults === undefined ? {} : { machineFaults: flags.machineFaults }),
    ...(flags.linkFaults === undefined ? {} : { linkFaults: flags.linkFaults }),
  } as DefinitionInput;
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

/** More clusters overload the disk and the memory of an ordinary machine. */
const LANES_MAX = 4;

/**
 * How many clusters run at once. By default one per core if scenarios choose their clusters; a cluster
 * described by options or a file may be large, so only one is started.
 * @throws HarnessError `USAGE`
 */
export function lanesOf(flags: RunFlags): number {
  const { parallel } = flags;
  const single = [
    ...(flags.name === undefined ? [] : ['--name']),
    ...(flags.keep === true ? ['--keep'] : []),
    ...(flags.metricsPort === undefined ? [] : ['--metrics-port']),
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

/** The given options that apply only to fresh clusters, as written. */
export function freshFlags(flags: RunFlags): string[] {
  return Object.entries({
    '--nodes': flags.nodes,
    '--with': flags.with.length > 0 || undefined,
    '--bee-binary': flags.beeBinary,
    '--file': flags.file,
    '--driver': flags.driver,
    '--profile': flags.profile,
    '--credit': flags.credit,
    '--dialect': flags.dialect,
    '--cold-gossip': flags.coldGossip,
    '--machine-faults': flags.machineFaults,
    '--dishonest': flags.dishonest,
    '--link-faults': flags.linkFaults,
    '--keep': flags.keep,
  })
    .filter(([, value]) => value !== undefined)
    .map(([flag]) => flag);
}

/** The nodes from options or file, else what the scenarios need; other flavours only if their executable is known. */
function freshNodes(scenarios: readonly Scenario[], flags: RunFlags, fileNodes: unknown): Nodes {
  const known = (flavour: FlavourName) => {
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

function nodesText(nodes: Nodes, light: number): string {
  const groups = typeof nodes === 'number' ? [{ count: nodes }] : nodes;
  const total = groups.reduce((sum, { count = 1 }) => sum + count, light);
  const others = groups
    .filter((group) => 'flavour' in group && group.flavour !== 'svc')
    .map((group) => `, ${group.count ?? 1} of them ${'flavour' in group ? group.flavour : 'svc'}`);
  const lights = light > 0 ? `, ${light} of them light` : '';
  return `${plural(total, 'node')}${others.join('')}${lights}`;
}

/** The command line that repeats one run. */
export function repeatCommand(names: readonly string[], flags: RunFlags, seed: bigint): string {
  const parts = [typed('run'), ...names.map(quoted), '--seed', seed.toString()];
  if (flags.suite !== undefined) parts.push('--suite', flags.suite);
  if (flags.tag !== undefined) parts.push('--tag', flags.tag);
  if (flags.checks !== undefined) parts.push('--checks', quoted(flags.checks));
  if (flags.name !== undefined) parts.push('--name', flags.name);
  if (flags.file !== undefined) parts.push('--file', quoted(flags.file));
  if (flags.trust === true) parts.push('--trust');
  if (flags.nodes !== undefined) parts.push('--nodes', String(flags.nodes));
  for (const { flavour, count } of flags.with) parts.push('--with', `${flavour}=${count}`);
  if (flags.beeBinary !== undefined) parts.push('--bee-binary', quoted(flags.beeBinary));
  if (flags.driver !== undefined) parts.push('--driver', flags.driver);
  if (flags.profile !== undefined) parts.push('--profile', flags.profile);
  if (flags.credit !== undefined) parts.push('--credit', flags.credit);
  if (flags.dialect !== undefined) parts.push('--dialect', flags.dialect);
  if (flags.coldGossip === true) parts.push('--cold-gossip');
  if (flags.machineFaults === true) parts.push('--machine-faults');
  if (flags.dishonest !== undefined) parts.push('--dishonest', flags.dishonest.join(','));
  if (flags.linkFaults === true) parts.push('--link-faults');
  if (flags.parallel !== undefined) parts.push('--parallel', String(flags.parallel));
  for (const set of flags.set) parts.push('--set', quoted(set));
  return parts.join(' ');
}

/** Quoted as one word for a shell. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
