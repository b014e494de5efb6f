import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { everyScenarioPasses, NOT_SIMULATED } from '../scenarios/catalogue.ts';

const PAGE = new URL('../../../docs/guides/virtual-time.md', import.meta.url);

everyScenarioPasses();

test('the documentation names the scenarios that cannot be simulated, and no others', () => {
  const [, part = ''] = readFileSync(PAGE, 'utf8').split(
    'A run skips the scenarios that a simulation cannot run',
  );
  const table = part.trimStart().split(/\n\n/)[1] ?? '';
  const named = Array.from(table.matchAll(/^\| `([a-z-]+)` \|/gm), ([, name]) => name);
  expect(named).toEqual(Object.keys(NOT_SIMULATED));
});
