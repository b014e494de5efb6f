/// <reference types="node" preserve="true" />
/**
 * The public API of the package: start a network, attach to one, drive its nodes and its chain, inject faults.
 * `svcnet/scenario` has what scenarios need besides, `svcnet/matchers` the matchers of test runners.
 */

export type { EngineName } from '../chain/engine/engine.ts';
export type { RpcFault } from '../chain/gate/faults.ts';
export type { GateCount } from '../chain/gate/gate.ts';
export type { WrongAnswer } from '../chain/gate/wrong-answers.ts';
export type { SocParts } from '../formats/chunk/soc.ts';
export type { Clock, Deadline } from '../formats/clock.ts';
export type { AbiValue } from '../formats/ethereum/abi.ts';
export type {
  ChunkEvent,
  ChunkEventKind,
  ChunkEventPage,
  Facts as ChunkEventFacts,
} from '../node/env/chunk-events.ts';
export { HarnessError, type HarnessErrorCode } from './base/errors.ts';
export type { LogPosition, PartLog } from './base/logs/file-log.ts';
export type { LogEntry } from './base/logs/log-entry.ts';
export type { TokenSource } from './base/token.ts';
export type { Chain, ChainEvent } from './chain/chain.ts';
export type { Contracts } from './chain/contracts.ts';
export type { Dialect, DialectName } from './client/dialect.ts';
export { ClientError, type ClientErrorClass, type ClientErrorFields } from './client/errors.ts';
export type { FeedContent, FeedsClient, SocClient, SocContent } from './client/feeds.ts';
export type { GranteeList, GranteesClient } from './client/grantees.ts';
export type { Body, HttpResponse } from './client/http.ts';
export type { MessagesClient, ReceivedMessage, SendOptions, Subscription } from './client/messages.ts';
export type {
  ChequebookClient,
  RedistributionClient,
  StakeClient,
  TransactionsClient,
  WalletClient,
} from './client/money.ts';
export type * from './client/money-types.ts';
export { NodeClient, type NodeClientOptions } from './client/node-client.ts';
export type { PinsClient, StewardshipClient } from './client/pins.ts';
export type { StampsClient, TagsClient } from './client/sessions.ts';
export type {
  BytesClient,
  ChunksClient,
  FilesClient,
  StampOption,
  UploadsOptions,
} from './client/transfers.ts';
export type * from './client/types.ts';
export type * from './cluster/attached/network-input.ts';
export type { AttachOptions } from './cluster/attached/record-network.ts';
export type { ChequebookBooks, Link, NodeBooks } from './cluster/books/books.ts';
export {
  Cluster,
  type SaveOptions,
  type SyncedLimits,
  type WaitLimits,
} from './cluster/cluster.ts';
export type { ClusterDocument } from './cluster/cluster-document.ts';
export type { Breakage } from './cluster/faults/broken.ts';
export type { Effect, Fault, FaultRequest } from './cluster/faults/fault.ts';
export type { Faults, NodeNames } from './cluster/faults/faults.ts';
export type { LinkInput } from './cluster/faults/links/link.ts';
export type { MessageInput } from './cluster/faults/links/message.ts';
export type { AddInput, AddOptions } from './cluster/growth/add.ts';
export type { RemoveOptions } from './cluster/growth/remove.ts';
export type { UpgradeInput, UpgradeOptions } from './cluster/growth/upgrade.ts';
export type { TapOptions } from './cluster/heard.ts';
export type { ClusterNode } from './cluster/nodes/cluster-node.ts';
export type { KnownNode } from './cluster/nodes/known-node.ts';
export type { Incident, Membership } from './cluster/nodes/membership.ts';
export type { Mesh } from './cluster/nodes/mesh.ts';
export type { NodeState, NodeWait } from './cluster/nodes/node-run.ts';
export type { AgainOptions, ClusterOptions } from './cluster/opening.ts';
export type * from './cluster/plan/definition-input.ts';
export { readFlavour } from './cluster/plan/document/flavour-file.ts';
export type { ToSee } from './cluster/seen.ts';
export type { SnapshotHead, SnapshotRecord } from './cluster/snapshots/snapshot.ts';
export type { StartProgress, StartStep } from './cluster/start/start-context.ts';
export type {
  BatchRecord,
  PreparedRecord,
  PreparedUpload,
  RunState,
  Timings,
} from './cluster/state/state.ts';
export type { ChainFlags as ChainConformanceOptions } from './conformance/chain/conformance.ts';
export { type ConformanceOptions, type ConformanceTarget, checkConformance } from './conformance/check.ts';
export { writeReport as writeConformanceReport } from './conformance/files.ts';
export type { HttpOptions as HttpConformanceOptions } from './conformance/http/conformance.ts';
export type {
  ConformanceReport,
  Exchange as ConformanceExchange,
  Level as ConformanceLevel,
  RowResult as ConformanceResult,
  Totals as ConformanceTotals,
  Verdict as ConformanceVerdict,
} from './conformance/row.ts';
export type { WireFlags as WireConformanceOptions } from './conformance/wire/conformance.ts';
export type { FlavourInput, FlavourKeyFile, FlavourValue } from './flavours/declared/input.ts';
export type { BehaviourName } from './flavours/dishonest/names.ts';
export type { FlavourName, NodeMode, OwnFlavour } from './flavours/flavour.ts';
export type { NodeOptionsInput } from './flavours/node-options.gen.ts';
export type { Credit, Profile } from './flavours/profiles.ts';
export type { Capability, Stats } from './places/driver.ts';
export type { DriverName, StartingDriver } from './places/facts.ts';
export type { LinkProfile } from './places/links/conditions.ts';
export { faultsOf, type TapEvent, type TapValue } from './places/links/tap/events.ts';
export type { KnobName } from './places/simulated/odd/knobs.ts';
