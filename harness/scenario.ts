/// <reference types="node" preserve="true" />
/**
 * For scenarios of this package and its users: declaration, context, waiting, content with its expected references, chunks,
 * batches, books, schedules of faults, loads, and figures as text.
 */

import type { Clock } from '../formats/clock.ts';
import { MACHINE_CLOCK } from './base/machine/clock.ts';
import { type Probe, until as poll, pause as rest } from './base/wait.ts';

export { addressPrefix, closerTo, proximityOrder } from '../formats/chunk/address.ts';
export { makeCac } from '../formats/chunk/cac.ts';
export { CHUNK_PAYLOAD_SIZE, type Chunk, type ChunkPutter } from '../formats/chunk/chunk.ts';
export { signSoc, socAddress, socParts } from '../formats/chunk/soc.ts';
export type { Clock, Deadline } from '../formats/clock.ts';
export { fromHex, toHex } from '../formats/crypto/hex.ts';
export { createSigner, type Signer } from '../formats/crypto/signer.ts';
export type { Random } from '../formats/random.ts';
export { parseDurationMs } from '../formats/units.ts';
export { atMost } from '../node/env/turns/at-most.ts';
export type { CollectionOptions } from '../node/files/collection/collection.ts';
export { type Encryption, randomEncryption } from '../node/files/encryption.ts';
export type { RedundancyLevel } from '../node/files/redundancy/redundancy.ts';
export { inOnePiece, type SplitOptions, type SplitResult, split } from '../node/files/splitter.ts';
export { messageOf } from './base/errors.ts';
export { formatMs, grouped, plural } from './base/format.ts';
export { readTree, type TreeFile, tarOf } from './base/tree.ts';
export type { Probe, ProbeResult } from './base/wait.ts';
export { allAtMost } from './base/wait.ts';
export {
  type Books,
  type ChainBooks,
  type LinkGap,
  lawViolations,
  linkGaps,
  violations,
} from './cluster/books/books.ts';
export { type AccountedNode, readNodeBooks } from './cluster/books/node-books.ts';
export { readBooks } from './cluster/books/read-books.ts';
export { effectText, inertAmong } from './cluster/faults/fault.ts';
export { batchAmount } from './cluster/plan/definition.ts';
export { readDefinitionFile } from './cluster/plan/document/read.ts';
export { type BatchRequest, buyBatch } from './cluster/purchase.ts';
export type {
  Exchange as ConformanceExchange,
  Level as ConformanceLevel,
  RowResult as ConformanceResult,
  Verdict as ConformanceVerdict,
} from './conformance/row.ts';
export { wireVerdicts } from './conformance/wire/verdicts.ts';
export { BEHAVIOUR_NAMES } from './flavours/dishonest/names.ts';
export { isHonest } from './flavours/flavour.ts';
export { nodeCounts } from './flavours/tampered/control.ts';
export { type Counts, type TamperSettings, tamperedOf } from './flavours/tampered/settings.ts';
export {
  type ExpectedContent,
  expectBytes,
  expectFile,
  expectForm,
  expectTar,
  formOf,
  type SiteDocuments,
  type StoredAs,
  type TarStoredAs,
} from './inspect/ledger/content.ts';
export type { ChunkHolder, Ledger, LedgerEntry, LedgerVerdict } from './inspect/ledger/ledger.ts';
export { type Placement, PlacementWatch, rankStorers, type Storer } from './inspect/ledger/placement.ts';
export { type CongestedNeighbourhood, congestionOf } from './inspect/status/congestion.ts';
export { type Diagnosis, diagnose, type LossCause } from './inspect/trace/diagnosis.ts';
export { explainLosses, waysOfLost } from './inspect/trace/losses.ts';
export type { TracedNode } from './inspect/trace/witnesses.ts';
export type { LatencySummary, PercentileName } from './metrics/distribution.ts';
export type {
  FailedOperation,
  OperationKey,
  OperationSummary,
  Recorder,
  SlowOperation,
  TimedOperation,
} from './metrics/recorder.ts';
export type { OperationTimeline } from './metrics/timeline.ts';
export { formatBytes } from './report/console.ts';
export type { Figure, LedgerResult, Loss } from './report/result.ts';
export type {
  FeedsConfig,
  ReadPattern,
  SizeDistribution,
  SizeRange,
  StoredObject,
  TargetNode,
  UploadRecord,
} from './run/load/k6/config.ts';
export {
  type LimitLoad,
  type LimitOptions,
  type LimitResult,
  limitText,
  runLimit,
} from './run/load/limit/limit-run.ts';
export type { Limiter } from './run/load/limit/limiter.ts';
export type { Limit, LimitStep, StepOutcome } from './run/load/limit/search.ts';
export { runLoadStep } from './run/load/load-run.ts';
export { type Arrivals, atRate, type OpenLoop } from './run/load/open-loop.ts';
export { LOAD_PARAMETERS, type LoadParameters, loadPlan } from './run/load/parameters.ts';
export type {
  LoadModel,
  LoadOptions,
  LoadPlan,
  LoadProfile,
  LoadProgress,
  LoadStep,
  LoadUpload,
  PreparedBatch,
  PreparedLoad,
} from './run/load/plan.ts';
export { loadContent, prepareLoad, type SignedUpdate, signUpdates } from './run/load/prepare.ts';
export { findScript, type LoadScript, type LoadScriptFacts } from './run/load/scripts.ts';
export type {
  Comparison as ThresholdComparison,
  Figure as ThresholdFigure,
  Threshold,
  ThresholdVerdict,
} from './run/load/thresholds.ts';
export { expectedUpload, LEDGER_KINDS } from './run/load/uploads.ts';
export {
  type AlwaysCondition,
  defineScenario,
  type ParameterKind,
  type ParameterSpec,
  type ParametersOf,
  type ParameterTable,
  type ParameterValue,
  parameter,
  type Scenario,
  type ScenarioContext,
  type SeededRandom,
  type StepProgress,
  type VaryBounds,
} from './run/scenario.ts';
export { parseScheduleDocument } from './run/schedule/document.ts';
export {
  ARRIVAL,
  DISHONEST,
  DISK_SLOW,
  DRAWN_FAULTS,
  type DrawBounds,
  drawFaults,
  LINK_WORDS,
  MACHINE_WORDS,
  POWER_CUT,
  TORN_PAGES,
} from './run/schedule/draw.ts';
export { MESSAGE_FAULT } from './run/schedule/draw-message.ts';
export type { RandomIntegers } from './run/schedule/random.ts';
export { type Progress, runSchedule, type ScheduleDeps } from './run/schedule/run-schedule.ts';
export {
  type FaultTrigger,
  type Milestone,
  type OperationKeys,
  readSchedule,
  type Schedule,
  type ScheduledFault,
  type ScheduledOperation,
  type ScheduledUpload,
  writeSchedule,
} from './run/schedule/schedule.ts';

/** How long to wait. */
export interface WaitOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** For expensive probes. Default: 200 ms. */
  readonly longestPauseMs?: number;
  /** Default: the machine's. */
  readonly clock?: Clock;
}

/**
 * @param what completes "… within 20 s", such as `the nodes are not meshed`
 * @throws HarnessError `WAIT_TIMEOUT` with what was missing last, `INTERRUPTED`; the probe's errors
 */
export function until<T>(what: string, probe: Probe<T>, options: WaitOptions): Promise<T> {
  return poll(what, probe, { clock: MACHINE_CLOCK, ...options });
}

/** Ends early when the signal aborts, which a caller checks. */
export function pause(
  ms: number,
  signal: AbortSignal,
  clock: Pick<Clock, 'sleep'> = MACHINE_CLOCK,
): Promise<void> {
  return rest(clock, ms, signal);
}
