import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster } from '../../harness/cluster.ts';
import { seededRandom } from '../../harness/scenario.ts';
import { anonymousMib } from './processes.ts';
import type { BenchResult } from './result.ts';

export const name = 'Memory of the nodes while a file of 1 GiB streams in and out';

const SIZE = 2 ** 30;
const PIECE = 2 ** 20;
const SAMPLE_MS = 100;
/** A gigabyte at three megabytes per second, on a machine that does other things too. */
const LIMIT_MS = 1_200_000;

export async function run(): Promise<BenchResult[]> {
  const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  const cluster = await Cluster.start({ nodes: 3, seed: 7, stateDir, batches: { depth: 22 } });
  try {
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
    const row = (phase: string, node: string, peak: ReadonlyMap<string, number>): BenchResult => ({
      name: `${phase}: peak of ${node} above its start`,
      value: (peak.get(node) ?? 0) - (before.get(node) ?? 0),
      unit: 'MiB',
    });
    return [
      ...[...before].map(([node, value]) => ({ name: `start: ${node}`, value, unit: 'MiB' })),
      row('upload', 'node-0', afterUpload),
      ...cluster.nodes.map((node) => row('sync', node.name, afterSync)),
      row('download', 'node-2', afterDownload),
    ];
  } finally {
    await cluster.stop();
    rmSync(stateDir, { recursive: true, force: true });
  }
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
