import { fc, test as property } from '@fast-check/vitest';
import { expect, test } from 'vitest';
import { silentLogger } from '../../../../node/env/logger.ts';
import { createMetrics } from '../../../../node/env/metrics.ts';
import type { MessageStream, Peer } from '../../../../node/p2p/host.ts';
import { decodeAmount, encodeAmount } from '../../../../node/protocols/amounts.ts';
import { createPricing } from '../../../../node/protocols/pricing/pricing.ts';
import { minimumThreshold } from '../../../../node/protocols/pricing/rules.ts';
import { AnnouncePaymentThreshold, PRICING } from '../../../../node/protocols/pricing/wire.ts';
import { type MemoryNode, startedNodes } from '../../p2p/memory-nodes.ts';
import { ManualClock } from '../manual-clock.ts';

const never = new AbortController().signal;
const TERMS = { refreshRate: 4_500_000n, thresholdMinimum: 0n };

async function traders(granted: readonly [bigint, bigint]) {
  const clock = new ManualClock();
  const nodes = (await startedNodes(2, { clock })) as [MemoryNode, MemoryNode];
  const heard: bigint[][] = [[], []];
  const announced = nodes.map(({ host }, i) => {
    const accounting = {
      thresholdFor: () => granted[i] ?? 0n,
      thresholdAnnounced: (_peer: Peer, threshold: bigint) => void heard[i]?.push(threshold),
    };
    const env = { host, accounting, clock, log: silentLogger(), metrics: createMetrics({ prefix: 'svc' }) };
    return createPricing(TERMS, env);
  });
  const [a, b] = nodes;
  return { a, b, clock, heard, pricing: announced };
}

test('both sides learn the threshold of the other before the connection is used', async () => {
  const { a, b, heard } = await traders([13_500_000n, 14_000_000n]);
  await a.host.connect([b.underlay()], never);
  expect(heard).toEqual([[14_000_000n], [13_500_000n]]);
});

test('a threshold that has grown is announced again', async () => {
  const { a, b, heard, pricing } = await traders([13_500_000n, 14_000_000n]);
  const peer = await a.host.connect([b.underlay()], never);
  await pricing[0]?.announce(peer, never);
  expect(heard[1]).toEqual([13_500_000n, 13_500_000n]);
});

test('a peer whose threshold is below two seconds of refreshment is disconnected', async () => {
  const { a, b, clock } = await traders([13_500_000n, 8_999_999n]);
  await a.host.connect([b.underlay()], never).catch((error: unknown) => error);
  await clock.settle();
  expect(a.host.peers()).toEqual([]);
  expect(b.host.peers()).toEqual([]);
});

test('a threshold may change often, but endless changes end the connection', async () => {
  const { a, b, clock, heard, pricing } = await traders([13_500_000n, 14_000_000n]);
  const peer = await a.host.connect([b.underlay()], never);
  for (let n = 1; n < 500; n++) await pricing[0]?.announce(peer, never);
  expect(heard[1]).toHaveLength(500);
  await clock.advance(100);
  for (let n = 0; n < 5; n++) await pricing[0]?.announce(peer, never);
  expect(b.host.peers()).toHaveLength(1);
  await pricing[0]?.announce(peer, never).catch((error: unknown) => error);
  await clock.settle();
  expect(heard[1]).toHaveLength(505);
  expect(b.host.peers()).toEqual([]);
});

test('an announcement of more than 256 bits is refused, the peer stays connected', async () => {
  const { a, b, heard } = await traders([13_500_000n, 14_000_000n]);
  const peer = await a.host.connect([b.underlay()], never);
  const stream = await a.host.open(peer, PRICING.id, { signal: never });
  await stream.write(AnnouncePaymentThreshold, { paymentThreshold: new Uint8Array(33).fill(1) });
  await expect(stream.close()).rejects.toMatchObject({ code: 'STREAM_RESET' });
  expect(heard[1]).toHaveLength(1);
  expect(b.host.peers()).toHaveLength(1);
});

test('a peer that cannot receive our threshold is disconnected', async () => {
  const clock = new ManualClock();
  const [a, b] = (await startedNodes(2, { clock })) as [MemoryNode, MemoryNode];
  const accounting = { thresholdFor: () => 13_500_000n, thresholdAnnounced: () => undefined };
  const env = {
    host: a.host,
    accounting,
    clock,
    log: silentLogger(),
    metrics: createMetrics({ prefix: 'svc' }),
  };
  createPricing(TERMS, env);
  await expect(a.host.connect([b.underlay()], never)).rejects.toMatchObject({ code: 'HANDSHAKE_FAILED' });
  expect(a.host.peers()).toEqual([]);
});

test('an announcement whose stream the peer leaves open ends with its signal', async () => {
  const { a, b, clock, pricing } = await traders([13_500_000n, 14_000_000n]);
  const peer = await a.host.connect([b.underlay()], never);
  const open = Promise.withResolvers<never>();
  const resets: unknown[] = [];
  const stream = {
    write: async () => undefined,
    close: () => open.promise,
    reset: (why: Error) => resets.push(why),
  };
  a.host.open = async () => stream as unknown as MessageStream;
  const controller = new AbortController();
  const failures: unknown[] = [];
  pricing[0]?.announce(peer, controller.signal).catch((error: unknown) => failures.push(error));
  await clock.settle();
  const reason = new Error('the node stops');
  controller.abort(reason);
  await clock.settle();
  expect(failures).toEqual([reason]);
  expect(resets).toEqual([reason]);
});

test('the minimum is two seconds of refreshment, or what the options say', () => {
  expect(minimumThreshold(TERMS)).toBe(9_000_000n);
  expect(minimumThreshold({ ...TERMS, thresholdMinimum: 1n })).toBe(1n);
});

property.prop([fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })])(
  'an amount is its magnitude without leading zeros',
  (amount) => {
    const bytes = encodeAmount(amount);
    expect(bytes[0]).not.toBe(0);
    expect(decodeAmount(bytes)).toBe(amount);
  },
);
