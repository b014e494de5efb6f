import { expect, test } from 'vitest';
import { fromHex } from '../../../formats/crypto/hex.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { HostError, type Peer } from '../../../node/p2p/host.ts';
import { Prober } from '../../../node/topology/prober.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { fakePeer } from './fake-peer.ts';

const MINUTE = 60_000;
const PUBLIC = '/ip4/8.8.8.8/tcp/1634/p2p/QmQBDSWypmTn4fBckNJfHS2jFvJ4ysijezQeeimXf6vHp9';
const PRIVATE = '/ip4/10.0.0.1/tcp/1634/p2p/QmQBDSWypmTn4fBckNJfHS2jFvJ4ysijezQeeimXf6vHp9';

/** @param chance of the jitter; a half is none */
function prober({
  allowPrivateCidrs = false,
  chance = 0.5,
  isCommon = (_id: string): boolean => false,
} = {}) {
  const clock = new ManualClock();
  const results: string[] = [];
  const probes: (readonly string[])[] = [];
  const net = { probe: async (_signal: AbortSignal): Promise<void> => undefined };
  const subject = new Prober(
    { allowPrivateCidrs },
    {
      clock,
      host: {
        probe: async (underlays, signal) => {
          probes.push(underlays);
          await net.probe(signal);
          return 1;
        },
      },
      random: { bytes: (length) => new Uint8Array(length), below: (bound) => Math.floor(bound * chance) },
      log: silentLogger(),
      metrics: createMetrics({ prefix: 'svc' }),
      isCommon,
      onResult: (peer, reachability) => results.push(`${peer.overlayHex.slice(0, 2)} ${reachability}`),
    },
  );
  const count = () => probes.splice(0).length;
  return { clock, subject, net, probes, results, count };
}

const peer = (prefix: string, changes: Partial<Peer> = {}) =>
  fakePeer(fromHex(prefix.padEnd(64, '0')), { underlays: [PUBLIC], ...changes });

const refuse = async () => {
  throw new HostError('DIAL_FAILED', 'nobody there');
};

test('a peer is probed right after it has connected', async () => {
  const { clock, subject, probes, results } = prober();
  subject.connected(peer('80'));
  expect(probes).toEqual([[PUBLIC]]);
  await clock.settle();
  expect(results).toEqual(['80 Public']);
});

test('a peer that we have dialled ourselves counts as reached, and is probed after 10 minutes', async () => {
  const { clock, subject, count, results } = prober();
  subject.connected(peer('80', { direction: 'outbound' }));
  expect(results).toEqual(['80 Public']);
  await clock.advance(10 * MINUTE - 1);
  expect(count()).toBe(0);
  await clock.advance(1);
  expect(count()).toBe(1);
});

test('a peer that is known from the start counts as reached, even when it dialled us', async () => {
  const { clock, subject, count, results } = prober({ isCommon: (id) => id.startsWith('80') });
  subject.connected(peer('80', { direction: 'inbound' }));
  expect(results).toEqual(['80 Public']);
  await clock.advance(10 * MINUTE - 1);
  expect(count()).toBe(0);
  await clock.advance(1);
  expect(count()).toBe(1);
});

test('a peer that was reached is probed again after 10, then every 20 minutes', async () => {
  const { clock, subject, count } = prober();
  subject.connected(peer('80'));
  for (const minutes of [10, 20, 20]) {
    await clock.settle();
    expect(count()).toBe(1);
    await clock.advance(minutes * MINUTE - 1);
    expect(count()).toBe(0);
    await clock.advance(1);
  }
});

test('an unreached peer is probed again after a quarter of a minute, 10, 20, 40, then every 80 minutes', async () => {
  const { clock, subject, net, count, results } = prober();
  net.probe = refuse;
  subject.connected(peer('80'));
  for (const minutes of [0.25, 10, 20, 40, 80, 80]) {
    await clock.settle();
    expect(count()).toBe(1);
    await clock.advance(minutes * MINUTE - 1);
    expect(count()).toBe(0);
    await clock.advance(1);
  }
  expect(new Set(results)).toEqual(new Set(['80 Private']));
});

test('a different result restarts the pauses', async () => {
  const { clock, subject, net, count, results } = prober();
  subject.connected(peer('80'));
  await clock.advance(10 * MINUTE);
  net.probe = refuse;
  await clock.advance(20 * MINUTE);
  count();
  await clock.advance(10 * MINUTE);
  expect(count()).toBe(1);
  expect(results).toEqual(['80 Public', '80 Public', '80 Private', '80 Private']);
});

test.each([
  [0, 8],
  [0.75, 11],
])('pauses differ by up to a fifth: at chance %d it is %d minutes', async (chance, minutes) => {
  const { clock, subject, count } = prober({ chance });
  subject.connected(peer('80'));
  await clock.settle();
  count();
  await clock.advance(minutes * MINUTE - 1);
  expect(count()).toBe(0);
  await clock.advance(1);
  expect(count()).toBe(1);
});

test('a probe without an answer fails after 15 s', async () => {
  const { clock, subject, net, results } = prober();
  net.probe = (signal) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  subject.connected(peer('80'));
  await clock.advance(14_999);
  expect(results).toEqual([]);
  await clock.advance(1);
  expect(results).toEqual(['80 Private']);
});

test('eight peers are probed at once, the others as these are done', async () => {
  const { clock, subject, net, count } = prober();
  const answers: (() => void)[] = [];
  net.probe = () => new Promise((resolve) => answers.push(resolve));
  for (let i = 0; i < 10; i++) subject.connected(peer((0x80 + i).toString(16)));
  expect(count()).toBe(8);
  answers.shift()?.();
  await clock.settle();
  expect(count()).toBe(1);
});

test('a peer that left is not probed, and a probe under way has no effect on it', async () => {
  const { clock, subject, net, count, results } = prober();
  const answer = Promise.withResolvers<void>();
  net.probe = () => answer.promise;
  const [gone, waiting] = [peer('80'), peer('81')];
  subject.connected(gone);
  subject.disconnected(gone);
  answer.resolve();
  await clock.settle();
  expect(results).toEqual([]);
  subject.connected(waiting);
  await clock.settle();
  subject.disconnected(waiting);
  count();
  await clock.advance(100 * MINUTE);
  expect(count()).toBe(0);
});

test('a peer that comes back is probed again at once', async () => {
  const { clock, subject, count } = prober();
  const first = peer('80');
  subject.connected(first);
  await clock.settle();
  subject.disconnected(first);
  subject.connected(peer('80'));
  expect(count()).toBe(2);
});

test('private addresses are probed only where they are dialled', async () => {
  const underlays = [PRIVATE, PUBLIC];
  for (const [allowPrivateCidrs, expected] of [
    [false, [PUBLIC]],
    [true, underlays],
  ] as const) {
    const { subject, probes } = prober({ allowPrivateCidrs });
    subject.connected(peer('80', { underlays }));
    expect(probes).toEqual([expected]);
  }
  const { subject, probes } = prober();
  subject.connected(peer('80', { underlays: [PRIVATE] }));
  expect(probes).toEqual([]);
});

test('stopping ends probes and leaves no timer', async () => {
  const { clock, subject, net, count } = prober();
  subject.connected(peer('80'));
  await clock.settle();
  net.probe = (signal) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  subject.connected(peer('81'));
  await subject.stop();
  count();
  await clock.advance(100 * MINUTE);
  expect(count()).toBe(0);
});
