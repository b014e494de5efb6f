import { type Clock, clockOn } from '../../../../formats/clock.ts';
import { type Random, seededRandom } from '../../../../formats/random.ts';
import type { Surroundings } from '../../embedded/host.ts';
import { KNOBS, type Knob, type KnobName } from './knobs.ts';

/** Absent: as ever. */
export type OddValues = Readonly<Partial<Record<KnobName, number>>>;

/** The same for each start of a node. @param names of the knobs that may be odd */
export function oddValues(names: readonly KnobName[], seed: string, node: string): OddValues {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = drawn(KNOBS[name], seededRandom(seed, 'odd', name, node));
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Bounds are where mistakes are, and nodes that differ make more of them than nodes that are odd alike. */
function drawn({ least, most }: Knob, random: Random): number | undefined {
  const how = random.below(4);
  if (how === 0) return undefined;
  if (how === 1) return least;
  if (how === 2) return most;
  return least + random.below(1 + random.below(most - least + 1));
}

/** @param given options of the node @returns more of them, in the form of option files */
export function oddOptions(
  values: OddValues,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([knob, value]) => {
      const { option } = KNOBS[knob as KnobName];
      if (option === undefined) return [];
      const { name, unit, atMost } = option;
      const bound = atMost === undefined ? undefined : given[atMost];
      // What is no number the node refuses by itself.
      const fits = bound === undefined ? value : Math.min(value, Number(bound) || value);
      return [[name, unit === '' ? fits : `${fits}${unit}`]];
    }),
  );
}

type Limits = NonNullable<NodeSurroundings['limits']>;

/** Of the node's own work. */
function oddLimits(values: OddValues): Limits {
  return Object.fromEntries(
    Object.entries(values).flatMap(([knob, value]) => {
      const limit: keyof Limits | undefined = KNOBS[knob as KnobName].limit;
      return limit === undefined ? [] : [[limit, value]];
    }),
  );
}

export type NodeSurroundings = ReturnType<Surroundings['platform']>;

/** @param given what surrounds a node that is not odd @param random of this start of the node */
export function oddSurroundings(
  given: NodeSurroundings,
  values: OddValues,
  random: Random,
): NodeSurroundings {
  const { clock } = given;
  const { 'slow-writes': writesMs, 'slow-chain': chainMs } = values;
  return {
    ...given,
    clock: oddClock(clock, values, random),
    limits: oddLimits(values),
    ...(writesMs === undefined ? {} : { defer: inOrder(clock, () => random.below(writesMs + 1)) }),
    ...(chainMs === undefined ? {} : { chain: slowChain(given, () => random.below(chainMs + 1)) }),
  };
}

function oddClock(
  base: Clock,
  { 'late-timers': late = 0, 'early-timers': early = 0, 'late-turns': turns = 0 }: OddValues,
  random: Random,
): Clock {
  // Two draws for each timer cost more than the timer.
  if (late === 0 && early === 0 && turns === 0) return base;
  return clockOn({
    now: () => base.now(),
    monotonic: () => base.monotonic(),
    timer: (ms, wake, inBackground) =>
      base.timer(
        Math.max(Math.min(ms, 1), ms - random.below(early + 1)) + random.below(late + 1),
        wake,
        inBackground,
      ),
    async turn() {
      for (let left = random.below(turns + 1); left > 0; left--) await base.turn();
      await base.turn();
    },
  });
}

function inOrder(clock: Clock, drawMs: () => number): (work: () => void) => void {
  let lastMs = 0;
  return (work) => {
    const nowMs = clock.monotonic();
    lastMs = Math.max(lastMs, nowMs + drawMs());
    clock.timer(lastMs - nowMs, work);
  };
}

function slowChain({ chain, clock }: NodeSurroundings, drawMs: () => number): NodeSurroundings['chain'] {
  return (url) => {
    const endpoint = chain(url);
    return {
      ...endpoint,
      async post(text, deadline) {
        await clock.sleep(drawMs(), deadline.signal);
        return endpoint.post(text, deadline);
      },
    };
  };
}
