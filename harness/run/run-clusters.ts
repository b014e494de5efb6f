import { cpSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HarnessError } from '../base/errors.ts';
import { suggestion } from '../base/format.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { makeFolder } from '../base/own-folder.ts';
import { Cluster } from '../cluster/cluster.ts';
import { plannedCapabilities } from '../cluster/lifecycle/drivers.ts';
import { parseDefinition } from '../cluster/plan/definition.ts';
import type { DefinitionInput, GroupInput } from '../cluster/plan/definition-input.ts';
import { plannedMembers } from '../cluster/plan/plan.ts';
import type { PlannedNode } from '../cluster/plan/planned-node.ts';
import { seedToJson } from '../cluster/plan/seed.ts';
import type { StartProgress } from '../cluster/start/start-context.ts';
import { findCluster } from '../cluster/state/state.ts';
import { type FlavourName, isOurs } from '../flavours/flavour.ts';
import { DRIVER_DEFAULT, DRIVER_FACTS, type DriverName } from '../places/facts.ts';
import { CLUSTER_FILE } from '../report/folder.ts';
import { isTapped, linksFail, machinesFail, nodesWanted, ownResized } from './kinds.ts';
import { type Present, unmetNeed } from './needs.ts';
import type { PlannedScenario, RunOptions } from './run-options.ts';

type Kind = Omit<DefinitionInput, 'name' | 'seed'>;

/** What follows each cluster of a run while it exists. */
export interface ClusterWatch {
  watch(cluster: Cluster): Promise<void> | void;
  release(): Promise<void>;
}

export class Clusters implements AsyncDisposable {
  readonly #options: RunOptions;
  readonly #watches: readonly ClusterWatch[];
  #current: { readonly kind: string; readonly cluster: Cluster } | undefined;
  #opened = 0;

  constructor(options: RunOptions, watches: readonly ClusterWatch[]) {
    this.#options = options;
    this.#watches = watches;
  }

  /** Of the last one, from 1; 0: none. */
  get number(): number {
    return this.#opened;
  }

  /** Undefined: a fresh one would not suit. */
  async of(asking: PlannedScenario): Promise<Cluster | undefined> {
    const kind = kindOf(asking, this.#options);
    const key = this.#options.attachTo ?? JSON.stringify(kind);
    if (this.#current?.kind === key) return this.#current.cluster;
    if (
      this.#options.attachTo === undefined &&
      unmetNeed(asking.scenario, planned(kind, this.#options)) !== undefined
    ) {
      return undefined;
    }
    await this.close();
    const cluster = await openCluster(this.#options, kind);
    this.#opened++;
    this.#current = { kind: key, cluster };
    for (const one of this.#watches) await one.watch(cluster);
    return cluster;
  }

  /** A scenario that was ended may go on in the background. */
  async spoiled(): Promise<void> {
    if (this.#options.attachTo === undefined) await this.close();
  }

  async close(): Promise<void> {
    const { cluster } = this.#current ?? {};
    this.#current = undefined;
    if (cluster === undefined) return;
    try {
      await this.#release();
      await this.#keepEvidence(cluster);
    } finally {
      await (this.#options.attachTo === undefined ? cluster.stop() : cluster.detach());
    }
  }

  async finish(): Promise<string | undefined> {
    const { keep, attachTo } = this.#options;
    if (keep !== true || attachTo !== undefined || this.#current === undefined) {
      await this.close();
      return undefined;
    }
    const { cluster } = this.#current;
    await this.#release();
    await this.#keepEvidence(cluster);
    this.#current = undefined;
    await cluster.detach();
    return cluster.name;
  }

  async #release(): Promise<void> {
    for (const one of this.#watches) await one.release();
  }

  #keepEvidence(cluster: Cluster): Promise<void> {
    const { report } = this.#options;
    const part = this.#opened === 1 ? report : join(report, `cluster-${this.#opened}`);
    return keepEvidence(cluster, part);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

export function kindOf(
  { scenario, parameters }: PlannedScenario,
  { nodes, ownCounts = nodes === undefined, exactNodes = false, definition = {}, planned }: RunOptions,
): Kind {
  const { cluster } = scenario;
  const { images } = DRIVER_FACTS[definition.driver ?? DRIVER_DEFAULT];
  const wanted = nodesWanted({ scenario, parameters }, planned);
  const base = nodes ?? wanted;
  const given: readonly GroupInput[] = typeof base === 'number' ? [{ count: base }] : base;
  const groups = ownCounts ? ownResized(given, wanted) : given;
  const { light = 0, neighbourhoods } = cluster;
  const options = { ...cluster.options, ...cluster.optionsFor?.(parameters) };
  const all: GroupInput[] = [
    ...groups,
    ...(light > 0 && !exactNodes ? [{ mode: 'light' as const, count: light }] : []),
    // Dishonest nodes asked for by name replace those that the scenario would have.
    ...(exactNodes || groups.some((group) => 'dishonest' in group)
      ? []
      : (cluster.groups?.(parameters) ?? []).filter((group) => !images || flavourOf(group) !== 'dishonest')),
  ];
  const credit = cluster.creditFor?.(parameters) ?? cluster.credit;
  const isPublic = all.some((group) => hasPublicCredit(flavourOf(group), definition));
  return {
    nodes: all.map((group) =>
      flavourOf(group) === 'svc'
        ? { ...placed(group, neighbourhoods), options: { ...options, ...optionsOf(group) } }
        : group,
    ),
    // A Bee refuses other limits.
    credit: credit !== undefined && isPublic ? 'network' : credit,
    ...(!images && machinesFail(scenario, parameters) ? { machineFaults: true } : {}),
    ...(linksFail(scenario, parameters) ? { linkFaults: true } : {}),
    ...(!images && isTapped(scenario, parameters) ? { tap: true } : {}),
    ...definition,
  };
}

function placed(group: GroupInput, neighbourhoods: readonly string[] | undefined): GroupInput {
  const { count = 1, mode = 'full' } = group;
  if (neighbourhoods === undefined || mode !== 'full' || 'neighbourhoods' in group || 'keys' in group)
    return group;
  const of = (index: number) => neighbourhoods[index % neighbourhoods.length] as string;
  return { ...group, neighbourhoods: Array.from({ length: count }, (_, index) => of(index)) };
}

function hasPublicCredit(
  flavour: FlavourName,
  { flavours = [] }: Pick<DefinitionInput, 'flavours'>,
): boolean {
  if (isOurs({ flavour })) return false;
  return flavours.find(({ name }) => name === flavour)?.publicConstants !== false;
}

function flavourOf({ flavour = 'svc' }: GroupInput): FlavourName {
  return flavour;
}

function optionsOf({ options = {} }: GroupInput): NonNullable<GroupInput['options']> {
  return options;
}

export function driverNameOf({ attachTo, stateDir, definition = {} }: RunOptions): DriverName {
  return attachTo === undefined
    ? (definition.driver ?? DRIVER_DEFAULT)
    : findCluster(stateDir, attachTo).driver;
}

function planned(
  kind: Kind,
  { source = 'options' }: RunOptions,
): Present & { readonly nodes: readonly Pick<PlannedNode, 'name' | 'mode' | 'flavour'>[] } {
  const definition = parseDefinition(kind, source);
  return {
    nodes: plannedMembers(definition),
    driver: { name: definition.driver, capabilities: plannedCapabilities(definition) },
    chain: { controlled: true },
  };
}

export function plannedFor(asking: PlannedScenario, options: RunOptions): Present {
  return planned(kindOf(asking, options), options);
}

/** A parameter must name an existing or planned node, and one that works. @throws HarnessError `USAGE` before any start */
export function checkNodeParameters(options: RunOptions): void {
  for (const asking of options.planned) {
    const { scenario, parameters } = asking;
    const nodes: readonly Pick<PlannedNode, 'name' | 'mode'>[] =
      options.attachTo === undefined
        ? planned(kindOf(asking, options), options).nodes
        : findCluster(options.stateDir, options.attachTo).nodes;
    for (const [key, { kind }] of Object.entries(scenario.parameters)) {
      const given = parameters[key];
      if (kind === 'node' && typeof given === 'string' && given !== '')
        checkNode(given, nodes, `${scenario.name}: ${key}`);
    }
  }
}

function checkNode(given: string, nodes: readonly Pick<PlannedNode, 'name' | 'mode'>[], what: string): void {
  const working = nodes.filter(({ mode }) => mode !== 'boot').map(({ name }) => name);
  if (working.includes(given)) return;
  const isBoot = nodes.some(({ name }) => name === given);
  const why = isBoot
    ? `: ${given} is a boot node, which only introduces the others`
    : suggestion(given, working);
  throw new HarnessError(
    'USAGE',
    `--set: ${what}: got '${given}', expected one of ${working.join(', ')}${why}`,
  );
}

async function openCluster(options: RunOptions, kind: Kind): Promise<Cluster> {
  const { attachTo, stateDir, clock = MACHINE_CLOCK } = options;
  if (attachTo !== undefined) return Cluster.attach(attachTo, { stateDir, clock });
  let running: StartProgress['step'] | undefined;
  try {
    return await Cluster.start({
      ...kind,
      seed: options.seed,
      source: options.source,
      detached: options.keep === true,
      frames: options.frames === true,
      stateDir,
      clock,
      signal: options.signal,
      onProgress(progress) {
        if (running !== progress.step) options.display?.start(progress.step);
        running = progress.step;
        options.display?.detail(progress.detail);
        if (!progress.done) return;
        options.display?.end(true, progress.ms);
        running = undefined;
      },
    });
  } catch (error) {
    options.display?.end(false);
    throw error;
  }
}

/** Stopping a cluster removes its folder. */
async function keepEvidence(cluster: Cluster, report: string): Promise<void> {
  await cluster.gatherLogs();
  makeFolder(report);
  const logs = join(cluster.folder, 'logs');
  if (existsSync(logs)) cpSync(logs, join(report, 'logs'), { recursive: true });
  const { name, seed, profile, driver, timings, batches } = cluster;
  const nodes = cluster.nodes.map(({ name: node, overlay, ethereum, flavour }) => ({
    name: node,
    overlay,
    ethereum,
    flavour,
  }));
  const record = {
    name,
    seed: seedToJson(seed),
    profile,
    driver,
    timings,
    chain: { chainId: cluster.chain.chainId },
    nodes,
    batches,
  };
  writeFileSync(join(report, CLUSTER_FILE), `${JSON.stringify(record, undefined, 2)}\n`);
}
