import { expect, test } from 'vitest';
import type { LinkGap } from '../../../harness/books/books.ts';
import { underWay } from '../../../scenarios/steps/money.ts';

function gapOf(gap: bigint, what: LinkGap['what'] = 'balance'): LinkGap {
  return { id: what, ends: ['node-0', 'node-1'], what, gap, total: 0n, text: `${gap} ${what}` };
}

test('a gap may be as large as the credit of peers, in accounting units or cheques, and zero without a fault', () => {
  const once = underWay((name) => (name === 'node-0' ? 1 : 0));
  expect(once(gapOf(13_500_000n))).toBe(true);
  expect(once(gapOf(13_500_001n))).toBe(false);
  expect(once(gapOf(135_000_000_000n, 'by cheques'))).toBe(true);
  expect(once(gapOf(135_000_000_001n, 'by cheques'))).toBe(false);
  expect(once(gapOf(13_500_001n, 'by time'))).toBe(false);
  expect(underWay(() => 0)(gapOf(1n, 'by cheques'))).toBe(false);
});

test('many faults explain a tenth of what has passed over a link and twice the credit, no more', () => {
  const often = underWay(() => 20);
  const after = (gap: bigint) => often({ ...gapOf(gap, 'by time'), total: 254_000_000n });
  expect(after(52_400_000n)).toBe(true);
  expect(after(52_400_001n)).toBe(false);
});
