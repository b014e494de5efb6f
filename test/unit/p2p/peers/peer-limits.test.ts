import { expect, test } from 'vitest';
import { PeerLimits } from '../../../../node/p2p/peers/peer-limits.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';

const never = new AbortController().signal;
const RATES = {
  peer: { perSecond: 1, burst: 10 },
  source: { perSecond: 1, burst: 20 },
  nearby: { perSecond: 1, burst: 50 },
};
const peer = (n: number, remoteAddress: string) => ({ overlayHex: `peer ${n}`, remoteAddress });

test.each([
  ['/ip4/8.8.8.8/tcp/1634', 20],
  ['/ip4/127.0.0.1/tcp/1634', 50],
])('peers of %s share a limit of %i, whatever overlays they take', (address, together) => {
  const limits = new PeerLimits(RATES, new ManualClock());
  const taken = (n: number) =>
    Array.from({ length: 15 }, () => limits.tryTake(peer(n, address), 1)).filter(Boolean);
  expect(taken(0)).toHaveLength(10);
  expect(Array.from({ length: 9 }, (_, n) => taken(n + 1).length).reduce((a, b) => a + b)).toBe(
    together - 10,
  );
  expect(limits.tryTake(peer(99, '/ip4/8.8.4.4/tcp/1634'), 1)).toBe(true);
});

test('what its address refuses costs a peer nothing', () => {
  const limits = new PeerLimits(RATES, new ManualClock());
  const crowded = '/ip4/8.8.8.8/tcp/1634';
  for (const n of [0, 1]) expect(limits.tryTake(peer(n, crowded), 10)).toBe(true);
  expect(limits.tryTake(peer(2, crowded), 10)).toBe(false);
  expect(limits.tryTake(peer(2, '/ip4/8.8.4.4/tcp/1634'), 10)).toBe(true);
});

test('a peer in debt waits, another peer of its address only when that is in debt, too', async () => {
  const clock = new ManualClock();
  const limits = new PeerLimits(RATES, clock);
  const [one, other] = [peer(1, '/ip4/8.8.8.8/tcp/1'), peer(2, '/ip4/8.8.8.8/tcp/2')];
  expect(limits.ready(one, never)).toBeUndefined();
  limits.charge(one, 15);
  expect(limits.ready(one, never)).toBeInstanceOf(Promise);
  expect(limits.ready(other, never)).toBeUndefined();
  limits.charge(one, 10);
  const waiting = limits.ready(other, never);
  expect(waiting).toBeInstanceOf(Promise);
  await clock.advance(5_000);
  await waiting;
  await clock.advance(10_000);
  expect(limits.ready(one, never)).toBeUndefined();
});
