import { expect, test, vi } from 'vitest';
import type { NodeStatus, StatusDocument } from '../../../../../harness/inspect/status/document.ts';
import { fitted, shortVersion, statusText, textLines } from '../../../../../harness/inspect/status/text.ts';

const STYLE = { width: 60, colour: false, live: true };

function node(index: number, given: Partial<NodeStatus> = {}): NodeStatus {
  const figures = { peers: 4, depth: 1, reserve: 12, block: 20, balances: [], unheard: [], lacking: [] };
  return { name: `node-${index}`, flavour: 'svc', mode: 'full', state: 'running', ...figures, ...given };
}

function page(
  nodes: readonly NodeStatus[],
  problems: readonly string[] = [],
  width = 80,
  given: Partial<StatusDocument> = {},
) {
  const document: StatusDocument = {
    at: '2026-01-01T00:00:00.000Z',
    name: 'net',
    seed: 1,
    chain: { rpc: 'http://chain', height: 20 },
    nodes,
    debts: [],
    unlinked: [],
    faults: [],
    problems,
    ...given,
  };
  return statusText(document, { style: STYLE, width });
}

test('commands in a problem are as typed here, in its lines of the given width', () => {
  vi.stubEnv('npm_lifecycle_event', 'npx');
  const { verdict } = page([node(0)], ['node-0 has crashed; see its log: svcnet logs node-0'], 58);
  vi.unstubAllEnvs();
  expect(verdict.join(' ')).toMatch(/see its log:\s+npx svcnet\s+logs\s+node-0/);
  expect(Math.max(...verdict.map((line) => line.length))).toBeLessThanOrEqual(58);
});

test('a row shows unknown values as a dash, and names a silent node', () => {
  const silence = { peers: null, depth: null, reserve: null, block: null, balances: null, answers: false };
  const lines = textLines(page([node(0), node(1, silence)]));
  expect(lines[2]).toMatch(/^ {2}node-0 +svc +running +4 +1 +12 chunks +20 +-$/);
  expect(lines[3]).toMatch(/^ {2}node-1 +svc +no answer +- +- +- +- +-$/);
  expect(lines.at(-1)).toBe('  all is well');
});

test('a row names the version of another program, without its build', () => {
  const version = '2.8.1-6e8a2e2';
  const lines = textLines(page([node(0, { version }), node(1, { version, flavour: 'bee', mode: 'light' })]));
  expect(lines[2]).toMatch(/^ {2}node-0 +svc +running/);
  expect(lines[3]).toMatch(/^ {2}node-1 +bee 2\.8\.1 light +running/);
  const programs = textLines(page([node(0, { version }), node(1, { version, binary: '/x/changed' })]));
  expect(programs[2]).toMatch(/^ {2}node-0 +svc +running/);
  expect(programs[3]).toMatch(/^ {2}node-1 +svc 2\.8\.1 \(changed\) +running/);
});

test('the slowest link is one that does not answer, if any', () => {
  const slowest = { peer: 'node-2', latencyMs: 1.26 };
  const lines = textLines(page([node(0, { slowest }), node(1, { slowest, unheard: ['node-3'] })]));
  expect(lines[2]).toMatch(/node-2 1\.3 ms$/);
  expect(lines[3]).toMatch(/node-3 no answer$/);
});

test('faults, accounts that differ and pings without an answer are told where all would be well', () => {
  const fault = { id: 'fault-1', kind: 'message', at: 0, text: 'drops receipts' } as never;
  const debt = { debtor: 'node-2', creditor: 'node-4', units: '8630000' };
  const debts = [
    { ...debt, creditorCounts: '13190000' },
    { ...debt, debtor: 'node-3' },
  ];
  const nodes = [node(0, { unheard: ['node-3'] }), node(1)];
  const versions = ['2.7.1-aa', '2.8.1-bb'].map((version, i) => ({
    flavour: 'bee',
    version,
    names: [`node-${i}`],
  }));
  const { tables, verdict } = page(nodes, [], 200, { faults: [fault], debts, unlinked: [versions] });
  expect(verdict).toEqual([
    '  no problem, but 1 fault active; node-0 has pinged node-3 without an answer; no link between bee 2.7.1 (node-0) and bee 2.8.1 (node-1); two nodes disagree on 1 debt',
  ]);
  expect(tables.join('\n')).toMatch(/node-2 owes node-4 +8,630,000 +node-4 says it is 13,190,000/);
});

test('no line is longer than the terminal is wide, and no word of a problem is lost', () => {
  const problem =
    'neighbourhood 01: 85 chunks of node-0 and 3 more wait, node-2 is full (300 of 300 chunks); add a node';
  const { verdict } = page([node(0)], [problem], 60);
  expect(Math.max(...verdict.map((line) => line.length))).toBeLessThanOrEqual(60);
  expect(verdict.map((line) => line.trim()).join(' ')).toBe(`✖ ${problem}`);
});

const NODES = Array.from({ length: 20 }, (_, index) => node(index));
const PROBLEMS = Array.from({ length: 12 }, (_, index) => `node-${index} is killed`);

test.each([1, 2, 3, 5, 10, 24, 40])('a page has at most %d lines when the terminal has no more', (rows) => {
  expect(fitted(page(NODES, PROBLEMS), rows).length).toBeLessThanOrEqual(rows);
});

test('when there is not enough height, nodes give way to problems', () => {
  const lines = fitted(page(NODES, PROBLEMS.slice(0, 2)), 10);
  expect(lines).toHaveLength(10);
  expect(lines.slice(-3)).toEqual(['  … 15 more lines', '  ✖ node-0 is killed', '  ✖ node-1 is killed']);
});

test('a page that fits is shown whole', () => {
  const whole = page(NODES, PROBLEMS);
  expect(fitted(whole, 60)).toEqual(textLines(whole));
});

test.each([
  ['2.8.1-6e8a2e2', '2.8.1'],
  ['2.8.2-rc1-dev', '2.8.2-rc1'],
  ['2.8.2-rc.1', '2.8.2-rc.1'],
  ['0.9.0', '0.9.0'],
])('of version %s, %s is shown', (version, shown) => {
  expect(shortVersion(version)).toBe(shown);
});
