import { expect, test } from 'vitest';
import { bundledScenarios } from '../../../../harness/run/catalogue.ts';
import { kindWanted } from '../../../../harness/run/kinds.ts';
import { planScenarios } from '../../../../harness/run/runner.ts';
import { SUITES, scenariosOfSuite, scenariosWithTag, tagsOf } from '../../../../harness/run/suites.ts';

/** They need another program, or the load command. */
const ELSEWHERE = ['load', 'mixed'];

test.each(Object.keys(SUITES))('every value of suite %s is accepted by its scenario', async (name) => {
  for (const { scenario, set } of await scenariosOfSuite(name))
    expect(() => planScenarios([scenario], new Map(Object.entries(set)))).not.toThrow();
});

test('the nightly suite has every scenario of the package', () => {
  const names = new Set(SUITES['nightly']?.members.map(({ name }) => name));
  expect(bundledScenarios().filter((name) => !names.has(name) && !ELSEWHERE.includes(name))).toEqual([]);
});

test('scenarios of a suite that want the same cluster run one after another', async () => {
  const options = (await scenariosOfSuite('ci')).map(({ scenario }) => kindWanted(scenario));
  const starts = options.filter((own, index) => own !== options[index - 1]);
  expect(starts.length).toBe(new Set(options).size);
});

test('scenarios can be chosen by tag and by group', async () => {
  for (const tag of ['kill', 'chaos']) {
    const chosen = await scenariosWithTag(tag);
    expect(chosen.length).toBeGreaterThan(1);
    expect(chosen.every(({ scenario }) => tagsOf(scenario).includes(tag))).toBe(true);
  }
});

test('an unknown suite or tag is refused with the known ones', async () => {
  await expect(scenariosOfSuite('cii')).rejects.toThrow(
    /--suite: got 'cii', expected one of quick, ci, nightly/,
  );
  await expect(scenariosWithTag('kil')).rejects.toThrow(/--tag: got 'kil', expected one of .*kill/);
});
