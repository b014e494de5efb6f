import { HarnessError } from '../../base/errors.ts';
import { formatMs, suggestion } from '../../base/format.ts';
import type { FaultRequest } from '../../cluster/faults/fault.ts';
import type { BehaviourName } from '../../flavours/dishonest/names.ts';
import { drawMessage, MESSAGE_FAULT } from './draw-message.ts';
import { oneOf, type RandomIntegers } from './random.ts';
import type { ScheduledFault } from './schedule.ts';

/** What faults are drawn from, and how many. */
export interface DrawBounds {
  readonly faults: readonly string[];
  readonly nodes: readonly string[];
  /** Faults begin and end within it. */
  readonly durationMs: number;
  /** Average time from one beginning to the next. */
  readonly everyMs: number;
  /** How long a fault lasts. */
  readonly forMs: readonly [least: number, most: number];
}

/** One every 360 ms for an hour. */
export const FAULTS_MAX = 10_000;

const LATENCY_MIN_MS = 50;
const LATENCY_RANGE_MS = 450;

/** Word of a fault of simulated nodes with machine faults. */
export const POWER_CUT = 'power-cut';
/** Word of a power cut after which the disk also tears what it had confirmed. */
export const TORN_PAGES = 'torn-pages';
const TORN_MOST = 8;
/** Word of a fault of nodes with machine faults. */
export const DISK_SLOW = 'disk-slow';
/** A node joins and then leaves for good, on clusters that can grow. */
export const ARRIVAL = 'add';

/** Word for a node that breaks rules meanwhile. */
export const DISHONEST = 'dishonest';
const FALSE_DELIVERIES: readonly BehaviourName[] = ['wrong-data', 'other-chunk'];
/** None of it confirms what is not kept, so nothing is lost by it. */
const BORNE: readonly BehaviourName[] = ['forged-receipts', 'bad-stamps', 'stale-gossip', 'forged-gossip'];

type Draw = (nodes: readonly string[], random: RandomIntegers) => FaultRequest;

const DRAWN: Readonly<Record<string, Draw>> = {
  kill: (nodes, random) => ({ kind: 'kill', node: oneOf(nodes, random) }),
  pause: (nodes, random) => ({ kind: 'pause', node: oneOf(nodes, random) }),
  partition: (nodes, random) => ({ kind: 'partition', groups: halves(nodes, random), mode: 'drop' }),
  isolate: (nodes, random) => ({ kind: 'isolate', node: oneOf(nodes, random), mode: 'drop' }),
  slow: (nodes, random) => ({
    kind: 'link',
    from: [oneOf(nodes, random)],
    to: ['all'],
    latency: slowBy(random),
  }),
  reset: (nodes, random) => ({ kind: 'link', from: [oneOf(nodes, random)], to: ['all'], reset: true }),
  [POWER_CUT]: (nodes, random) => ({ kind: POWER_CUT, node: oneOf(nodes, random) }),
  [TORN_PAGES]: (nodes, random) => ({
    kind: POWER_CUT,
    node: oneOf(nodes, random),
    torn: 1 + random.below(TORN_MOST),
  }),
  [DISK_SLOW]: (nodes, random) => ({ kind: DISK_SLOW, node: oneOf(nodes, random), by: slowBy(random) }),
  [ARRIVAL]: () => ({ kind: ARRIVAL }),
  [DISHONEST]: (_nodes, random) => ({
    kind: ARRIVAL,
    dishonest: [oneOf(FALSE_DELIVERIES, random), oneOf(BORNE, random)],
  }),
  [MESSAGE_FAULT]: drawMessage,
};

/** They need link faults. */
export const LINK_WORDS: readonly string[] = ['partition', 'isolate', 'slow', 'reset'];
/** They need machine faults. */
export const MACHINE_WORDS: readonly string[] = [POWER_CUT, TORN_PAGES, DISK_SLOW];

/**
 * Draws at least one fault, unless there is no word: one that fits, if gaps are too long or the first would outlast the
 * time. @returns in order of beginning
 * @throws HarnessError `USAGE` for an unknown word, too many faults, or when the shortest does not fit
 */
export function drawFaults(bounds: DrawBounds, random: RandomIntegers): ScheduledFault[] {
  const draws = bounds.faults.map(drawOf);
  if (draws.length === 0) return [];
  if (bounds.durationMs / bounds.everyMs > FAULTS_MAX) {
    throw new HarnessError(
      'USAGE',
      `a fault every ${formatMs(bounds.everyMs)} for ${formatMs(bounds.durationMs)}: expected at least ${formatMs(bounds.durationMs / FAULTS_MAX)} between two, for at most ${FAULTS_MAX} faults`,
    );
  }
  const drawn = drawnFrom(draws, bounds, random);
  if (drawn.length > 0) return drawn;
  const {
    nodes,
    durationMs,
    forMs: [least, most],
  } = bounds;
  if (least > durationMs) {
    throw new HarnessError(
      'USAGE',
      `faults last for ${formatMs(least)} at least, but the storm for ${formatMs(durationMs)}: expected a longer one, or no faults`,
    );
  }
  const forMs = least + random.below(Math.min(most, durationMs) - least + 1);
  const atMs = random.below(durationMs - forMs + 1);
  return [{ id: 's1', when: { atMs }, forMs, request: oneOf(draws, random)(nodes, random) }];
}

function drawnFrom(
  draws: readonly Draw[],
  { nodes, durationMs, everyMs, forMs: [least, most] }: DrawBounds,
  random: RandomIntegers,
): ScheduledFault[] {
  const drawn: ScheduledFault[] = [];
  for (let atMs = gap(everyMs, random); ; atMs += gap(everyMs, random)) {
    const forMs = least + random.below(most - least + 1);
    const request = oneOf(draws, random)(nodes, random);
    if (atMs + forMs > durationMs) return drawn;
    drawn.push({ id: `s${drawn.length + 1}`, when: { atMs }, forMs, request });
  }
}

/** Faults that can be drawn. */
export const DRAWN_FAULTS = Object.keys(DRAWN);

function drawOf(word: string): Draw {
  const draw = Object.hasOwn(DRAWN, word) ? DRAWN[word] : undefined;
  if (draw !== undefined) return draw;
  throw new HarnessError(
    'USAGE',
    `faults: got '${word}', expected some of ${DRAWN_FAULTS.join(', ')}${suggestion(word, DRAWN_FAULTS)}`,
  );
}

function gap(everyMs: number, random: RandomIntegers): number {
  return Math.ceil(everyMs / 2) + random.below(everyMs + 1);
}

function slowBy(random: RandomIntegers): number {
  return LATENCY_MIN_MS + random.below(LATENCY_RANGE_MS);
}

function halves(nodes: readonly string[], random: RandomIntegers): [string[], string[]] {
  const left = [...nodes];
  const minority: string[] = [];
  const size = 1 + random.below(Math.floor(nodes.length / 2));
  while (minority.length < size) minority.push(...left.splice(random.below(left.length), 1));
  return [minority, left];
}
