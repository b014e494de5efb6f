/** The public API of the package. */

export { HarnessError, type HarnessErrorCode } from './base/errors.ts';
export { Chain } from './chain/chain.ts';
export type { Contracts } from './chain/contracts.ts';
export { ClientError, type ClientErrorClass } from './client/errors.ts';
export type * from './client/money-types.ts';
export { NodeClient } from './client/node-client.ts';
export type * from './client/types.ts';
export { Cluster, type ClusterOptions, type WaitLimits } from './cluster/cluster.ts';
export { ClusterNode, type NodeState } from './cluster/cluster-node.ts';
export type { StartProgress } from './cluster/start-context.ts';
export type { Mesh } from './cluster/waits.ts';
export type { NodeOptionsInput } from './flavours/svc-options.ts';
export type { Definition, DefinitionInput, GroupInput } from './plan/definition.ts';
export {
  defineScenario,
  type ParameterTable,
  parameter,
  type Scenario,
  type ScenarioContext,
} from './run/scenario.ts';
export type { BatchRecord, Timings } from './state/state.ts';
