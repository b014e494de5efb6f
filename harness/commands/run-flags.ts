/** The flags of `svcnet run`, and what they say about the fresh clusters of a run. */
import { HarnessError } from '../base/errors.ts';
import { plural } from '../base/words.ts';
import { FLAVOUR_NAMES, type FlavourName } from '../flavours/flavour.ts';
import { FLAVOURS } from '../flavours/table.ts';
import { parseDefinition, readDefinitionFile } from '../plan/definition.ts';
import { withPreset } from '../plan/presets/presets.ts';
import type { DefinitionInput } from '../plan/schema.ts';
import { drawSeed } from '../plan/seed.ts';
import type { RunOptions } from '../run/run-options.ts';
import type { Scenario } from '../run/scenario.ts';
import { type Nodes, type NodesFlags, nodesWith } from './nodes-flags.ts';

export interface RunFlags extends NodesFlags {
  readonly list?: boolean;
  /** Running cluster; absent: fresh ones. */
  readonly name?: string;
  /** Path of the cluster file of the fresh ones. */
  readonly file?: string;
  readonly driver?: DefinitionInput['driver'];
  readonly profile?: DefinitionInput['profile'];
  readonly credit?: DefinitionInput['credit'];
  readonly dialect?: DefinitionInput['dialect'];
  readonly coldGossip?: boolean;
  readonly seed?: bigint;
  /** Runs, each with a seed of its own. */
  readonly repeat?: number;
  readonly keep?: boolean;
  /** `key=value` texts. */
  readonly set: readonly string[];
  readonly report?: string;
  readonly metricsPort?: number;
}

/** The clusters of a run as far as the flags and the file decide. */
export interface ChosenClusters {
  readonly seed: bigint;
  readonly options: Pick<RunOptions, 'attachTo' | 'nodes' | 'exactNodes' | 'definition' | 'source' | 'keep'>;
  /** What the run takes place on, for people. */
  readonly where: string;
}

/** Flags win over the file, and the file over what scenarios ask for. @throws HarnessError `USAGE`, `DEFINITION_INVALID` */
export async function chooseClusters(
  flags: RunFlags,
  scenarios: readonly Scenario[],
): Promise<ChosenClusters> {
  if (flags.keep === true && flags.repeat !== undefined) {
    throw new HarnessError('USAGE', '--keep leaves one cluster running: it does not go with --repeat');
  }
  const { name } = flags;
  if (name !== undefined) {
    const fresh = freshFlags(flags);
    if (fresh.length > 0)
      throw new HarnessError(
        'USAGE',
        `${fresh.join(' and ')}: for a fresh cluster, but ${name} runs already`,
      );
    return { seed: flags.seed ?? drawSeed(), options: { attachTo: name }, where: `on cluster ${name}` };
  }
  const read = flags.file === undefined ? {} : await readDefinitionFile(flags.file);
  const file = withPreset(read) as typeof read;
  const { name: _name, seed: fileSeed, nodes: fileNodes, ...rest } = file;
  const nodes = freshNodes(scenarios, flags, fileNodes);
  const definition = {
    ...rest,
    ...(flags.driver === undefined ? {} : { driver: flags.driver }),
    ...(flags.profile === undefined ? {} : { profile: flags.profile }),
    ...(flags.credit === undefined ? {} : { credit: flags.credit }),
    ...(flags.dialect === undefined ? {} : { dialect: flags.dialect }),
    ...(flags.coldGossip === undefined ? {} : { coldGossip: flags.coldGossip }),
  } as DefinitionInput;
  const source = flags.file ?? 'options';
  const parsed = parseDefinition({ ...file, ...definition, nodes, seed: flags.seed ?? fileSeed }, source);
  const exactNodes = fileNodes !== undefined;
  const light = exactNodes ? 0 : Math.max(...scenarios.map(({ cluster }) => cluster.light ?? 0));
  return {
    seed: parsed.seed ?? drawSeed(),
    options: { nodes, exactNodes, definition, source, keep: flags.keep === true },
    where: nodesText(nodes, light),
  };
}

/** Those that say something about a fresh cluster, as they are written. */
function freshFlags(flags: RunFlags): string[] {
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
    '--keep': flags.keep,
  })
    .filter(([, value]) => value !== undefined)
    .map(([flag]) => flag);
}

/** What the flags or the file say, else what the scenarios ask for; other flavours only when their program is known. */
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

/** The command that repeats one run. */
export function repeatCommand(names: readonly string[], flags: RunFlags, seed: bigint): string {
  const parts = ['npm run svcnet --', 'run', ...names, '--seed', seed.toString()];
  if (flags.name !== undefined) parts.push('--name', flags.name);
  if (flags.file !== undefined) parts.push('--file', quoted(flags.file));
  if (flags.nodes !== undefined) parts.push('--nodes', String(flags.nodes));
  for (const { flavour, count } of flags.with) parts.push('--with', `${flavour}=${count}`);
  if (flags.beeBinary !== undefined) parts.push('--bee-binary', flags.beeBinary);
  if (flags.driver !== undefined) parts.push('--driver', flags.driver);
  if (flags.profile !== undefined) parts.push('--profile', flags.profile);
  if (flags.credit !== undefined) parts.push('--credit', flags.credit);
  if (flags.dialect !== undefined) parts.push('--dialect', flags.dialect);
  if (flags.coldGossip === true) parts.push('--cold-gossip');
  for (const set of flags.set) parts.push('--set', quoted(set));
  return parts.join(' ');
}

/** As one word of a shell. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
