/**
 * `svcnet run --vary` draws from each seed the cluster, by the table below, and the parameters of scenarios that say within
 * which bounds (`vary`). What is given is never varied.
 */
import { type Random, seededRandom } from '../../formats/random.ts';
import type { DefinitionInput } from '../cluster/plan/definition-input.ts';
import { INTERNET } from '../cluster/plan/options/network.ts';
import { KNOB_NAMES, type KnobName } from '../places/simulated/odd/knobs.ts';
import type { ParameterSpec, Scenario } from './scenario.ts';

const NODES_LEAST = 3;
const NODES_DRAWS = 2;
const NODES_SHARE = 1.5;
const LIGHT_MOST = 2;
const ROUND_TRIP_MOST_MS = 300;
const RATE_LEAST_MBIT = 5;
const RATE_MOST_MBIT = 100;
/** From none to three of four. */
const ODD_SHARES = 4;

interface Drawn {
  readonly nodes?: number;
  readonly light?: number;
  readonly network?: NonNullable<DefinitionInput['network']>;
  readonly odd?: readonly KnobName[];
}

interface Varied<T> {
  readonly bounds: string;
  readonly draw: (random: Random, scenarios: readonly Scenario[]) => T | undefined;
}

export const VARIED: { readonly [Name in keyof Drawn]-?: Varied<NonNullable<Drawn[Name]>> } = {
  nodes: {
    bounds: `from ${NODES_LEAST} (or what a scenario asks for, if less) to ${NODES_SHARE} times that, small more often, never below what it needs`,
    draw: (random, scenarios) => {
      const least = scenarios.map(({ needs, cluster }) =>
        Math.max(needs.nodes, Math.min(NODES_LEAST, cluster.nodes)),
      );
      const most = Math.max(...scenarios.map(({ cluster }) => cluster.nodes)) * NODES_SHARE;
      const draws = Array.from({ length: NODES_DRAWS }, () =>
        between(Math.max(...least), Math.ceil(most), random),
      );
      return Math.min(...draws);
    },
  },
  light: { bounds: `0 to ${LIGHT_MOST}`, draw: (random) => between(0, LIGHT_MOST, random) },
  network: {
    bounds: `none, ${INTERNET}, or a round trip of 1 to ${ROUND_TRIP_MOST_MS}ms that varies by up to half, sometimes at ${RATE_LEAST_MBIT} to ${RATE_MOST_MBIT}Mbit/s (only with --driver simulated)`,
    draw: (random) => {
      const kind = random.below(3);
      if (kind === 0) return undefined;
      if (kind === 1) return { regions: INTERNET };
      const ms = between(1, ROUND_TRIP_MOST_MS, random);
      const line = { latency: `${ms}ms`, jitter: `${random.below(Math.ceil(ms / 2) + 1)}ms` };
      if (random.below(2) === 0) return line;
      return { ...line, bandwidth: `${between(RATE_LEAST_MBIT, RATE_MOST_MBIT, random)}Mbit/s` };
    },
  },
  odd: {
    bounds: 'none, or some of the ways to be odd below (only with --driver simulated)',
    draw: (random) => {
      const share = random.below(ODD_SHARES);
      const some = KNOB_NAMES.filter(() => random.below(ODD_SHARES) < share);
      return some.length === 0 ? undefined : some;
    },
  },
};

interface Variation {
  readonly scenarios: readonly Scenario[];
  readonly simulated: boolean;
  readonly given: ReadonlySet<string>;
}

/** @returns options of the cluster, and `name=value` of parameters */
export function vary(
  seed: bigint,
  { scenarios, simulated, given }: Variation,
): { readonly options: Drawn; readonly set: readonly string[] } {
  const randomOf = (name: string) => seededRandom(seed.toString(), 'vary', name);
  const options = Object.entries(VARIED)
    .filter(([name]) => !given.has(name))
    .map(([name, { draw }]) => [name, draw(randomOf(name), scenarios)]);
  const set = variedParameters(scenarios)
    .filter(([name]) => !given.has(name))
    .map(([name, spec]) => `${name}=${drawnText(spec, simulated, randomOf(name))}`);
  return { options: Object.fromEntries(options) as Drawn, set };
}

/** Any value within the bounds suits each scenario that has one of the name. */
function variedParameters(scenarios: readonly Scenario[]): (readonly [string, ParameterSpec])[] {
  const all = scenarios.flatMap(({ parameters }) => Object.entries(parameters));
  return [...Map.groupBy(all, ([name]) => name).values()].flatMap(([first, ...others]) => {
    const bounds = (row: (typeof all)[number]) => JSON.stringify(row[1].vary);
    const isVaried = first?.[1].vary !== undefined && others.every((row) => bounds(row) === bounds(first));
    return isVaried ? [first] : [];
  });
}

function drawnText(
  { kind, vary: all = [], varySimulated = [] }: ParameterSpec,
  simulated: boolean,
  random: Random,
): string {
  const bounds = all.filter((bound) => simulated || !varySimulated.includes(String(bound)));
  const [least, most] = bounds;
  if (typeof least === 'number' && typeof most === 'number')
    return `${between(least, most, random)}${kind === 'duration' ? 'ms' : ''}`;
  const some = bounds.filter(() => random.below(2) === 0);
  return (some.length > 0 ? some : [bounds[random.below(bounds.length)]]).join();
}

function between(least: number, most: number, random: Random): number {
  return least + random.below(most - least + 1);
}
