import { expect, test } from 'vitest';
import { forTerminal } from '../../../../harness/base/foreign-text.ts';
import type { ScenarioResult } from '../../../../harness/report/result.ts';
import { ScenarioDisplay } from '../../../../harness/report/scenario-display.ts';
import { manualMachine } from '../manual-machine.ts';
import { scenarioResult } from './results.ts';

const EQUAL = { name: 'it is equal', passed: true, observed: 'equal', expected: 'equal' };
const result = (name: string, more: Partial<ScenarioResult> = {}) =>
  scenarioResult({ name, assertions: [EQUAL], ...more });

test('each scenario gets a line when it ends, and those still running are named with their time', async () => {
  const clock = manualMachine();
  const written: string[] = [];
  using display = new ScenarioDisplay(3, { width: 80, colour: false, live: false }, (text) =>
    written.push(text),
  );
  for (const name of ['feed', 'feed', 'gc']) display.update({ name });
  await clock.advance(1000);
  display.update({ name: 'feed', ended: result('feed') });
  display.update({ name: 'gc', ended: result('gc', { result: 'skipped', skipReason: 'needs a Bee' }) });
  expect(written.splice(0)).toEqual([
    expect.stringMatching(/^ {2}✔ feed +1 of 1 assertions +1\.5 s\n$/),
    expect.stringMatching(/^ {2}- gc +needs a Bee +1\.5 s\n$/),
  ]);
  await clock.advance(14_000);
  expect(written.splice(0)).toEqual(['  … 2 of 3 scenarios ended · feed 15.0 s\n']);
  display.update({ name: 'feed', ended: result('feed', { result: 'error' }) });
  await clock.advance(60_000);
  expect(written).toEqual([expect.stringMatching(/^ {2}✖ feed +1 of 1 assertions before it ended /)]);
});

test('no line is wider than a terminal', async () => {
  const clock = manualMachine();
  const written: string[] = [];
  using display = new ScenarioDisplay(9, { width: 60, colour: false, live: true }, (text) =>
    written.push(text),
  );
  for (const name of ['kill-during-upload', 'network-availability', 'redistribution-round'])
    display.update({ name });
  await clock.advance(1000);
  display.update({ name: 'gc', ended: result('gc', { skipReason: 'needs '.repeat(30) }) });
  const lines = written.map((text) => forTerminal(text).replace('\r\u001b[2K', '').trimEnd());
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
});
