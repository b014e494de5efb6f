/**
 * Operations are timed, counted and reported to the harness. In open models an iteration's first one counts from the
 * intended start.
 */
import exec from 'k6/execution';
import { Counter, Rate, Trend } from 'k6/metrics';
import { intendedStartMs } from './arrivals.js';

/** @import { FailureRecord, OperationRecord, UploadRecord } from '../../../harness/run/load/k6/config.ts' */

/** Its operations are in no figure. */
export const WARMUP = 'svcnet_warmup';

const latency = new Trend('svcnet_latency', true);
const errors = new Rate('svcnet_errors');
const succeeded = new Counter('svcnet_succeeded');

/**
 * What an operation has done.
 * @typedef {object} Done
 * @property {number} bytes moved
 * @property {number} [ms] how long it took; default: as long as the work
 * @property {string} [subject] such as a reference
 * @property {UploadRecord} [upload]
 */

/** Why an operation failed. */
export class OperationError extends Error {
  /** @param {FailureRecord} failure */
  constructor(failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** Its first operation has begun. */
let begun = -1;

/**
 * Waiting time of this iteration so far, ms: since its intended start, for the first operation; 0 for later
 * ones.
 * @returns {number}
 */
function waitedMs() {
  const { name, startTime, iterationInTest } = exec.scenario;
  if (exec.vu.iterationInInstance === begun) return 0;
  begun = exec.vu.iterationInInstance;
  const scenario = exec.test.options.scenarios?.[name];
  const intended = scenario === undefined ? undefined : intendedStartMs(scenario, iterationInTest);
  return intended === undefined ? 0 : Math.max(0, iterationStart() - startTime - intended);
}

let startedIteration = -1;
let startedAtMs = 0;

/** Called before anything slow: work before the first operation is the load generator's own. */
export function iterationStart() {
  if (startedIteration !== exec.vu.iterationInInstance) {
    startedIteration = exec.vu.iterationInInstance;
    startedAtMs = Date.now();
  }
  return startedAtMs;
}

/**
 * Times one operation and counts it. An `OperationError` is counted as its failure; anything else thrown is a
 * mistake of the script and ends the iteration.
 * @param {string} operation small letters and hyphens
 * @param {string} node name
 * @param {() => Done | Promise<Done>} work
 * @returns {Promise<Done | undefined>} undefined when it failed
 */
export async function operation(operation, node, work) {
  iterationStart();
  const waited = waitedMs();
  const startMs = Date.now();
  try {
    const done = await work();
    const latencyMs = waited + (done.ms ?? Date.now() - startMs);
    tell({ operation, node, latencyMs, bytes: done.bytes, subject: done.subject, upload: done.upload });
    return done;
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    tell({ operation, node, failure: error.failure });
    return undefined;
  }
}

/** @param {Pick<OperationRecord, 'operation' | 'node' | 'latencyMs' | 'bytes' | 'failure'> & Partial<Record<'subject', string | undefined> & Record<'upload', UploadRecord | undefined>>} seen */
function tell(seen) {
  const { name, startTime, iterationInTest } = exec.scenario;
  const warmup = name === WARMUP;
  const record = {
    ...seen,
    scenarioMs: startTime,
    endMs: Date.now(),
    iteration: iterationInTest,
    ...(warmup ? { warmup } : {}),
  };
  console.log(`svcnet ${JSON.stringify(record)}`);
  if (warmup) return;
  const tags = { operation: seen.operation };
  errors.add(seen.failure !== undefined, tags);
  if (seen.latencyMs === undefined) return;
  latency.add(seen.latencyMs, tags);
  succeeded.add(1, tags);
}
