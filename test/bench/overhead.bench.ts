import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { quantileOfT } from '../../harness/compare/statistics.ts';
import { expectBytes } from '../../harness/ledger/content.ts';
import { Ledger } from '../../harness/ledger/ledger.ts';
import { Scraper } from '../../harness/metrics/scraper.ts';
import { SeriesFile } from '../../harness/metrics/series-file.ts';
import { TestbedMetrics } from '../../harness/metrics/testbed.ts';
import { seededRandom } from '../../harness/run/scenario.ts';
import { cpuMicroseconds } from './processes.ts';
import type { BenchResult } from './result.ts';

export const name =
  'What watching costs: uploads through five nodes, scraped and entered into the ledger, or neither';

const SIZE = 4 * 2 ** 20;
/** Pairs of turns; in every other one the watched turn comes first, so that a drift of the machine hits both alike. */
const PAIRS = 10;

/** Everything that looks at a cluster during a run, from the beginning of a turn to its end. */
type Watcher = (cluster: Cluster, folder: string) => AsyncDisposable;
const WATCHERS: readonly Watcher[] = [scraping];

interface Turn {
  readonly ms: number;
  /** Of the nodes and of this process, microseconds. */
  readonly cpu: number;
}

/** Throughput counts from the begin of the upload until the network has taken it. */
export async function run(): Promise<BenchResult[]> {
  const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  const cluster = await Cluster.start({ nodes: 5, seed: 7, stateDir });
  try {
    const ledger = new Ledger(join(stateDir, 'run', 'ledger.jsonl'));
    const upload = async (turn: string, watched: boolean): Promise<Turn> => {
      const data = seededRandom('overhead', turn).bytes(SIZE);
      await using watching = new AsyncDisposableStack();
      if (watched) for (const watch of WATCHERS) watching.use(watch(cluster, join(stateDir, 'run')));
      return timed(cluster, async () => {
        const requestedAtMs = Date.now();
        const [expected, { reference, tag }] = await Promise.all([
          watched ? expectBytes(data) : undefined,
          cluster.node(0).bytes.upload(data),
        ]);
        await cluster.synced({ node: cluster.node(0).name, tag: tag as number });
        if (expected !== undefined) {
          await ledger.add({
            kind: 'bytes',
            node: cluster.node(0).name,
            batch: cluster.node(0).batch as string,
            reference,
            size: SIZE,
            chunks: expected.chunks,
            mode: 'deferred',
            level: 'synced',
            requestedAtMs,
            acknowledgedAtMs: Date.now(),
          });
        }
      });
    };
    await upload('warm-up', true);
    await upload('warm-up too', false);
    const pairs: { readonly bare: Turn; readonly watched: Turn }[] = [];
    for (let pair = 0; pair < PAIRS; pair++) {
      const turns = new Map<boolean, Turn>();
      for (const watched of pair % 2 === 0 ? [true, false] : [false, true])
        turns.set(watched, await upload(`${pair} ${watched}`, watched));
      pairs.push({ bare: turns.get(false) as Turn, watched: turns.get(true) as Turn });
    }
    return [
      ...compared(
        'throughput',
        pairs.map(({ bare, watched }) => bare.ms / watched.ms),
      ),
      ...compared(
        'processor time',
        pairs.map(({ bare, watched }) => watched.cpu / bare.cpu),
      ),
    ];
  } finally {
    await cluster.stop();
    rmSync(stateDir, { recursive: true, force: true });
  }
}

/** As a run does it. */
function scraping(cluster: Cluster, folder: string): AsyncDisposable {
  const file = new SeriesFile(folder);
  const scraper = new Scraper({
    testbed: new TestbedMetrics('overhead'),
    onScrape: (scrape, ids) => file.append(scrape, ids),
  });
  scraper.watch(cluster.nodes);
  return scraper;
}

async function timed(cluster: Cluster, work: () => Promise<void>): Promise<Turn> {
  const cpu = cpuOf(cluster);
  const start = performance.now();
  await work();
  return { ms: performance.now() - start, cpu: cpuOf(cluster) - cpu };
}

function cpuOf(cluster: Cluster): number {
  const { user, system } = process.cpuUsage();
  return cpuMicroseconds(cluster) + user + system;
}

/** Geometric mean of the ratios of the pairs, with its 95 % interval. */
function compared(what: string, ratios: readonly number[]): BenchResult[] {
  const logs = ratios.map((ratio) => Math.log(ratio));
  const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
  const variance = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / (logs.length - 1);
  const margin = quantileOfT(0.975, logs.length - 1) * Math.sqrt(variance / logs.length);
  return [
    ['watched, of not watched', mean],
    ['at least', mean - margin],
    ['at most', mean + margin],
  ].map(([which, log]) => ({ name: `${what}: ${which}`, value: Math.exp(log as number) * 100, unit: '%' }));
}
