import type { Clock } from '../../formats/clock.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { DefinitionInput } from '../cluster/plan/definition-input.ts';
import type { Scrape } from '../metrics/scrape.ts';
import type { SeriesId } from '../metrics/series.ts';
import type { StepDisplay } from '../report/console.ts';
import type { RunResult, ScenarioResult } from '../report/result.ts';
import type { Scenario, ScenarioContext } from './scenario.ts';

/** Number or groups of nodes, as a definition has them. */
export type NodesInput = NonNullable<DefinitionInput['nodes']>;

/** What a run does not choose itself. */
export type FreshDefinition = Omit<DefinitionInput, 'name' | 'seed' | 'nodes'>;

/** A scenario whose parameters are resolved. */
export interface PlannedScenario {
  readonly scenario: Scenario;
  readonly parameters: ScenarioContext['parameters'];
}

/** Looks at a run's clusters without changing their course. */
export interface RunWatcher {
  follow(cluster: Cluster): void;
  scraped(scrape: Scrape, ids: readonly SeriesId[]): void;
  leave(): void;
}

export interface RunOptions {
  readonly planned: readonly PlannedScenario[];
  readonly attachTo?: string | undefined;
  readonly seed: bigint;
  /** Nodes of a fresh cluster; default: the most that a scenario of its kind asks for. */
  readonly nodes?: NodesInput | undefined;
  /**
   * Each kind of cluster has as many of our own nodes as its scenarios ask for, whatever `nodes` says of a group that names
   * no flavour.
   */
  readonly ownCounts?: boolean | undefined;
  /** These nodes and no others; otherwise a scenario adds its light nodes. */
  readonly exactNodes?: boolean;
  /** What a fresh cluster is; the scenarios decide the rest. */
  readonly definition?: FreshDefinition;
  /** Where the definition comes from, for messages about it. */
  readonly source?: string;
  /** The last fresh cluster keeps running when the run has ended by itself. */
  readonly keep?: boolean;
  readonly stateDir: string;
  readonly clock?: Clock;
  /** Simulated clusters write down every frame. */
  readonly frames?: boolean;
  readonly report: string;
  readonly name: string;
  /** Command that repeats the run. */
  readonly command: string;
  readonly signal: AbortSignal;
  /** Port for scrapes of the run's metrics meanwhile; 0: any free one. */
  readonly metricsPort?: number | undefined;
  readonly display?: StepDisplay | undefined;
  /** Called when a scenario begins, including its cluster's start, and with its result. */
  readonly onScenario?:
    | ((scenario: { readonly name: string; readonly ended?: ScenarioResult }) => void)
    | undefined;
  readonly watcher?: RunWatcher | undefined;
  /** Called before a scenario; what it returns, when the scenario has ended by itself. */
  readonly observe?: (context: ScenarioContext, name: string) => () => Promise<void>;
  /** Called after an interruption, when the cluster is stopped and before the report is written. */
  readonly onInterrupted?: (run: RunResult) => void;
}

export function askedOf({ planned }: Pick<RunOptions, 'planned'>): unknown[] {
  return planned.flatMap(({ parameters }) => Object.values(parameters));
}
