import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '../../formats/random.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { sizesFrom } from './fit.ts';
import { descendantsMicroseconds } from './processes.ts';
import type { BenchResult } from './result.ts';

export const name =
  'Five nodes that become many while they are used, and a start of as many, in turns: until all is usable';

const FEW = 5;
const ALL = 'process:50 embedded:50';
/** In every other one the growth is first: the cost of coming second hits both alike. */
const PAIRS = 4;
/** Between two uploads while nodes join, ms. */
const PAUSE_MS = 250;
const UPLOAD_BYTES = 4096;

interface Cost {
  readonly wallS: number;
  /** Of this process, which holds embedded nodes, and of those it started. */
  readonly processorS: number;
}

export async function run(): Promise<BenchResult[]> {
  const sizes = sizesFrom(process.env['SVCNET_BENCH_NODES'] ?? ALL);
  const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  const rows: BenchResult[] = [];
  try {
    for (const driver of ['process', 'embedded'] as const) {
      for (const nodes of sizes[driver]) {
        const options = { stateDir, driver, seed: 7 } as const;
        // Compiled code is there for all that counts.
        await started({ ...options, nodes: FEW });
        const fresh: Cost[] = [];
        const grown: Cost[] = [];
        for (let pair = 0; pair < PAIRS; pair++) {
          if (pair % 2 === 1) grown.push(await grownTo(nodes, options));
          fresh.push(await started({ ...options, nodes }));
          if (pair % 2 === 0) grown.push(await grownTo(nodes, options));
        }
        for (const [figure, unit] of [
          ['wallS', 's'],
          ['processorS', 's of processor time'],
        ] as const) {
          const of = (costs: readonly Cost[]) => costs.map((cost) => cost[figure]);
          rows.push({ name: `${driver}: start of ${nodes} nodes`, value: median(of(fresh)), unit });
          rows.push({
            name: `${driver}: ${FEW} nodes become ${nodes}`,
            value: median(of(grown)),
            unit,
            baseline: 'the start',
            ratio: median(of(grown).map((cost, pair) => cost / (fresh[pair]?.[figure] ?? Number.NaN))),
          });
        }
      }
    }
    return rows;
  } finally {
    rmSync(stateDir, { recursive: true, force: true });
  }
}

type Options = NonNullable<Parameters<typeof Cluster.start>[0]>;

async function started(options: Options): Promise<Cost> {
  await using clusters = new AsyncDisposableStack();
  return await costOf(async () => void clusters.use(await Cluster.start(options)));
}

async function grownTo(nodes: number, options: Options): Promise<Cost> {
  await using net = await Cluster.start({ ...options, nodes: FEW });
  const joined = new AbortController();
  const load = upload(net, joined.signal);
  try {
    return await costOf(async () => {
      await net.add({ count: nodes - FEW });
      await net.meshed();
    });
  } finally {
    joined.abort();
    await load;
  }
}

async function upload(net: Cluster, until: AbortSignal): Promise<void> {
  const random = seededRandom('joining');
  for (let turn = 0; !until.aborted; turn++) {
    await net.node(turn % FEW).bytes.upload(random.bytes(UPLOAD_BYTES));
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

async function costOf(work: () => Promise<void>): Promise<Cost> {
  const before = { at: performance.now(), processorS: processorS() };
  await work();
  return {
    wallS: (performance.now() - before.at) / 1000,
    processorS: processorS() - before.processorS,
  };
}

function processorS(): number {
  const { user, system } = process.cpuUsage();
  return (user + system + descendantsMicroseconds()) / 1e6;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low = Number.NaN, high = Number.NaN] = [sorted[middle - 1], sorted[middle]];
  return sorted.length % 2 === 1 ? high : (low + high) / 2;
}
