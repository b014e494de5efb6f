import { expect, test } from 'vitest';
import type { Hop } from '../../../../../harness/inspect/trace/route.ts';
import { recordedText } from '../../../../../harness/inspect/trace/text.ts';

const PAGE = { width: 120, style: { width: 120, colour: false, live: false } };

function linesOf({ pushes = [], requests = [] }: { pushes?: readonly Hop[]; requests?: readonly Hop[] }) {
  const route = { uploads: [], pushes, pulls: [], kept: [], requests };
  const clusters = [{ cluster: '', began: 0, route, fate: { wipes: [], holders: [], isLost: false } }];
  const trace = { run: 'last', reference: 'ab', chunk: 'ab', clusters, recorded: [''], notes: [] };
  return recordedText(trace, PAGE).map((line) => line.trim().replaceAll(/ +/g, ' '));
}

const asked = (detail: string | undefined): Hop => ({
  node: 'node-2',
  from: 'node-0',
  at: 2,
  ms: 1,
  outcome: 'not-delivered',
  detail,
  noCredit: [],
  attempts: [{ number: 1, peer: 'node-3', at: 3, outcome: 'open' }],
});

function requestOf(detail: string | undefined): Hop {
  const failed = {
    number: 1,
    peer: 'node-2',
    at: 1,
    ms: 2,
    outcome: 'failed' as const,
    detail: 'no peer found',
  };
  const attempts = [{ ...failed, hop: asked(detail) }];
  return { node: 'node-0', at: 0, ms: 3, outcome: 'delivered', noCredit: [], attempts };
}

test('a failure that both of its nodes tell alike is one line, with what the node that failed had tried', () => {
  for (const detail of [undefined, 'no peer found']) {
    const lines = linesOf({ requests: [requestOf(detail)] });
    expect(lines.filter((line) => line.includes('✖'))).toEqual([
      expect.stringContaining('1 node-2 ✖ failed: no peer found'),
    ]);
    expect(lines.at(-1)).toContain('node-3 has not answered');
  }
  const other = linesOf({ requests: [requestOf('disk is full')] });
  expect(other.filter((line) => line.includes('✖'))).toHaveLength(2);
});

test('a push without an outcome is not said to be under way', () => {
  const push: Hop = { node: 'node-2', at: 0, outcome: 'open', noCredit: [], attempts: [] };
  expect(linesOf({ pushes: [push] }).at(-1)).toContain('node-2 has it and has reported no outcome');
});

test('a node that signed a receipt is not said to have stored the chunk if it does not report that', () => {
  const push: Hop = { node: 'node-2', at: 0, outcome: 'signed', noCredit: [], attempts: [] };
  expect(linesOf({ pushes: [push] }).at(-1)).toContain('node-2 got it and signed the receipt');
  expect(linesOf({ pushes: [{ ...push, isStored: true }] }).at(-1)).toContain('node-2 got it, stored it and');
});
