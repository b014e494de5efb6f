import type { DefinitionInput } from '../plan/definition.ts';
import type { StepDisplay } from '../report/console.ts';
import type { Scenario, ScenarioContext } from './scenario.ts';

/** Number or groups of nodes, as a definition has them. */
export type NodesInput = NonNullable<DefinitionInput['nodes']>;

/** A scenario with its parameters resolved. */
export interface PlannedScenario {
  readonly scenario: Scenario;
  readonly parameters: ScenarioContext['parameters'];
}

export interface RunOptions {
  readonly planned: readonly PlannedScenario[];
  /** Name of a running cluster; absent: a fresh one, stopped afterwards. */
  readonly attachTo?: string;
  readonly seed: bigint;
  /** Nodes of a fresh cluster; default: the largest number that a scenario asks for. */
  readonly nodes?: NodesInput;
  readonly stateDir: string;
  /** Folder of the report; created. */
  readonly report: string;
  readonly name: string;
  /** Repeats the run. */
  readonly command: string;
  readonly signal: AbortSignal;
  readonly display?: StepDisplay;
}
