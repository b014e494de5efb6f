import { describe, expect, test } from 'vitest';
import type { Link, LinkGap, NodeBooks } from '../../../harness/cluster/books/books.ts';
import { booksAfterWork, grown, underWay } from '../../../scenarios/steps/money.ts';
import { VirtualClock } from '../onchain/virtual-clock.ts';

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

describe('differences that grow', () => {
  const NONE = {
    balance: 0n,
    limit: undefined,
    timeSent: 0n,
    timeReceived: 0n,
    chequeSent: 0n,
    chequeReceived: 0n,
  };
  const node = (name: string, peer: string, counts: Partial<Link>): NodeBooks => ({
    name,
    overlay: name,
    account: name,
    chequebook: undefined,
    wipes: 0,
    links: [{ ...NONE, peer, ...counts }],
  });
  const pair = (a: Partial<Link>, b: Partial<Link>) => [node('a', 'b', a), node('b', 'a', b)];

  test('a cheque that is credited twice is one, on a link with an older difference too', () => {
    const earlier = pair({ balance: -8n }, { balance: 10n });
    const paid = pair({ balance: -3n, chequeSent: 5n }, { balance: 0n, chequeReceived: 5n });
    expect(grown(earlier, paid)).toEqual([
      'balance of a and b differed by 2, now by 3: a says -3 of b, which says 0',
    ]);
  });

  test('one that ends, or stays, is none', () => {
    const earlier = pair({ timeSent: 7n }, { timeReceived: 4n });
    expect(grown(earlier, pair({ timeSent: 9n }, { timeReceived: 9n }))).toEqual([]);
    expect(grown(earlier, pair({ timeSent: 10n }, { timeReceived: 7n }))).toEqual([]);
  });

  test('the directions of a link are told apart', () => {
    const earlier = pair({ chequeSent: 3n }, {});
    expect(grown(earlier, pair({ chequeSent: 3n }, { chequeSent: 3n }))).toEqual([
      'by cheques from b to a differed by 0, now by 3: by cheques: b has sent 3 to a, which has received 0',
    ]);
  });
});

test('books that nobody has read in time are no books without differences', async () => {
  const clock = new VirtualClock();
  const options = { cluster: { clock }, timeoutMs: 1, signal: new AbortController().signal };
  const hangs = (signal: AbortSignal) =>
    clock.sleep(60_000, signal).then(() => expect.fail('the wait is over by now'));
  await expect(booksAfterWork([], hangs, options)).rejects.toThrow('the books could not be read');
  expect(await booksAfterWork([], () => Promise.resolve([]), options)).toEqual([]);
});
