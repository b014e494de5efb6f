import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { FAULT_KINDS } from '../../../../../harness/cluster/faults/table.ts';
import { BEHAVIOURS } from '../../../../../harness/flavours/dishonest/table.ts';
import { LINK_PROFILES, type LinkConditions } from '../../../../../harness/places/links/conditions.ts';
import { MEASURED_IN } from '../../../../cluster/faults/measured.ts';

const PAGE = readFileSync(new URL('../../../../../docs/faults.md', import.meta.url), 'utf8');

/** Rows of the table below a heading, without its head. */
function table(head: string): string[] {
  const lines = PAGE.split('\n');
  const start = lines.indexOf(head);
  expect(start, head).toBeGreaterThan(0);
  const rows = lines.slice(start + 2);
  return rows.slice(0, rows.indexOf(''));
}

test('the page lists every kind of fault as the help does', () => {
  const rows = FAULT_KINDS.map(({ name, layer, about }) => `| \`${name}\` | ${layer} | ${about} |`);
  expect(table('| Kind | Layer | What it does |')).toEqual(rows);
});

test('every kind of fault has a file of tests that measures its effect', () => {
  for (const { name, layer } of FAULT_KINDS) {
    const tests = readFileSync(new URL(`../../../../../${MEASURED_IN[layer]}`, import.meta.url), 'utf8');
    const calls = /everyKindMeasured\(([^;]*)\);/.exec(tests)?.[1];
    expect(calls, `${name} in ${MEASURED_IN[layer]}`).toContain(`'${layer}'`);
  }
});

test('the page lists every profile of links with its conditions', () => {
  const rows = Object.entries(LINK_PROFILES).map(([name, conditions]) => {
    const { latencyMs, jitterMs, bytesPerSecond, loss }: LinkConditions = conditions;
    const cells = [
      `\`${name}\``,
      `${latencyMs} ms`,
      jitterMs === undefined ? '' : `${jitterMs} ms`,
      bytesPerSecond === undefined ? '' : `${bytesPerSecond / 125_000} Mbit/s`,
      loss === undefined ? '' : `${loss * 100} %`,
    ];
    return `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |').replaceAll('|  |', '| |');
  });
  expect(table('| Profile | Round trip | Jitter | Bandwidth | Loss |')).toEqual(rows);
});

test('the page names every option of links', () => {
  const link = FAULT_KINDS.find(({ name }) => name === 'link');
  const options = link?.fields?.flatMap(({ flag }) => /^--[\w-]+/.exec(flag)?.[0] ?? []) ?? [];
  expect(options.length).toBeGreaterThan(10);
  for (const option of options) expect(PAGE).toContain(option);
});

test('the page lists every behaviour of dishonest nodes', () => {
  const rows = Object.entries(BEHAVIOURS).map(([name, { about }]) => `| \`${name}\` | ${about} |`);
  expect(table('| Behaviour | What such a node does |')).toEqual(rows);
});
