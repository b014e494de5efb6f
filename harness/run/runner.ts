/** Failures are results; only Ctrl-C and a broken environment end a run. */

import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../formats/clock.ts';
import { seededRandom } from '../../formats/random.ts';
import { VERSION } from '../../formats/version.ts';
import { HarnessError, interrupted, messageOf } from '../base/errors.ts';
import { grouped, suggestion } from '../base/format.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { sourceCommit } from '../base/machine/source-commit.ts';
import { orAborted } from '../base/wait.ts';
import { ClientError } from '../client/errors.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { ClusterNode } from '../cluster/nodes/cluster-node.ts';
import { type Incident, incidentText } from '../cluster/nodes/membership.ts';
import { someNames } from '../cluster/nodes/mesh.ts';
import { seedToJson } from '../cluster/plan/seed.ts';
import { Ledger } from '../inspect/ledger/ledger.ts';
import { takePicture } from '../inspect/status/take-picture.ts';
import { nodesWithoutPeers } from '../inspect/status/without-peers.ts';
import { createRecorder } from '../metrics/recorder.ts';
import type { TestbedMetrics } from '../metrics/testbed.ts';
import { formatBytes, type StepDisplay } from '../report/console.ts';
import { createReport, LEDGER_FILE, writeReport } from '../report/folder.ts';
import { costsOf } from '../report/measures.ts';
import { type Resources, readResources } from '../report/resources.ts';
import {
  type Figure,
  type RunEvent,
  type RunResult,
  runPassed,
  type ScenarioOutcome,
  type ScenarioResult,
} from '../report/result.ts';
import type { NetworkPicture } from '../web/picture/picture.ts';
import { originOf } from './catalogue.ts';
import { eventsOf, mend } from './fault-events.ts';
import { lackingCapability, unmetNeed } from './needs.ts';
import { writeRecipe } from './recipe.ts';
import { Clusters, type ClusterWatch, driverNameOf, plannedFor } from './run-clusters.ts';
import { RunMetrics } from './run-metrics.ts';
import { askedOf, type PlannedScenario, type RunOptions } from './run-options.ts';
import {
  createAssertions,
  ParameterError,
  resolveParameters,
  type Scenario,
  type ScenarioContext,
  Skipped,
  type StepProgress,
} from './scenario.ts';
import { guarded } from './source/guard.ts';
import { MemberWatch } from './watch/members.ts';
import { MessageWatch } from './watch/messages.ts';
import { SafetyWatch } from './watch/safety.ts';

const EVIDENCE_LINES = 15;

/**
 * @param given `--set` values; each must fit at least one scenario
 * @throws ParameterError naming parameter, value and expectation
 */
export function planScenarios(
  scenarios: readonly Scenario[],
  given: ReadonlyMap<string, string>,
): PlannedScenario[] {
  const known = [...new Set(scenarios.flatMap((scenario) => Object.keys(scenario.parameters)))];
  const unknown = [...given.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new ParameterError(
      `no parameter '${unknown}'${suggestion(unknown, known)} (known: ${known.join(', ')})`,
    );
  }
  return scenarios.map((scenario) => {
    const own = [...given].filter(([name]) => Object.hasOwn(scenario.parameters, name));
    return { scenario, parameters: resolveParameters(scenario, new Map(own)) };
  });
}

/**
 * @throws HarnessError when no cluster can be started, or on Ctrl-C: what was seen is reported first, once its cluster is
 * stopped
 */
export async function runScenarios(options: RunOptions): Promise<RunResult> {
  const { clock = MACHINE_CLOCK } = options;
  const book: RunBook = {
    clock,
    startedAt: clock.now(),
    startMs: clock.monotonic(),
    results: [],
    events: [],
  };
  try {
    return await runAll(options, book);
  } catch (error) {
    if (options.signal.aborted && book.results.length > 0) {
      const run = await resultOf(options, book);
      options.onInterrupted?.(run);
      await writeReport(run);
    }
    throw error;
  }
}

interface RunBook {
  readonly clock: Clock;
  readonly startedAt: number;
  readonly startMs: number;
  readonly results: ScenarioResult[];
  readonly events: RunEvent[];
  series?: string;
}

async function runAll(options: RunOptions, book: RunBook): Promise<RunResult> {
  const { results, events } = book;
  createReport(options.report, askedOf(options));
  await writeRecipe(options);
  await using metrics = await RunMetrics.open(options);
  const { testbed } = metrics;
  const messages = new MessageWatch(options.report, metrics.problems);
  await using clusters = new Clusters(options, [...watching(options), messages, metrics]);
  for (const planned of options.planned) {
    const { name } = planned.scenario;
    options.onScenario?.({ name });
    const cluster = await clusters.of(planned);
    const { clock = book.clock } = cluster ?? {};
    const number = cluster !== undefined && clusters.number > 1 ? { cluster: clusters.number } : {};
    const own: RunEvent[] = [];
    let result: ScenarioResult;
    try {
      const surroundings = { clock, cluster, number, options, events: own, testbed };
      result = { ...(await runOne(planned, surroundings)), ...number };
    } finally {
      events.push(...own.map((event) => ({ ...event, ...number })));
    }
    if (cluster !== undefined) {
      const broken = eventsOf(cluster.faults.broken, result.startedAt ?? 0);
      events.push(...broken.map((event) => ({ ...event, ...number })));
    }
    if (metrics.file !== undefined) book.series = metrics.file;
    if (options.signal.aborted) {
      results.push(result);
      throw interrupted(options.signal);
    }
    const picture = cluster === undefined ? undefined : await pictureAfter(cluster, options.signal, metrics);
    results.push(picture === undefined ? result : { ...result, picture });
    options.onScenario?.({ name, ended: result });
    if (result.result !== 'skipped') testbed.scenarioEnded(result.name, result.result === 'passed');
    if (options.signal.aborted) throw interrupted(options.signal);
    if (result.result === 'error' && planned !== options.planned.at(-1)) await clusters.spoiled();
  }
  const kept = await clusters.finish();
  const used = metrics.file === undefined ? undefined : await usedIn(options.report, metrics);
  const run: RunResult = {
    ...(await resultOf(options, book)),
    costs: used && costsOf(results, used),
    kept,
    ...(metrics.problems.length === 0 ? {} : { problems: metrics.problems }),
    ...(messages.notes.length === 0 ? {} : { notes: messages.notes }),
  };
  const unwritten = await writeReport(run);
  return unwritten === undefined ? run : { ...run, problems: [...metrics.problems, unwritten] };
}

/** First: the others look at a cluster as soon as they watch it. */
function watching({ watcher }: RunOptions): ClusterWatch[] {
  if (watcher === undefined) return [];
  return [{ watch: (cluster) => watcher.follow(cluster), release: async () => watcher.leave() }];
}

async function resultOf(options: RunOptions, book: RunBook): Promise<RunResult> {
  const { clock, startedAt, startMs, results, events, series } = book;
  return {
    run: options.name,
    seed: seedToJson(options.seed),
    driver: driverNameOf(options),
    passed: runPassed(results),
    startedAt: new Date(startedAt).toISOString(),
    durationMs: clock.monotonic() - startMs,
    command: options.command,
    scenarios: results,
    events: events.toSorted((a, b) => a.at - b.at),
    environment: await environment(),
    report: options.report,
    series,
  };
}

interface Surroundings {
  readonly clock: Clock;
  readonly cluster: Cluster | undefined;
  /** Of the cluster, if it is not the first. */
  readonly number: Pick<RunEvent, 'cluster'>;
  readonly options: RunOptions;
  readonly events: RunEvent[];
  readonly testbed: TestbedMetrics;
}

/** Nothing that a scenario broke stays broken in a cluster that goes on. A fault without effect is an error. */
async function runOne(planned: PlannedScenario, surroundings: Surroundings): Promise<ScenarioResult> {
  const { clock, cluster, number, options } = surroundings;
  const fromMs = clock.now();
  let wrong: string | undefined;
  let result: ScenarioResult | undefined;
  try {
    // A start waits for peers; of a network that was there before, a scenario may be too early.
    const lonely =
      cluster === undefined || options.attachTo === undefined
        ? []
        : await nodesWithoutPeers(cluster.nodes, options.signal);
    const ended = await runScenario(planned, surroundings);
    result = { ...ended, ...explained(ended, lonely), clusterStartedAt: cluster?.startedAt };
  } finally {
    if (cluster !== undefined) {
      const removed = isRemoved(options.signal.aborted ? undefined : result, options);
      wrong = await mend(cluster.faults, {
        name: planned.scenario.name,
        fromMs,
        began: cluster.startedAt,
        ...number,
        folder: options.report,
        removed,
      });
    }
  }
  if (wrong === undefined) return result;
  const outcome = result.result === 'passed' ? 'error' : result.result;
  return { ...result, result: outcome, error: [result.error, wrong].filter(Boolean).join('\n') };
}

/** @param lonely nodes without a peer when the scenario began */
function explained({ result, error }: ScenarioResult, lonely: readonly ClusterNode[]): { error?: string } {
  if (lonely.length === 0 || result === 'passed' || result === 'skipped') return {};
  const why = `when the scenario began, ${someNames(lonely)} had no peers: what was uploaded there was on no other node`;
  return { error: error === undefined ? why : `${error}\n${why}` };
}

function isRemoved(result: ScenarioResult | undefined, { attachTo, keep }: RunOptions): boolean {
  if (attachTo !== undefined) return false;
  return result === undefined || (result.result === 'error' && keep !== true);
}

async function runScenario(
  { scenario, parameters }: PlannedScenario,
  { clock, cluster, options, events, testbed }: Surroundings,
): Promise<ScenarioResult> {
  const startedAt = clock.now();
  const startMs = clock.monotonic();
  const recorder = createRecorder(clock, classOf, testbed);
  const ledger = new Ledger(join(options.report, LEDGER_FILE));
  const assertions = createAssertions(clock);
  const figures = new Map<string, Figure>();
  const unchecked = new Set<string>();
  const finish = (
    result: ScenarioOutcome,
    more: Pick<ScenarioResult, 'error' | 'skipReason' | 'incidents'> = {},
  ): ScenarioResult => ({
    name: scenario.name,
    result,
    durationMs: clock.monotonic() - startMs,
    startedAt,
    assertions: assertions.list,
    metrics: recorder.summaries(),
    timelines: recorder.timelines(),
    slowest: recorder.slowest(),
    figures: [...figures.values()],
    parameters,
    ledger: ledger.result(),
    digest: cluster?.digest,
    ...(unchecked.size === 0 ? {} : { unchecked: [...unchecked] }),
    ...more,
  });
  const running = cluster?.nodes.filter((node) => node.running) ?? [];
  const driver = cluster && { name: cluster.driver, capabilities: cluster.capabilities };
  const present =
    cluster === undefined || driver === undefined
      ? plannedFor({ scenario, parameters }, options)
      : { nodes: running, driver, chain: cluster.chain };
  const unmet = unmetNeed(scenario, present);
  if (cluster === undefined || driver === undefined || unmet !== undefined) {
    return finish('skipped', { skipReason: unmet ?? 'no cluster was started' });
  }
  testbed.scenario(scenario.name, options.seed.toString());
  testbed.ledger(ledger);
  using watch = new MemberWatch(cluster, (incident) => events.push(incidentEvent(incident)));
  using deadline = clock.deadline(scenario.timeoutMs);
  const outer = AbortSignal.any([options.signal, deadline.signal, watch.signal]);
  const expect: ScenarioContext['expect'] = (name, condition, seen) => {
    testbed.assertion(condition);
    return assertions.expect(name, condition, seen);
  };
  const note = (what: string) => void unchecked.add(what);
  const open = new Set<OpenStep>();
  using safety = new SafetyWatch(cluster, { expect, unchecked: note, signal: outer });
  const context: ScenarioContext = {
    cluster,
    parameters,
    ledger,
    folder: options.report,
    signal: AbortSignal.any([outer, safety.signal]),
    random: (stream) => seededRandom(options.seed.toString(), scenario.name, stream),
    recorder,
    measure: (key, work, bytesOf, intendedMs) => recorder.measure(key, work, bytesOf, intendedMs),
    // The scenario has ended with the first of its conditions that must always hold, whatever it still does.
    expect: (...given) => (safety.signal.aborted ? given[1] : expect(...given)),
    always: (condition) => safety.add(condition),
    figure: (figure) => void figures.set(JSON.stringify([figure.name, figure.of]), figure),
    unchecked: note,
    skip(reason) {
      throw new Skipped(reason);
    },
    requires(capability) {
      const lacking = lackingCapability(driver, capability);
      if (lacking !== undefined) throw new Skipped(lacking);
    },
    step: (name, work) => {
      const ended = (ms: number) => testbed.phase(scenario.name, name, ms / 1000);
      const { display } = options;
      const { startedAt: began } = cluster;
      return runStep(name, work, { clock, began, display, events, ended, open, signal: context.signal });
    },
  };
  try {
    await orAborted(runObserved(scenario, context, options), context.signal);
    await watch.end();
    await safety.end();
  } catch (error) {
    if (options.signal.aborted) return finish('error', { error: interrupted(options.signal).message });
    await watch.end(error);
    if (watch.text !== undefined) return finish('error', await lost(watch, cluster, error));
    if (await safety.isRed()) return finish('failed');
    const isFailed = assertions.list.some(({ passed }) => !passed);
    const lateMs = deadline.signal.aborted ? scenario.timeoutMs : undefined;
    return finish(...brokenOff(error, { isFailed, lateMs, open }));
  }
  if (watch.text !== undefined) return finish('error', await lost(watch, cluster));
  if (assertions.list.length === 0) return finish('error', { error: 'the scenario asserted nothing' });
  return finish(assertions.list.every(({ passed }) => passed) ? 'passed' : 'failed');
}

async function runObserved(
  scenario: Scenario,
  context: ScenarioContext,
  { observe }: Pick<RunOptions, 'observe'>,
): Promise<void> {
  const ended = observe?.(context, scenario.name);
  await guarded(originOf(scenario), async () => scenario.run(context));
  await ended?.();
}

function brokenOff(
  error: unknown,
  {
    isFailed,
    lateMs,
    open,
  }: {
    readonly isFailed: boolean;
    readonly lateMs: number | undefined;
    readonly open: ReadonlySet<OpenStep>;
  },
): [ScenarioOutcome, Pick<ScenarioResult, 'error' | 'skipReason'>] {
  if (error instanceof Skipped) return [isFailed ? 'failed' : 'skipped', { skipReason: error.message }];
  const reached = [...open]
    .map(({ about, seen }) => about + (seen === undefined ? '' : `: ${seen}`))
    .join('\n');
  const late =
    lateMs === undefined
      ? undefined
      : `not finished within ${lateMs / 1000} s: ${reached === '' ? messageOf(error) : reached}`;
  return ['error', { error: late ?? describe(error) }];
}

async function usedIn(
  folder: string,
  { problems }: Pick<RunMetrics, 'problems'>,
): Promise<Resources | undefined> {
  try {
    return await readResources(folder);
  } catch (error) {
    problems.push(`costs are not known: ${messageOf(error)}`);
    return undefined;
  }
}

/** Each node of a dead cluster has a second to answer. */
async function pictureAfter(
  cluster: Cluster,
  signal: AbortSignal,
  { problems }: Pick<RunMetrics, 'problems'>,
): Promise<NetworkPicture | undefined> {
  try {
    await cluster.membership.observe();
    return signal.aborted ? undefined : await takePicture(cluster, signal);
  } catch (error) {
    if (!signal.aborted) problems.push(`no picture of the network: ${messageOf(error)}`);
    return undefined;
  }
}

interface StepSurroundings {
  readonly clock: Clock;
  readonly began: number;
  readonly display: StepDisplay | undefined;
  readonly events: RunEvent[];
  readonly ended: (ms: number) => void;
  readonly open: Set<OpenStep>;
  /** Of the scenario's end: what it cuts off stays open. */
  readonly signal: AbortSignal;
}

/** Begun and not ended. */
interface OpenStep {
  about: string;
  /** Its last progress. */
  seen?: string;
}

async function runStep<R>(
  name: string,
  work: (progress: StepProgress) => Promise<R>,
  { clock, began, display, events, ended, open, signal }: StepSurroundings,
): Promise<R> {
  const at = clock.now();
  const step: OpenStep = { about: name };
  open.add(step);
  display?.start(name, { clock, at: at - began });
  try {
    const result = await work({
      detail(text) {
        step.about = `${name} · ${text}`;
        display?.detail(text);
      },
      progress(done, total, unit) {
        step.seen = `${grouped(done)} of ${grouped(total)} ${unit}`;
        display?.progress(done, total, unit);
      },
    });
    display?.end(true, clock.now() - at);
    return result;
  } catch (error) {
    display?.end(false, clock.now() - at);
    throw error;
  } finally {
    if (!signal.aborted) open.delete(step);
    const endAt = clock.now();
    events.push({ kind: 'phase', at, endAt, text: step.about });
    ended(endAt - at);
  }
}

function incidentEvent(incident: Incident): RunEvent {
  return { kind: 'incident', at: incident.at, part: incident.part, text: incidentText(incident) };
}

/** `scenarios.md` 8.4. */
function classOf(error: unknown): string {
  if (error instanceof ClientError) return error.class;
  return error instanceof HarnessError ? `harness.${error.code.toLowerCase()}` : 'unknown';
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof HarnessError) return [error.message, error.hint].filter(Boolean).join('\n');
  return error instanceof ClientError ? error.message : (error.stack ?? error.message);
}

async function lost(
  watch: MemberWatch,
  cluster: Cluster,
  error?: unknown,
): Promise<{ error: string; incidents: readonly Incident[] }> {
  const consequence =
    error === undefined || watch.signal.reason === error ? [] : [`then: ${describe(error).split('\n')[0]}`];
  const concerned = new Set(watch.incidents.map(({ part }) => part));
  const words = await Promise.all(
    Array.from(cluster.logged ? concerned : [], async (part) => {
      const log = cluster.logOf(part);
      const lines = await log.tail(EVIDENCE_LINES);
      return [`end of ${log.where}:`, ...lines.map((line) => `  ${line}`)].join('\n');
    }),
  );
  return { error: [watch.text, ...consequence, ...words].join('\n'), incidents: watch.incidents };
}

async function environment(): Promise<Record<string, string | number>> {
  const commit = await sourceCommit();
  return {
    svcnet: VERSION,
    ...(commit === undefined ? {} : { commit }),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memory: formatBytes(totalmem()),
  };
}
