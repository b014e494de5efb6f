import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { seededRandom } from '../../harness/run/scenario.ts';
import { anonymousMib } from './processes.ts';
import type { BenchResult } from './result.ts';

export const name = 'Memory of the nodes while files of 1 GiB stream in and out';

const SIZE = 2 ** 30;
const PIECE = 2 ** 20;
const SAMPLE_MS = 100;
/** A gigabyte at three megabytes per second, on a machine that does other things too. */
const LIMIT_MS = 1_200_000;
/** What an upload may ask for beside being stored; parities of the highest level make it 3.4 times as large. */
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

/** All the way: to the uploading node, from there to its neighbours, and out of another one. */
async function plain(): Promise<BenchResult[]> {
  await using started = await startCluster();
  const { cluster } = started;
  const before = memoryOf(cluster);
  const upload = watch(cluster);
  const uploaded = await cluster.node(0).bytes.upload(pieces(), { timeoutMs: LIMIT_MS });
  const afterUpload = upload.stop();
  const sync = watch(cluster);
  await cluster.synced({ node: 'node-0', tag: uploaded.tag as number }, { timeoutMs: LIMIT_MS });
  const afterSync = sync.stop();
  const download = watch(cluster);
  await readAll(
    await cluster.node(2).bytes.stream(uploaded.reference, { cache: false, timeoutMs: LIMIT_MS }),
  );
  const afterDownload = download.stop();
  return [
    ...[...before].map(([node, value]) => ({ name: `start: ${node}`, value, unit: 'MiB' })),
    growth('upload', 'node-0', before, afterUpload),
    ...cluster.nodes.map((node) => growth('sync', node.name, before, afterSync)),
    growth('download', 'node-2', before, afterDownload),
  ];
}

/**
 * In and out of the uploading node, which has begun to push: what the others do is the same for chunks of any kind.
 * Fresh nodes each time, so that every figure starts from an idle one.
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

function growth(phase: string, node: string, before: Memory, peak: Memory): BenchResult {
  return {
    name: `${phase}: peak of ${node} above its start`,
    value: (peak.get(node) ?? 0) - (before.get(node) ?? 0),
    unit: 'MiB',
  };
}

/** Made as it is read: neither this process nor a node ever holds the file. */
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

/** Samples every node until it is stopped. @returns the largest sample of each */
function watch(cluster: Cluster): { stop: () => ReadonlyMap<string, number> } {
  const peaks = memoryOf(cluster);
  const timer = setInterval(() => {
    for (const [node, value] of memoryOf(cluster)) peaks.set(node, Math.max(value, peaks.get(node) ?? 0));
  }, SAMPLE_MS);
  return {
    stop() {
      clearInterval(timer);
      return peaks;
    },
  };
}
