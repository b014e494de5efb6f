import { Cluster } from '../../harness/cluster.ts';
import { firstSegmentHasher } from '../../node/crypto/bmt/first-segment.ts';
import { systemClock } from '../../node/env/clock.ts';
import { systemRandom } from '../../node/env/random.ts';
import { mine } from '../../node/pss/mining.ts';
import { open, randomSecret, seal, topicOf } from '../../node/pss/trojan.ts';
import type { BenchResult } from './result.ts';

export const name = 'Messages: mining for targets, opening, and the way from sender to subscriber';

const HASHES = 100_000;
const OPENED = 2_000;
/** Mined for targets of each length; three bytes are told from the rate, because their luck takes minutes. */
const MINED: readonly (readonly [bytes: number, times: number])[] = [
  [1, 200],
  [2, 10],
];
const MESSAGES = 30;
const clock = systemClock();
const random = systemRandom();
const { signal } = new AbortController();
const topic = topicOf('topic');
const sealed = () => seal({ topic, message: random.bytes(100), recipient: undefined }, randomSecret(random));

export async function run(): Promise<BenchResult[]> {
  const rate = hashRate();
  const results: BenchResult[] = [{ name: 'nonces tried, one thread', value: rate, unit: '/s' }];
  for (const [bytes, times] of MINED) {
    results.push({ name: `mined for ${bytes} bytes, mean`, value: await mined(bytes, times), unit: 'ms' });
  }
  results.push({ name: 'mined for 3 bytes, expected', value: (2 ** 24 / rate) * 1000, unit: 'ms' });
  results.push({ name: 'not opened for one topic', value: notOpened(), unit: 'µs' });
  return [...results, ...(await delivered())];
}

function hashRate(): number {
  const data = sealed();
  const addressOf = firstSegmentHasher(data.subarray(0, 8), data.subarray(8));
  const nonce = new Uint8Array(32);
  const counter = new DataView(nonce.buffer);
  const startedAt = clock.monotonic();
  for (let i = 0; i < HASHES; i++) {
    counter.setUint32(0, i);
    addressOf(nonce);
  }
  return (HASHES * 1000) / (clock.monotonic() - startedAt);
}

async function mined(bytes: number, times: number): Promise<number> {
  const startedAt = clock.monotonic();
  for (let i = 0; i < times; i++) await mine(sealed(), [random.bytes(bytes)], { clock, signal });
  return (clock.monotonic() - startedAt) / times;
}

function notOpened(): number {
  const data = sealed();
  const [key, other] = [random.bytes(32), topicOf('another topic')];
  const startedAt = clock.monotonic();
  for (let i = 0; i < OPENED; i++) open(data, key, [other]);
  return ((clock.monotonic() - startedAt) * 1000) / OPENED;
}

/** From the request to the subscriber's message, for targets of one byte, one message after the other. */
async function delivered(): Promise<BenchResult[]> {
  await using net = await Cluster.start({ nodes: 3, seed: 41 });
  const [sender, receiver] = [net.node(0), net.node(1)];
  const { pssPublicKey: recipient } = await receiver.client.addresses();
  using subscription = await receiver.messages.listen('bench');
  const times: number[] = [];
  for (let i = 0; i < MESSAGES; i++) {
    const sentAt = Date.now();
    await sender.messages.send('bench', [receiver.overlay.slice(0, 2)], `${i}`, { recipient });
    while (subscription.received.length <= i) await clock.sleep(1);
    times.push((subscription.received[i]?.atMs ?? 0) - sentAt);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  return [
    { name: 'sent to heard, median', value: at(0.5), unit: 'ms' },
    { name: 'sent to heard, 95 of 100', value: at(0.95), unit: 'ms' },
  ];
}
