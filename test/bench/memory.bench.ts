import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '../../formats/random.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { anonymousMib } from './processes.ts';
import type { BenchResult } from './result.ts';

export const name = 'Memory of the nodes while files of 1 GiB stream in and out';

const SIZE = 2 ** 30;
const PIECE = 2 ** 20;
const SAMPLE_MS = 100;
/** By then a node has given back what the transfers took. */
const REST_MS = 10_000;
/** A gigabyte at three megabytes per second, on a busy machine. */
const LIMIT_MS = 1_200_000;
/** Parities of the highest level make an upload 3.4 times as large. */
const KINDS: readonly { readonly encrypt?: true; readonly redundancyLevel?: 1 | 2 | 3 | 4 }[] = [
  { encrypt: true },
  ...([1, 2, 3, 4] as const).map((redundancyLevel) => ({ redundancyLevel })),
  ...([1, 2, 3, 4] as const).map((redundancyLevel) => ({ encrypt: true as const, redundancyLevel })),
];

export async function run(): Promise<BenchResult[]> {
  const results = await plain();
  for (const kind of KINDS) results.push(...(await ofKind(kind)));
  return results;
}

/** To the uploading node, from there to its neighbours, out of another one, and out of the first. */
async function plain(): Promise<BenchResult[]> {
  await using started = await startCluster();
  const { cluster } = started;
  const before = memoryOf(cluster);
  const upload = watch(cluster);
  const uploaded = await cluster.node(0).bytes.upload(pieces(), { timeoutMs: LIMIT_MS });
  const uploadMs = upload.elapsedMs();
  const afterUpload = upload.stop();
  const sync = watch(cluster);
  await cluster.synced({ node: 'node-0', tag: uploaded.tag as number }, { timeoutMs: LIMIT_MS });
  const afterSync = sync.stop();
  const results = [
    ...[...before].map(([node, value]) => ({ name: `start: ${node}`, value, unit: 'MiB' })),
    growth('upload', 'node-0', before, afterUpload),
    speed('upload', 'node-0', uploadMs),
    ...cluster.nodes.map((node) => growth('sync', node.name, before, afterSync)),
  ];
  for (const node of [cluster.node(2), cluster.node(0)]) {
    const download = watch(cluster);
    await readAll(await node.bytes.stream(uploaded.reference, { cache: false, timeoutMs: LIMIT_MS }));
    const downloadMs = download.elapsedMs();
    results.push(growth('download', node.name, before, download.stop()));
    results.push(speed('download', node.name, downloadMs));
  }
  await pause(REST_MS);
  const held = memoryOf(cluster);
  return [...results, ...cluster.nodes.map(({ name }) => growth('ten seconds later', name, before, held))];
}

/**
 * In and out of the uploading node, which has begun to push: the others do the same for all kinds of chunks. Every figure
 * starts from fresh, idle nodes.
 */
async function ofKind(kind: (typeof KINDS)[number]): Promise<BenchResult[]> {
  await using started = await startCluster();
  const { cluster } = started;
  const node = cluster.node(0);
  const before = memoryOf(cluster);
  const upload = watch(cluster);
  const { reference } = await node.bytes.upload(pieces(), { ...kind, timeoutMs: LIMIT_MS });
  const afterUpload = upload.stop();
  const download = watch(cluster);
  await readAll(await node.bytes.stream(reference, { cache: false, timeoutMs: LIMIT_MS }));
  const afterDownload = download.stop();
  const encrypted = kind.encrypt === true ? ['encrypted'] : [];
  const redundant = kind.redundancyLevel === undefined ? [] : [`redundancy ${kind.redundancyLevel}`];
  const name = [...encrypted, ...redundant].join(', ');
  return [
    growth(`upload, ${name}`, node.name, before, afterUpload),
    growth(`download, ${name}`, node.name, before, afterDownload),
  ];
}

async function startCluster(): Promise<{ readonly cluster: Cluster } & AsyncDisposable> {
  const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  const cluster = await Cluster.start({ nodes: 3, seed: 7, stateDir, batches: { depth: 22 } });
  return {
    cluster,
    async [Symbol.asyncDispose]() {
      await cluster.stop();
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

type Memory = ReadonlyMap<string, number>;

function growth(phase: string, node: string, before: Memory, then: Memory): BenchResult {
  return {
    name: `${phase}: ${node} above its start`,
    value: (then.get(node) ?? 0) - (before.get(node) ?? 0),
    unit: 'MiB',
  };
}

function speed(phase: string, node: string, ms: number): BenchResult {
  return { name: `${phase}: ${node}`, value: SIZE / 1e6 / (ms / 1000), unit: 'MB/s' };
}

async function* pieces(): AsyncGenerator<Uint8Array> {
  const random = seededRandom('memory');
  for (let sent = 0; sent < SIZE; sent += PIECE) yield random.bytes(PIECE);
}

async function readAll(stream: AsyncIterable<Uint8Array>): Promise<void> {
  const random = seededRandom('memory');
  let length = 0;
  let expected = Buffer.alloc(0);
  for await (const piece of stream) {
    while (expected.length < piece.length) expected = Buffer.concat([expected, random.bytes(PIECE)]);
    if (Buffer.compare(expected.subarray(0, piece.length), piece) !== 0)
      throw new Error(`other bytes near ${length}`);
    expected = expected.subarray(piece.length);
    length += piece.length;
  }
  if (length !== SIZE) throw new Error(`${length} bytes came back, expected ${SIZE}`);
}

function memoryOf(cluster: Cluster): Map<string, number> {
  return new Map(
    cluster.nodes.map((node) => [node.name, node.pid === undefined ? 0 : anonymousMib(node.pid)]),
  );
}

interface Watch {
  elapsedMs(): number;
  /** @returns the largest sample of each node */
  stop(): Memory;
}

function watch(cluster: Cluster): Watch {
  const start = performance.now();
  const peaks = memoryOf(cluster);
  const timer = setInterval(() => {
    for (const [node, value] of memoryOf(cluster)) peaks.set(node, Math.max(value, peaks.get(node) ?? 0));
  }, SAMPLE_MS);
  return {
    elapsedMs: () => performance.now() - start,
    stop() {
      clearInterval(timer);
      return peaks;
    },
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
