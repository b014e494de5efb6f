/**
 * Reading over the network alone: at a storage radius above 0 a reader without a cache asks for most of a file every time.
 * Figures are per chunk that it asked for: how many it holds itself is chance.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '../../formats/random.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { cpuMicroseconds } from './processes.ts';
import type { BenchResult } from './result.ts';

export const name = 'Reading over the network, five nodes of a kind';

const NODES = 5;
const RADIUS = 4;
const SIZE = 4 * 2 ** 20;
/** Leaves and intermediate chunks of the file. */
const CHUNKS = (SIZE / 4096) * (129 / 128) + 1;
/** Every other node reads it twice. */
const READS = 2 * (NODES - 1);
/** The largest that a Bee accepts, as in `implementations`. */
const LIMITS = { 'payment-threshold': 108_000_000, 'minimum-storage-radius': RADIUS };
/** Time and cheques pay what one read owes. */
const PAUSE_MS = 4000;
/** Of every Bee. */
const BEE_REFRESH_RATE = 4_500_000;

/**
 * Ours; and Bees as the baseline if `SVCNET_BEE_BINARY` names one. Both run at the same time and read in turn, so that other
 * work of the machine hits both alike.
 */
export async function run(): Promise<BenchResult[]> {
  const binary = process.env.SVCNET_BEE_BINARY?.split(',')[0];
  const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  const fields: Field[] = [];
  try {
    if (binary !== undefined && binary !== '') fields.push(await prepare('bee', { stateDir, binary }));
    fields.push(await prepare('svc', { stateDir }));
    for (let index = 0; index < READS; index++) {
      for (const field of fields) {
        await pause(PAUSE_MS);
        field.reads.push(await read(field, 1 + (index % (NODES - 1))));
      }
    }
  } finally {
    for (const { cluster } of fields) await cluster.stop();
    rmSync(stateDir, { recursive: true, force: true });
  }
  const [svc = [], bee] = fields.map(({ reads }) => figures(reads)).toReversed();
  return svc.flatMap((ours, index) => {
    const theirs = bee?.[index];
    if (theirs === undefined) return [named('ours', ours)];
    const ratio = ours.value / theirs.value;
    return [named('Bee', theirs), { ...named('ours', ours), baseline: 'Bee', ratio }];
  });
}

function named(whose: string, result: BenchResult): BenchResult {
  return { ...result, name: `${whose}: ${result.name}` };
}

interface Read {
  /** Chunks that the reader did not hold. */
  readonly asked: number;
  readonly ms: number;
  readonly inFlight: number;
  /** Microseconds. */
  readonly readerCpu: number;
  readonly serversCpu: number;
}

interface Field {
  readonly cluster: Cluster;
  readonly reference: string;
  readonly reads: Read[];
}

const data = seededRandom('reading').bytes(SIZE);

async function prepare(
  flavour: 'svc' | 'bee',
  { stateDir, binary }: { stateDir: string; binary?: string },
): Promise<Field> {
  const options = flavour === 'svc' ? { ...LIMITS, 'refresh-rate': BEE_REFRESH_RATE } : LIMITS;
  const nodes = [{ flavour, count: NODES, options, ...(binary === undefined ? {} : { binary }) }];
  const cluster = await Cluster.start({ name: `reading-${flavour}`, nodes, seed: 11, stateDir });
  try {
    const uploader = cluster.node(0);
    const { reference, tag } = await uploader.bytes.upload(data);
    await cluster.synced({ node: uploader.name, tag: tag as number });
    return { cluster, reference, reads: [] };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

async function read({ cluster, reference }: Field, index: number): Promise<Read> {
  const reader = cluster.node(index);
  const servers = cluster.nodes.filter((node) => node !== reader);
  const cpu = () => [cpuMicroseconds({ nodes: [reader] }), cpuMicroseconds({ nodes: servers })] as const;
  const counted = await counters(reader);
  const [readerBefore, serversBefore] = cpu();
  const start = performance.now();
  const bytes = await reader.bytes.download(reference, { cache: false });
  const ms = performance.now() - start;
  const [readerAfter, serversAfter] = cpu();
  if (Buffer.compare(bytes, data) !== 0) throw new Error(`${reader.name} served other bytes`);
  const { asked, seconds } = await counters(reader);
  return {
    asked: asked - counted.asked,
    ms,
    inFlight: ((seconds - counted.seconds) * 1000) / ms,
    readerCpu: readerAfter - readerBefore,
    serversCpu: serversAfter - serversBefore,
  };
}

/** Since the reader's start; the time is that of all attempts with peers. */
async function counters({ client }: ClusterNode): Promise<{ asked: number; seconds: number }> {
  const text = await client.metrics();
  const value = (metric: string) => Number(new RegExp(`^\\w+_${metric} (\\S+)$`, 'm').exec(text)?.[1]);
  return { asked: value('retrieval_request_count'), seconds: value('retrieval_retrieve_chunk_time_sum') };
}

function figures(reads: readonly Read[]): BenchResult[] {
  const perChunk = (what: (read: Read) => number) => median(reads.map((read) => what(read) / read.asked));
  return [
    { name: 'chunks read over the network', value: 1000 / perChunk(({ ms }) => ms), unit: '/s' },
    { name: 'attempts at the same time', value: median(reads.map(({ inFlight }) => inFlight)), unit: '' },
    { name: 'CPU of the reader per chunk', value: perChunk(({ readerCpu }) => readerCpu), unit: 'µs' },
    { name: 'CPU of the other four per chunk', value: perChunk(({ serversCpu }) => serversCpu), unit: 'µs' },
    {
      name: 'share of the file asked for',
      value: median(reads.map(({ asked }) => asked)) / CHUNKS,
      unit: '',
    },
  ];
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
