import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '../../formats/random.ts';
import { messageOf } from '../../harness/base/errors.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { isSynced } from '../../harness/cluster/nodes/tag-wait.ts';
import { anonymousMib, cpuMicroseconds } from './processes.ts';
import type { BenchResult } from './result.ts';

export const name = 'Five nodes of ours and five real Bees, under the same credit limits';

const NODES = 5;
/** Every node uploads two files and reads two with code that has hardly run before. */
const FIRST_ROUNDS = 2 * NODES;
const ROUNDS = 6 * NODES;
const SIZE = 2 ** 20;
/** Leaves and intermediate chunks of one file. */
const CHUNKS = SIZE / 4096 + 2 + 1;
/** The largest that a Bee accepts: waits for credit would hide all else. */
const PAYMENT_THRESHOLD = 108_000_000;
/** Bees credit each other's debts by time alone: a pause pays most of a round. */
const PAUSE_MS = 3000;
/** An idle node needs less than a start leaves behind; ours gives it back after half a minute. */
const RESTED_MS = 40_000;
const LIMIT_MS = 120_000;
/** Short beside a file of ours: taken within a fifth of a second, held within half a second. */
const TAKEN_POLL_MS = 10;
const HELD_POLL_MS = 40;

type Kind = 'svc' | 'bee';
type Figures = Readonly<Record<string, { readonly value: number; readonly unit: string }>>;

/**
 * Ours alone, or beside Bees as the baseline if `SVCNET_BEE_BINARY` names one. Every node uploads a file in turn, another
 * one reads it as soon as the network has taken it, and the clock runs on until every node holds every chunk: at radius 0
 * all are neighbours. Processor time is that of all five nodes until then.
 */
export async function run(): Promise<BenchResult[]> {
  const binary = process.env.SVCNET_BEE_BINARY?.split(',')[0];
  const svc = await measure('svc', {});
  const bee = binary === undefined || binary === '' ? undefined : await measureBees(binary);
  return Object.entries(svc).flatMap(([figure, ours]) => {
    const theirs = bee?.[figure];
    if (theirs === undefined) return [{ name: `ours: ${figure}`, ...ours }];
    return [
      { name: `Bee: ${figure}`, ...theirs },
      { name: `ours: ${figure}`, ...ours, baseline: 'Bee', ratio: ours.value / theirs.value },
    ];
  });
}

/** Undefined if they do not get to the end: our figures stand without theirs. */
async function measureBees(binary: string): Promise<Figures | undefined> {
  try {
    return await measure('bee', { binary });
  } catch (error) {
    process.stderr.write(`no figures of Bees: ${messageOf(error)}\n`);
    process.exitCode = 1;
    return undefined;
  }
}

async function measure(flavour: Kind, binary: { readonly binary?: string }): Promise<Figures> {
  const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  const group = { flavour, count: NODES, options: { 'payment-threshold': PAYMENT_THRESHOLD }, ...binary };
  const options = flavour === 'svc' ? { ...group.options, 'refresh-rate': 4_500_000 } : group.options;
  const cluster = await Cluster.start({ nodes: [{ ...group, options }], seed: 11, stateDir });
  try {
    await pause(RESTED_MS);
    const idle = memory(cluster);
    const rounds: Round[] = [];
    for (let index = 0; index < ROUNDS; index++) {
      rounds.push(await round(cluster, index));
      await pause(PAUSE_MS);
    }
    const [first, rest] = [rounds.slice(0, FIRST_ROUNDS), rounds.slice(FIRST_ROUNDS)];
    return {
      'start until usable': { value: cluster.timings.totalMs, unit: 'ms' },
      ...transfers(rest),
      ...Object.fromEntries(
        Object.entries(transfers(first)).map(([figure, value]) => [`first ten files: ${figure}`, value]),
      ),
      'memory of a node, idle': { value: idle, unit: 'MiB' },
      'memory of a node, after the transfers': { value: memory(cluster), unit: 'MiB' },
    };
  } finally {
    await cluster.stop();
    rmSync(stateDir, { recursive: true, force: true });
  }
}

function transfers(rounds: readonly Round[]): Figures {
  return {
    'upload answered': speed(rounds, 'answeredMs'),
    'upload taken by the network': speed(rounds, 'syncedMs'),
    'held by every node': speed(rounds, 'spreadMs'),
    // A reader within a chunk's neighbourhood may hold it already; `reading` measures the network alone.
    'download by another node, which may hold a part of it': speed(rounds, 'downloadMs'),
    'CPU per chunk, from upload to five copies and one download': {
      value: median(rounds.map(({ cpu }) => cpu)) / CHUNKS,
      unit: 'µs',
    },
  };
}

interface Round {
  readonly answeredMs: number;
  readonly syncedMs: number;
  readonly spreadMs: number;
  readonly downloadMs: number;
  readonly cpu: number;
}

async function round(cluster: Cluster, index: number): Promise<Round> {
  const data = seededRandom(`implementations ${index}`).bytes(SIZE);
  const uploader = cluster.node(index % NODES);
  const reader = cluster.node((index + 1) % NODES);
  const wanted = (await smallestReserve(cluster)) + CHUNKS;
  const cpu = cpuMicroseconds(cluster);
  const start = performance.now();
  const { reference, tag } = await uploader.bytes.upload(data);
  const answeredMs = performance.now() - start;
  const isTaken = async () => isSynced(await uploader.tags.get(tag as number));
  await polled('the network did not take the file', TAKEN_POLL_MS, isTaken);
  const syncedMs = performance.now() - start;
  const read = await reader.bytes.download(reference, { cache: false });
  const downloadMs = performance.now() - start - syncedMs;
  if (Buffer.compare(read, data) !== 0) throw new Error(`${reader.name} served other bytes`);
  const isHeld = async () => (await smallestReserve(cluster)) >= wanted;
  await polled('the file did not reach every node', HELD_POLL_MS, isHeld);
  const spreadMs = performance.now() - start;
  return { answeredMs, syncedMs, spreadMs, downloadMs, cpu: cpuMicroseconds(cluster) - cpu };
}

async function polled(missing: string, pollMs: number, isReached: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  while (!(await isReached())) {
    if (performance.now() > end) throw new Error(missing);
    await pause(pollMs);
  }
}

async function smallestReserve(cluster: Cluster): Promise<number> {
  const sizes = await Promise.all(
    cluster.nodes.map(async (node) => (await node.client.status()).reserveSize),
  );
  return Math.min(...sizes);
}

function speed(rounds: readonly Round[], phase: Exclude<keyof Round, 'cpu'>): Figures[string] {
  return { value: SIZE / 1e6 / (median(rounds.map((figures) => figures[phase])) / 1000), unit: 'MB/s' };
}

/** Mean over the nodes, without what is backed by files. */
function memory(cluster: Cluster): number {
  const sizes = cluster.nodes.map(({ pid }) => (pid === undefined ? 0 : anonymousMib(pid)));
  return sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
