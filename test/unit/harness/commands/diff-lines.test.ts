import { expect, test } from 'vitest';
import { linesOf } from '../../../../harness/commands/diff-lines.ts';
import type { Difference } from '../../../../harness/inspect/differences/compare.ts';

const STYLE = { width: 120, colour: false, live: false };
const money = (what: string): Difference => ({ kind: 'money', what, seen: { svc: '1', other: '2' } });

test('differences that only numbers and addresses tell apart are one line', () => {
  const pushes = [0, 1, 2].map((po) =>
    money(`pushsync from a light peer to node-0, chunk 5a2a038${po} at proximity ${po}`),
  );
  const gets = [0, 1].map((po) =>
    money(`retrieval from a light peer to node-1, chunk 5a2a038${po} at proximity ${po}`),
  );
  const tag: Difference = { kind: 'http', what: 'upload: node-0 GET /tags', seen: { svc: '1', other: '2' } };
  const [first, second, third] = pushes as [Difference, Difference, Difference];
  const differences = [first, gets[0] as Difference, second, tag, gets[1] as Difference, third];
  const lines = linesOf(
    { name: 'other', differences, counts: { money: 5, http: 1 }, accepted: {}, compared: 9 },
    STYLE,
  );
  expect(lines).toEqual([
    '  ✖ other: 9 facts compared, 6 differences (5 money, 1 http); the first:',
    '    money pushsync from a light peer to node-0, chunk 5a2a0380 at proximity 0',
    '      svc     1',
    '      other   2',
    '      and 2 more like it',
    '    then   money retrieval from a light peer to node-1, chunk 5a2a0380 at proximity 0, and 1 more like it',
    '    then   http upload: node-0 GET /tags',
    '',
  ]);
});
