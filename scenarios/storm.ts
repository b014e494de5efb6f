/**
 * Everything at once on every node: uploads, downloads, messages, payments and faults, by seed or schedule. Then faults are
 * healed, and everything acknowledged must be there.
 */
import type { Fault } from 'svcnet';
import {
  ARRIVAL,
  type Books,
  DISHONEST,
  DISK_SLOW,
  defineScenario,
  drawFaults,
  effectText,
  inertAmong,
  LINK_WORDS,
  linkGaps,
  MACHINE_WORDS,
  MESSAGE_FAULT,
  POWER_CUT,
  parseScheduleDocument,
  pause,
  plural,
  readDefinitionFile,
  readSchedule,
  runSchedule,
  type Schedule,
  type ScheduledFault,
  TORN_PAGES,
  writeSchedule,
} from 'svcnet/scenario';
import { checkBooks, countedFromNow, underWay } from './steps/money.ts';
import { requireElastic } from './steps/presence.ts';
import { watchSlots } from './steps/stamps.ts';
import { verifyLedger, workingNodes } from './steps/steps.ts';
import { expectNone, placed, readBack, refusals, sync, whole } from './steps/storm/checks.ts';
import { watchDeliveries } from './steps/storm/deliveries.ts';
import type { Arrivals } from './steps/storm/departures.ts';
import { plannedKills } from './steps/storm/drawn.ts';
import { expired, shortBatch } from './steps/storm/expiry.ts';
import { growth, usesOf } from './steps/storm/growth.ts';
import { givenUp } from './steps/storm/harm.ts';
import { StormLoad } from './steps/storm/load.ts';
import { NEIGHBOURHOODS, STORM_PARAMETERS, type StormContext } from './steps/storm/parameters.ts';
import { payloads } from './steps/storm/payloads.ts';
import { watchSafety } from './steps/storm/safety.ts';

const TIMEOUT_MS = 24 * 3_600_000;
/** Balances agree as soon as nothing is under way. */
const SETTLED_WITHIN_MS = 60_000;
/** The shortest fault. */
const FAULT_MIN_MS = 500;
const SHOWN_EVERY_MS = 1000;
/** Kept by a node, of its last chunks. */
const EVENTS = 20_000;
/** In schedules alone. */
const DEPARTURE = 'remove';
const MEMBERS: readonly string[] = [ARRIVAL, DISHONEST, DEPARTURE];
const POWER: readonly string[] = [POWER_CUT, TORN_PAGES];
/** The tap hears whether nodes deliver what is wrong. */
const TAPPED: readonly string[] = [MESSAGE_FAULT, DISHONEST, TORN_PAGES];

export default defineScenario({
  name: 'storm',
  group: 'chaos',
  about:
    'Uploads, downloads, sends messages and pays while faults come and go, then heals them and checks everything.',
  parameters: STORM_PARAMETERS,
  needs: { nodes: 2 },
  cluster: {
    nodes: 10,
    credit: 'network',
    neighbourhoods: NEIGHBOURHOODS,
    linkFaults: ({ faults }) => faults.some((word) => LINK_WORDS.includes(word)),
    machineFaults: ({ faults }) => faults.some((word) => MACHINE_WORDS.includes(word)),
    tap: ({ faults }) => TAPPED.some((word) => faults.includes(word)),
    optionsFor: ({ reserve, cache, faults }) => ({
      'reserve-capacity': reserve,
      'cache-capacity': cache,
      // Others confirm what they have not synced.
      ...(POWER.some((word) => faults.includes(word)) ? { durability: 'disk' } : {}),
      'minimum-storage-radius': 1,
      // For lost chunks' routes.
      'chunk-events': EVENTS,
    }),
  },
  timeoutMs: TIMEOUT_MS,
  alone: true,
  async run(context) {
    const { schedule, faults } = context.parameters;
    const given = schedule === '' ? undefined : await scheduleOf(context, schedule);
    if (faults.some((word) => LINK_WORDS.includes(word))) context.requires('linkFaults');
    if (POWER.some((word) => faults.includes(word))) context.requires('power');
    if (faults.includes(DISK_SLOW)) context.requires('disk');
    const kinds = given?.faults.map(({ request }) => request.kind) ?? faults;
    if (MEMBERS.some((kind) => kinds.includes(kind))) requireElastic(context);
    if (TAPPED.some((kind) => kinds.includes(kind))) context.requires('tap');
    await using _deliveries = watchDeliveries(context);
    const short = await shortBatch(context);
    const before = await checkBooks(context);
    const uses = await usesOf(context);
    const load = await rage(context, given, before);
    using messages = load.messages;
    using _departures = load.operations.departures;
    await whole(context);
    await messages.conclude();
    await sync(context, load.operations);
    await load.operations.departures.conclude();
    await payloads(context);
    await load.updates.conclude(load.operations.departures);
    const count = await countedFromNow(context);
    await readBack(context, load.operations);
    await count();
    await placed(context, load.operations);
    await balance(context, load, before);
    await refusals(context, load.operations.departures);
    if (short !== undefined) await expired(context, short);
    await growth(context, uses);
    await verifyLedger(context);
    const { taken } = load.operations.departures;
    if (taken.size > 0) context.figure({ name: 'chunks that left with a node', value: taken.size, unit: '' });
  },
});

async function scheduleOf(context: StormContext, path: string): Promise<Schedule> {
  if (!/\.ya?ml$/.test(path)) return readSchedule(path);
  const input = await readDefinitionFile(path, 'schedule');
  const nodes = workingNodes(context.cluster.nodes).map(({ name }) => name);
  return parseScheduleDocument(input, { source: path, nodes, random: context.random('faults') });
}

/** Both ends count the same, except what was under way when one died or gave up. */
async function balance(context: StormContext, load: StormLoad, before: Books): Promise<void> {
  const payments = await givenUp(context);
  const isExplained = underWay((name) => (load.harmed.get(name) ?? 0) + (payments.get(name) ?? 0));
  const { nodes } = await checkBooks(context, { before, timeoutMs: SETTLED_WITHIN_MS, isExplained });
  const gaps = linkGaps(nodes);
  context.figure({ name: 'counts that differ since a fault', value: gaps.length, unit: '' });
  const largest = gaps.reduce((most, { gap }) => (gap > most ? gap : most), 0n);
  context.figure({ name: 'largest of these differences', value: largest.toString(), unit: 'units' });
}

/** Whatever ends it, the schedule so far is in the run's folder. */
function rage(context: StormContext, given: Schedule | undefined, before: Books): Promise<StormLoad> {
  return context.step('storm', async (progress) => {
    const { cluster, parameters, signal } = context;
    const { duration, faults: kinds, 'fault-every': everyMs, 'fault-for': most } = parameters;
    const durationMs = given?.durationMs ?? duration;
    const targets = workingNodes(cluster.nodes).map(({ name }) => name);
    const bounds = {
      faults: kinds,
      nodes: targets,
      durationMs,
      everyMs,
      forMs: [Math.min(FAULT_MIN_MS, most), most],
    } as const;
    const faults = given?.faults ?? drawFaults(bounds, context.random('faults'));
    const ended = new AbortController();
    using limit = cluster.clock.deadline(durationMs, AbortSignal.any([signal, ended.signal]));
    const over = limit.signal;
    const load = new StormLoad(context, { durationMs, signal: over });
    watchSafety(context, load.operations, before);
    load.operations.departures.expect(arrivalsOf(faults));
    load.operations.departures.watch();
    watchSlots(context);
    const show = async () => {
      for (; !over.aborted; await pause(SHOWN_EVERY_MS, over, cluster.clock)) progress.detail(summary(load));
    };
    const showing = show();
    const began = cluster.faults.history.length;
    // A schedule written by hand has only faults.
    const operations = given?.operations ?? [];
    try {
      const work = operations.length === 0 ? load.drawn(plannedKills(faults)) : load.scheduled(operations);
      const faultsDone = runSchedule(
        faults,
        {
          faults: cluster.faults,
          targets: () => cluster.nodes.map(({ name }) => name),
          progress: () => load.progress,
          onFault: (fault) => load.mark(fault),
        },
        over,
      );
      // A failure of either ends the other.
      const both = [work, faultsDone].map((one) =>
        one.catch((error: unknown) => {
          ended.abort();
          throw error;
        }),
      );
      const [first] = (await Promise.allSettled(both)).filter((one) => one.status === 'rejected');
      if (first !== undefined) throw first.reason;
    } catch (error) {
      load.messages[Symbol.dispose]();
      load.operations.departures[Symbol.dispose]();
      throw error;
    } finally {
      ended.abort();
      await showing;
      writeSchedule(context.folder, { schema: 1, durationMs, faults, operations: load.begun });
    }
    if (operations.length === 0) taken(context, load);
    const begun = cluster.faults.history.slice(began);
    if (faults.length > 0) {
      const seen = { observed: `${begun.length} of ${faults.length}`, expected: 'at least 1' };
      context.expect('faults were injected', begun.length > 0, seen);
    }
    const lines = inertAmong(begun).map((fault) => `${fault.text}: ${effectText(fault.effect)}`);
    expectNone(context, 'every fault has an effect', lines, plural(begun.length, 'fault'));
    figureUnmet(context, begun);
    for (const [name, value] of load.counts) context.figure({ name, value, unit: '' });
    context.figure({ name: 'faults', value: begun.length, unit: `of ${faults.length}` });
    progress.detail(summary(load));
    return load;
  });
}

function arrivalsOf(faults: readonly ScheduledFault[]): Arrivals {
  const arrivals: Arrivals = { honest: 0, dishonest: 0 };
  for (const { request } of faults.filter((fault) => fault.request.kind === ARRIVAL))
    arrivals[request['dishonest'] === undefined ? 'honest' : 'dishonest'] += Number(request['count'] ?? 1);
  return arrivals;
}

function figureUnmet(context: StormContext, begun: readonly Fault[]): void {
  const met = begun.flatMap(({ effect }) => effect['messages met'] ?? []);
  if (met.length === 0) return;
  const value = met.filter((count) => count === 0).length;
  context.figure({ name: 'faults that met no message', value, unit: `of ${met.length}` });
}

/** If nothing is accepted, later conditions mean nothing. */
function taken(context: StormContext, { begun, operations: { uploaded } }: StormLoad): void {
  const uploads = begun.filter((operation) => operation.do === 'upload').length;
  if (uploads === 0) {
    context.unchecked('uploads: the time was too short for one');
    return;
  }
  context.expect('nodes take uploads', uploaded.size > 0, {
    observed: `${uploaded.size} of ${uploads}`,
    expected: 'at least 1',
  });
}

function summary({ progress, begun }: StormLoad): string {
  return `${begun.length} operations, ${progress['chunks acknowledged']} chunks acknowledged at once`;
}
