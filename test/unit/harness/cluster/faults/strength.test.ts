import { expect, test } from 'vitest';
import { FAULT_KINDS } from '../../../../../harness/cluster/faults/table.ts';

const mistakesOf = (kind: string, request: object) => {
  const { schema } = FAULT_KINDS.find(({ name }) => name === kind) ?? {};
  return schema?.safeParse(request).error?.issues.map(({ message }) => message);
};
const from = ['node-0'];

test.each([
  ['link', { from, latency: 0 }, 'each that is given is 0'],
  ['link', { from, latency: '0ms', jitter: 0, loss: '0%' }, 'each that is given is 0'],
  ['link', { from, slowClose: 0 }, 'each that is given is 0'],
  ['link', { from, stall: true, share: 0 }, 'a share of the links above 0'],
  ['link', { from }, 'at least one condition'],
  ['disk-slow', { node: 'node-0', by: 0 }, 'above 0'],
  ['rpc-slow', { by: '0s' }, 'above 0'],
  ['clock', { node: 'node-0', offset: 0 }, 'without them the clock is right'],
])('%s with %j would change nothing and is refused', (kind, request, why) => {
  const mistakes = mistakesOf(kind, request);
  expect(mistakes).toHaveLength(1);
  expect(mistakes?.[0]).toContain(why);
});

test.each([
  ['link', { from, profile: 'world', latency: 0 }],
  ['link', { from, latency: 0, reset: true }],
  ['link', { from, cutAfter: 0 }],
])('%s with %j changes something', (kind, request) => {
  expect(mistakesOf(kind, request)).toBeUndefined();
});
