/** The public API of the package. */

export type { NetworkInput } from './attached/schema.ts';
export { HarnessError, type HarnessErrorCode } from './base/errors.ts';
export { Chain } from './chain/chain.ts';
export type { Contracts } from './chain/contracts.ts';
export { ClientError, type ClientErrorClass } from './client/errors.ts';
export type * from './client/money-types.ts';
export { NodeClient } from './client/node-client.ts';
export type * from './client/types.ts';
export {
  type AttachOptions,
  Cluster,
  type ClusterOptions,
  type SaveOptions,
  type WaitLimits,
} from './cluster/cluster.ts';
export type { NodeOptionsInput } from './flavours/svc-options.ts';
export { ClusterNode, type NodeState } from './nodes/cluster-node.ts';
export type { Incident } from './nodes/membership.ts';
export type { Mesh } from './nodes/waits.ts';
export type { Definition, DefinitionInput, GroupInput } from './plan/schema.ts';
export {
  defineScenario,
  type ParameterTable,
  parameter,
  type Scenario,
  type ScenarioContext,
} from './run/scenario.ts';
export type { SnapshotRecord } from './snapshots/snapshot.ts';
export type { StartProgress } from './start/start-context.ts';
export type { BatchRecord, PreparedRecord, Timings } from './state/state.ts';
