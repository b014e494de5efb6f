/** What worker threads give to one node with a core to spare, and to five that have none. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '../../formats/random.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { anonymousMib, cpuMicroseconds } from './processes.ts';
import type { BenchResult } from './result.ts';

export const name = 'Uploads with and without worker threads';

const PIECE = 2 ** 20;
/** One cluster at a time: what waits to be pushed takes a core, too. */
const WORKERS = [0, 'auto', 1] as const;
const SIZES = [
  { nodes: 1, size: 128 * PIECE, rounds: 3 },
  { nodes: 5, size: 16 * PIECE, rounds: 3 },
];

interface Turn {
  readonly answered: number;
  /** Taken by the network; of a node alone: undefined. */
  readonly taken: number | undefined;
  /** Microseconds of all nodes. */
  readonly cpuPerChunk: number;
  readonly memoryMib: number;
}

export async function run(): Promise<BenchResult[]> {
  const results: BenchResult[] = [];
  for (const { nodes, size, rounds } of SIZES) {
    const turns = new Map<(typeof WORKERS)[number], Turn[]>(WORKERS.map((workers) => [workers, []]));
    for (let round = 0; round < rounds; round++)
      for (const workers of WORKERS) turns.get(workers)!.push(await turn(nodes, size, workers));
    const baseline = 'workers 0';
    for (const [workers, of] of turns) {
      const row = (what: string, unit: string, pick: (one: Turn) => number | undefined) => {
        const [value, none] = [middle(of, pick), middle(turns.get(0)!, pick)];
        if (value === undefined || none === undefined) return;
        const label = `${nodes} ${nodes === 1 ? 'node' : 'nodes'}, workers ${workers}: ${what}`;
        results.push({
          name: label,
          value,
          unit,
          ...(workers === 0 ? {} : { ratio: value / none, baseline }),
        });
      };
      row('upload, answered', 'MB/s', (one) => size / 1000 / one.answered);
      row('upload, taken by the network', 'MB/s', ({ taken }) => taken && size / 1000 / taken);
      row('CPU per chunk', 'µs', (one) => one.cpuPerChunk);
      row('memory of the uploading node', 'MiB', (one) => one.memoryMib);
    }
  }
  return results;
}

async function turn(nodes: number, size: number, workers: (typeof WORKERS)[number]): Promise<Turn> {
  const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  const cluster = await Cluster.start({
    nodes: [{ count: nodes, options: { workers } }],
    seed: 7,
    stateDir,
    batches: { depth: 22 },
  });
  try {
    const node = cluster.node(0);
    const [cpu, start] = [cpuMicroseconds(cluster), performance.now()];
    const { tag } = await node.bytes.upload(pieces(size));
    const answered = performance.now() - start;
    const memoryMib = anonymousMib(node.pid as number);
    if (nodes > 1) await cluster.synced({ node: node.name, tag: tag as number });
    return {
      answered,
      taken: nodes > 1 ? performance.now() - start : undefined,
      cpuPerChunk: (cpuMicroseconds(cluster) - cpu) / (size / 4096),
      memoryMib,
    };
  } finally {
    await cluster.stop();
    rmSync(stateDir, { recursive: true, force: true });
  }
}

async function* pieces(size: number): AsyncGenerator<Uint8Array> {
  const random = seededRandom('workers');
  for (let sent = 0; sent < size; sent += PIECE) yield random.bytes(PIECE);
}

function middle(turns: readonly Turn[], pick: (one: Turn) => number | undefined): number | undefined {
  const values = turns.map(pick).filter((value) => value !== undefined);
  return values.sort((a, b) => a - b)[values.length >> 1];
}
