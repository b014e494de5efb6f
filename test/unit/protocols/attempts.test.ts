import { expect, test } from 'vitest';
import { AccountingError, type Credit } from '../../../node/accounting/ports.ts';
import type { Peer } from '../../../node/p2p/host.ts';
import { type AttemptsPlan, attemptPeers } from '../../../node/protocols/attempts.ts';
import { fakePeer } from '../topology/fake-peer.ts';
import { ManualClock } from './manual-clock.ts';

const never = new AbortController().signal;
const credit: Credit = { apply: () => undefined, release: () => undefined };
const [a, b, c, d] = [1, 2, 3, 4].map((first) => fakePeer(new Uint8Array(32).fill(first))) as [
  Peer,
  Peer,
  Peer,
  Peer,
];
const nameOf = ({ overlay }: Peer) => 'abcd'[overlay[0]! - 1];

function asking(
  peers: readonly Peer[],
  attempt: (peer: Peer) => Promise<string>,
  changes: Partial<AttemptsPlan<string, string>> = {},
) {
  const asked: (string | undefined)[] = [];
  const failed: (string | undefined)[] = [];
  const plan: AttemptsPlan<string, string> = {
    errorsMax: 10,
    skip: new Set(),
    choose: (skip) => peers.find(({ overlayHex }) => !skip.has(overlayHex)),
    multiplex: 0,
    isNeighbour: () => false,
    reserve: () => credit,
    awaitCredit: () => ({ [Symbol.dispose]: () => undefined }),
    attempt(peer) {
      asked.push(nameOf(peer));
      return attempt(peer);
    },
    accept: (delivered) => delivered,
    failed(peer) {
      failed.push(nameOf(peer));
      return true;
    },
    ...changes,
  };
  const clock = new ManualClock();
  return { clock, asked, failed, outcome: attemptPeers(plan, { clock, signal: never }) };
}

const full = (peer: Peer) => Promise.reject(new Error(`${nameOf(peer)} is full`));

test('peers are asked one after another until one delivers', async () => {
  const { asked, failed, outcome } = asking([a, b, c, d], (peer) =>
    peer === c ? Promise.resolve('chunk') : full(peer),
  );
  expect(await outcome).toEqual({ outcome: 'done', result: 'chunk' });
  expect([asked, failed]).toEqual([
    ['a', 'b', 'c'],
    ['a', 'b'],
  ]);
});

test('no further peer is asked once a failure makes further peers useless, however many failures are tolerated', async () => {
  const { asked, outcome } = asking([a, b, c, d], full, { failed: (peer) => peer !== b });
  expect(await outcome).toEqual({ outcome: 'exhausted', cause: new Error('b is full') });
  expect(asked).toEqual(['a', 'b']);
});

test('attempts under way do not keep the call from giving up, and their late deliveries are not taken', async () => {
  const late = Promise.withResolvers<string>();
  const accepted: string[] = [];
  const { clock, asked, outcome } = asking([a, b, c, d], (peer) => (peer === a ? late.promise : full(peer)), {
    multiplex: 1,
    isNeighbour: () => true,
    failed: () => false,
    accept(delivered) {
      accepted.push(delivered);
      return delivered;
    },
  });
  expect(await outcome).toEqual({ outcome: 'exhausted', cause: new Error('b is full') });
  late.resolve('chunk');
  await clock.settle();
  expect([asked, accepted, clock.running]).toEqual([['a', 'b'], [], 0]);
});

test('a peer that has left is not asked whether further peers are of use; the next one is asked', async () => {
  const gone = fakePeer(a.overlay, { closed: AbortSignal.abort() });
  const attempt = (peer: Peer) => (peer === b ? Promise.resolve('chunk') : full(peer));
  const { asked, failed, outcome } = asking([gone, b], attempt, { errorsMax: 1 });
  expect(await outcome).toEqual({ outcome: 'done', result: 'chunk' });
  expect([asked, failed]).toEqual([['a', 'b'], []]);
});

test('further attempts in the neighbourhood that start later end with the call', async () => {
  const late = Promise.withResolvers<string>();
  const { clock, asked, outcome } = asking([a, b, c, d], () => late.promise, {
    multiplex: 2,
    multiplexAfterMs: 1_000,
    isNeighbour: () => true,
  });
  await clock.advance(999);
  expect(asked).toEqual(['a']);
  await clock.advance(1);
  expect(asked).toEqual(['a', 'b', 'c']);
  late.resolve('chunk');
  expect(await outcome).toEqual({ outcome: 'done', result: 'chunk' });
  const prompt = asking([a, b], async () => 'chunk', {
    multiplex: 2,
    multiplexAfterMs: 1_000,
    isNeighbour: () => true,
  });
  await prompt.outcome;
  await prompt.clock.advance(2_000);
  expect([prompt.asked, prompt.clock.running]).toEqual([['a'], 0]);
});

test('the wait for further attempts begins with the first peer that accounting lets be asked', async () => {
  let hasCredit = false;
  const { clock, asked } = asking([a, b, c], () => new Promise(() => undefined), {
    multiplex: 2,
    multiplexAfterMs: 1_000,
    isNeighbour: () => true,
    reserve() {
      if (!hasCredit) throw new AccountingError('OVERDRAFT', 'no credit');
      return credit;
    },
  });
  hasCredit = true;
  await clock.advance(600);
  expect(asked).toEqual(['a']);
  await clock.advance(999);
  expect(asked).toEqual(['a']);
  await clock.advance(1);
  expect(asked).toEqual(['a', 'b', 'c']);
});

function unpaid(...peers: Peer[]) {
  const refused = new Set(peers);
  const waiting = new Map<Peer, () => void>();
  const plan: Partial<AttemptsPlan<string, string>> = {
    reserve(peer) {
      if (refused.has(peer)) throw new AccountingError('OVERDRAFT', 'no credit');
      return credit;
    },
    awaitCredit(peer, wake) {
      waiting.set(peer, wake);
      return { [Symbol.dispose]: () => void waiting.delete(peer) };
    },
  };
  const pay = (peer: Peer) => {
    refused.delete(peer);
    waiting.get(peer)?.();
  };
  return { plan, waiting, pay };
}

test('a peer that accounting refuses is asked the moment it is paid, and waits for no pause', async () => {
  const { plan, waiting, pay } = unpaid(a, b, c);
  const { asked, outcome, clock } = asking([a, b, c], async () => 'chunk', plan);
  expect([...waiting.keys()]).toEqual([a, b, c]);
  pay(b);
  expect(await outcome).toEqual({ outcome: 'done', result: 'chunk' });
  expect(asked).toEqual(['b']);
  expect([waiting.size, clock.running]).toEqual([0, 0]);
});

test('while a peer that is paid answers, no other is asked because it is paid too', async () => {
  const { plan, waiting, pay } = unpaid(a, b);
  const { asked } = asking([a, b], () => new Promise(() => undefined), plan);
  pay(a);
  pay(b);
  expect(asked).toEqual(['a']);
  expect(waiting.size).toBe(0);
});
