import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { readSides } from '../../../../../harness/report/compare/sides.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';
import { madeRun, writeRun } from './made-runs.ts';

let state: string;
beforeEach(() => void (state = temporaryFolder('svcnet-sides')));

const document = (at: number, more: object = {}) => ({ schema: 2, ...madeRun({ at, seconds: 1 }), ...more });

test('a run is found by its folder and by its name', () => {
  const folder = writeRun(join(state, 'runs', 'first'), document(0));
  const [byFolder, byName] = readSides([folder, 'first'], state);
  expect(byFolder?.runs.map(({ run }) => run)).toEqual(['run-0']);
  expect(byName).toEqual({ name: 'first', runs: byFolder?.runs });
});

test('a folder of repeats is one side, with its runs in order of time', () => {
  writeRun(join(state, 'many', 'round-10'), document(10));
  writeRun(join(state, 'many', 'round-2'), document(2));
  const [side] = readSides([join(state, 'many')], state);
  expect(side?.runs.map(({ run }) => run)).toEqual(['run-2', 'run-10']);
});

test('an unknown name is refused with the nearest one as a hint', () => {
  writeRun(join(state, 'runs', 'upload-1'), document(0));
  expect(() => readSides(['uplaod-1'], state)).toThrow("no run 'uplaod-1', did you mean 'upload-1'?");
});

test('a folder without a report holds no run', () => {
  expect(() => readSides([state], state)).toThrow(`${state}: no run is in it, expected report.json`);
});

test.each([
  ['another version', { ...document(0), schema: 1 }, 'schema 1, expected 2'],
  ['no version', { hello: 'world' }, 'schema none, expected 2'],
  ['no scenarios', { ...document(0), scenarios: undefined }, 'no scenarios, expected a report'],
  ['scenarios that are no list', { ...document(0), scenarios: 7 }, 'no list of scenarios, expected a report'],
  ['a number', 7, 'got 7, expected a report'],
  ['no JSON', '{', 'report.json: '],
])('refuses and names a report with %s', (_, content, message) => {
  const folder = writeRun(join(state, 'runs', 'odd'), content);
  expect(() => readSides([folder], state)).toThrow(message);
  expect(() => readSides([folder], state)).toThrow(expect.objectContaining({ code: 'RUN_INVALID' }));
});

test('runs with different parameters are not repeats', () => {
  writeRun(join(state, 'mixed', 'a'), document(0));
  writeRun(join(state, 'mixed', 'b'), {
    schema: 2,
    ...madeRun({ at: 9, seconds: 1, parameters: { count: 9 } }),
  });
  expect(() => readSides([join(state, 'mixed')], state)).toThrow(
    'not repeats of one run: upload: count is 8 and 9',
  );
});

test('repeats may have a scenario several times, each time with other parameters', () => {
  for (const at of [0, 10]) {
    const [first, second] = [8, 9].map((count) => madeRun({ at, seconds: 1, parameters: { count } }));
    const scenarios = [...(first?.scenarios ?? []), ...(second?.scenarios ?? [])];
    writeRun(join(state, 'many', `seed-${at}`), document(at, { scenarios }));
  }
  expect(readSides([join(state, 'many')], state)[0]?.runs).toHaveLength(2);
});
