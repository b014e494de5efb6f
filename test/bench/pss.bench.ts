import { systemClock } from '../../formats/clock.ts';
import { createEnds, FIRSTS_MAX } from '../../formats/crypto/bmt/ends.ts';
import { systemRandom } from '../../formats/random.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { mine } from '../../node/pss/mining.ts';
import { MESSAGE_SIZE_MAX, open, randomSecret, seal, topicOf } from '../../node/pss/trojan.ts';
import type { BenchResult } from './result.ts';

export const name = 'Messages: mining for targets, opening, and the way from sender to subscriber';

const ROUNDS = 500;
/** In bytes: one that leaves room behind it, and the longest. */
const SIZES = [100, MESSAGE_SIZE_MAX] as const;
const OPENED = 2_000;
/** Three bytes are told from the rate: their luck takes minutes. */
const MINED: readonly (readonly [bytes: number, times: number])[] = [
  [1, 200],
  [2, 10],
];
const MESSAGES = 30;
const REQUESTS = 50;
const clock = systemClock();
const random = systemRandom();
const { signal } = new AbortController();
const topic = topicOf('topic');
const sealed = (size: number) =>
  seal({ topic, message: random.bytes(size), recipient: undefined }, randomSecret(random));

export async function run(): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const size of SIZES) {
    const row = (what: string, value: number, unit: string) =>
      results.push({ name: `message of ${size} bytes: ${what}`, value, unit });
    for (const [bytes, times] of MINED)
      row(`mined for ${bytes} bytes, mean`, await mined(size, { bytes, times }), 'ms');
    const rate = tried(size);
    row('chunks tried', rate, '/s');
    row('mined for 3 bytes, expected', (2 ** 24 / rate) * 1000, 'ms');
  }
  results.push({ name: 'not opened for one topic', value: notOpened(), unit: 'µs' });
  return [...results, ...(await delivered())];
}

/** Of processor time: mining pauses for others. */
function tried(size: number): number {
  const data = sealed(size);
  const ends = createEnds(data.subarray(0, 8), data.subarray(8));
  const firsts = random.bytes(32 * FIRSTS_MAX);
  const before = process.cpuUsage();
  for (let round = 0; round < ROUNDS; round++) {
    if (round === 0 || size === MESSAGE_SIZE_MAX) ends.begin(firsts);
    ends.end(data.subarray(-32));
  }
  return (ROUNDS * FIRSTS_MAX * 1e6) / process.cpuUsage(before).user;
}

async function mined(size: number, { bytes, times }: { bytes: number; times: number }): Promise<number> {
  const padding = MESSAGE_SIZE_MAX - size;
  const startedAt = clock.monotonic();
  for (let i = 0; i < times; i++) await mine(sealed(size), [random.bytes(bytes)], { padding, clock, signal });
  return (clock.monotonic() - startedAt) / times;
}

function notOpened(): number {
  const data = sealed(SIZES[0]);
  const [key, other] = [random.bytes(32), topicOf('another topic')];
  const startedAt = clock.monotonic();
  for (let i = 0; i < OPENED; i++) open(data, key, [other]);
  return ((clock.monotonic() - startedAt) * 1000) / OPENED;
}

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
  return [...spread('sent to heard', times), ...(await besides(sender))];
}

async function besides(node: ClusterNode): Promise<BenchResult[]> {
  const { reference } = await node.bytes.upload(random.bytes(4096 * 16));
  const asked = async () => {
    const times: number[] = [];
    for (let i = 0; i < REQUESTS; i++) {
      const startedAt = clock.monotonic();
      await node.bytes.download(reference);
      times.push(clock.monotonic() - startedAt);
    }
    return times;
  };
  const atRest = await asked();
  const giveUp = new AbortController();
  const mining = node.messages
    .send('bench', ['ffffff'], random.bytes(MESSAGE_SIZE_MAX), { signal: giveUp.signal })
    .catch((error: unknown) => {
      if (!giveUp.signal.aborted) throw error;
    });
  const whileMining = await asked();
  giveUp.abort();
  await mining;
  return [
    ...spread('64 KiB read from a node at rest', atRest),
    ...spread('64 KiB read from a node that mines', whileMining),
  ];
}

function spread(what: string, times: number[]): BenchResult[] {
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  return [
    { name: `${what}, median`, value: at(0.5), unit: 'ms' },
    { name: `${what}, 95 of 100`, value: at(0.95), unit: 'ms' },
  ];
}
