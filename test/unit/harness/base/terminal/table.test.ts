import { expect, test } from 'vitest';
import { clip, renderLists, renderTable, wrap } from '../../../../../harness/base/terminal/table.ts';

const COLUMNS = [
  { title: 'name', rank: 0 },
  { title: 'api', rank: 0 },
  { title: 'debug', rank: 2 },
  { title: 'p2p', rank: 5 },
  { title: 'overlay', rank: 0 },
  { title: 'account', rank: 4 },
  { title: 'batch', rank: 1 },
] as const;
const ROW = [
  'node-0',
  'http://127.0.0.1:28460',
  'http://127.0.0.1:24834',
  '127.0.0.1:29011',
  '4f1e48eb',
  '40490206',
  '339b1540',
];

test.each([
  [60, ['debug', 'p2p', 'account']],
  [80, ['p2p', 'account']],
  [120, []],
  [Number.POSITIVE_INFINITY, []],
])('at %d columns whole columns are dropped, the least important first', (width, hidden) => {
  const table = renderTable(COLUMNS, [ROW], width);
  expect(table.hidden).toEqual(hidden);
  for (const line of table.lines) expect(line.length).toBeLessThanOrEqual(width);
});

test('remaining values are shown in full, so that they can be copied', () => {
  const [, row = ''] = renderTable(COLUMNS, [ROW], 60).lines;
  for (const value of ['node-0', 'http://127.0.0.1:28460', '4f1e48eb', '339b1540'])
    expect(row).toContain(value);
});

test('columns are as wide as their widest value, and numbers are right-aligned', () => {
  const { lines } = renderTable(
    [
      { title: 'name', rank: 0 },
      { title: 'peers', rank: 0, align: 'right' },
    ],
    [
      ['node-0', '4'],
      ['node-10', '12'],
    ],
    80,
  );
  expect(lines).toEqual(['  name     peers', '  node-0       4', '  node-10     12']);
});

test('only columns that must stay are truncated', () => {
  const { lines, hidden } = renderTable([{ title: 'only', rank: 0 }], [['x'.repeat(100)]], 60);
  expect(hidden).toEqual([]);
  expect(lines[1]).toHaveLength(60);
  expect(lines[1]?.endsWith('…')).toBe(true);
});

test('a text that fits is not truncated', () => {
  expect(clip('abc', 3)).toBe('abc');
  expect(clip('abcd', 3)).toBe('ab…');
});

test('a text is wrapped at spaces, and none of its words is lost', () => {
  expect(wrap('  ✖ node-2 is full, add a node', 16, '    ')).toEqual([
    '  ✖ node-2 is',
    '    full, add a',
    '    node',
  ]);
  expect(wrap('short', 60, '    ')).toEqual(['short']);
  expect(wrap('as wide as it is', Number.POSITIVE_INFINITY, '')).toEqual(['as wide as it is']);
});

test('a word longer than a line is split, not lost', () => {
  expect(wrap(`long ${'x'.repeat(20)}`, 10, '  ').map((line) => line.trim())).toEqual([
    'long',
    'x'.repeat(8),
    'x'.repeat(8),
    'x'.repeat(4),
  ]);
});

test('a cell, a cut text and a wrapped one are lines of plain text, whatever they hold', () => {
  const hostile = 'a\n  b\u001b[31m\u202e';
  const shown = 'a b\\u001b[31m\\u202e';
  const columns = [
    { title: 'name', rank: 0 },
    { title: 'what', rank: 0 },
  ];
  expect(renderTable(columns, [[hostile, 'x']], 80).lines[1]).toBe(`  ${shown}  x`);
  expect(renderLists(columns, [[hostile, hostile]])).toEqual([`  ${shown}`, `    what  ${shown}`]);
  expect(clip(hostile, 80)).toBe(shown);
  expect(wrap(hostile, 80, '')).toEqual([shown]);
});
