/** The public API of the package. */
export { Chain } from './chain.ts';
export { ClientError, type ClientErrorClass } from './client/errors.ts';
export type * from './client/money-types.ts';
export { NodeClient } from './client/node-client.ts';
export type * from './client/types.ts';
export { Cluster, type ClusterOptions, type WaitLimits } from './cluster.ts';
export { ClusterNode, type NodeState } from './cluster-node.ts';
export type { Contracts } from './contracts.ts';
export type { Definition, DefinitionInput } from './definition.ts';
export { HarnessError, type HarnessErrorCode } from './errors.ts';
export {
  defineScenario,
  type ParameterTable,
  parameter,
  type Scenario,
  type ScenarioContext,
} from './scenario.ts';
export type { StartProgress } from './start-context.ts';
export type { BatchRecord, Timings } from './state.ts';
export type { Mesh } from './waits.ts';
