import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { networkFlag, writtenNetwork } from '../../../../harness/cluster/plan/options/network.ts';
import { KNOB_NAMES, KNOBS } from '../../../../harness/places/simulated/odd/knobs.ts';
import { loadScenario } from '../../../../harness/run/catalogue.ts';
import { planScenarios } from '../../../../harness/run/runner.ts';
import { VARIED, vary } from '../../../../harness/run/vary.ts';

const SEEDS = Array.from({ length: 300 }, (_, seed) => BigInt(seed));
const NOTHING: ReadonlySet<string> = new Set();
const storm = await loadScenario('storm');

function drawn(seed: bigint, given = NOTHING, scenarios = [storm]) {
  const { options, set } = vary(seed, { scenarios, simulated: true, given });
  return { ...options, ...Object.fromEntries(set.map((one) => one.split('='))) } as Record<string, unknown>;
}

test('equal seeds draw the same', () => {
  expect(SEEDS.map((seed) => drawn(seed))).toEqual(SEEDS.map((seed) => drawn(seed)));
});

test('every value is drawn within its bounds, and the bounds are reached', () => {
  const all = SEEDS.map((seed) => drawn(seed));
  const numbers = (name: string) => all.map((one) => Number.parseInt(String(one[name]), 10));
  const span = (name: string) => [Math.min(...numbers(name)), Math.max(...numbers(name))];
  expect(span('nodes')).toEqual([3, 15]);
  expect(numbers('nodes').filter((nodes) => nodes < 9).length).toBeGreaterThan(SEEDS.length * 0.6);
  expect(span('light')).toEqual([0, 2]);
  expect(span('lanes')).toEqual([1, 4]);
  for (const name of ['reserve', 'cache', 'fault-every', 'fault-for']) {
    const [least = 0, most = 0] = (storm.parameters[name]?.vary ?? []) as readonly number[];
    const [low = 0, high = 0] = span(name);
    expect([low >= least, high <= most], name).toEqual([true, true]);
    expect(high - low, name).toBeGreaterThan((most - least) * 0.9);
  }
  expect(new Set(all.map(({ faults }) => faults)).size).toBeGreaterThan(50);
  const odd = all.map((one) => (one['odd'] as readonly string[] | undefined) ?? []);
  expect(odd.filter((names) => names.length === 0).length).toBeGreaterThan(SEEDS.length / 8);
  for (const name of KNOB_NAMES)
    expect(odd.filter((names) => names.includes(name)).length, name).toBeGreaterThan(SEEDS.length / 5);
});

test.each(['power-cut', 'disk-slow'])(
  '%s needs machine faults, and is drawn for simulations alone',
  (word) => {
    const faultsOf = (simulated: boolean) =>
      SEEDS.map((seed) => vary(seed, { scenarios: [storm], simulated, given: NOTHING }).set.join(' '));
    const cuts = (simulated: boolean) => faultsOf(simulated).filter((one) => one.includes(word));
    expect(cuts(true).length).toBeGreaterThan(SEEDS.length / 3);
    expect(cuts(false)).toEqual([]);
  },
);

test('what is drawn can be said on the command line', () => {
  const networks = SEEDS.slice(0, 50).map((seed) =>
    vary(seed, { scenarios: [storm], simulated: true, given: NOTHING }),
  );
  for (const { set, options } of networks) {
    planScenarios([storm], new Map(set.map((one) => one.split('=') as [string, string])));
    if (options.network !== undefined)
      expect(networkFlag(writtenNetwork(options.network as never))).toEqual(options.network);
  }
  const kinds = networks.map(({ options: { network } }) =>
    network === undefined ? 'none' : Object.keys(network).join(),
  );
  expect([...new Set(kinds)].toSorted()).toEqual([
    'latency,jitter',
    'latency,jitter,bandwidth',
    'none',
    'regions',
  ]);
});

test('what is given stays, and draws nothing else differently', () => {
  const { nodes: _nodes, reserve: _reserve, ...others } = drawn(7n);
  expect(drawn(7n, new Set(['nodes', 'reserve']))).toEqual(others);
});

test('nodes are never fewer than a scenario needs, and a parameter that suits one scenario alone stays', async () => {
  const other = { ...storm, name: 'other', needs: { nodes: 9 }, parameters: { ...storm.parameters } };
  other.parameters['lanes'] = { kind: 'integer', default: 2, help: 'without bounds' };
  const all = SEEDS.map((seed) => drawn(seed, NOTHING, [storm, other]));
  expect(Math.min(...all.map(({ nodes }) => Number(nodes)))).toBe(9);
  expect(all[0]).toHaveProperty('reserve');
  expect(all[0]).not.toHaveProperty('lanes');
});

test('the documentation has the bounds of the table', () => {
  const page = readFileSync(new URL('../../../../docs/reference/storms.md', import.meta.url), 'utf8');
  for (const [name, { bounds }] of Object.entries(VARIED))
    expect(page).toContain(`- \`--${name}\`: ${bounds}\n`);
  const rows = Object.entries(KNOBS).map(
    ([name, { about, least, most, allowed }]) =>
      `| \`${name}\` | ${about} | ${least} to ${most} | ${allowed} |\n`,
  );
  expect(page).toContain(rows.join(''));
});
