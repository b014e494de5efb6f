import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '../../formats/random.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { expectBytes } from '../../harness/inspect/ledger/content.ts';
import { Ledger } from '../../harness/inspect/ledger/ledger.ts';
import { serveUi } from '../../harness/inspect/live/server.ts';
import { Scraper } from '../../harness/metrics/scraper.ts';
import { SeriesFile } from '../../harness/metrics/series-file.ts';
import { TestbedMetrics } from '../../harness/metrics/testbed.ts';
import { paired } from './paired.ts';
import { cpuMicroseconds } from './processes.ts';
import type { BenchResult } from './result.ts';

export const name =
  'What watching costs: uploads through five nodes, scraped, entered into the ledger and shown by the live page, or none of it';

/** Some seconds of work: nodes are scraped and looked at each second. */
const SIZE = 8 * 2 ** 20;
/** In every other one the watched turn comes first: a drift of the machine hits both alike. */
const PAIRS = 16;

type Watcher = (cluster: Cluster, folder: string) => AsyncDisposable | Promise<AsyncDisposable>;
const WATCHERS: readonly Watcher[] = [scraping, livePage];

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
      if (watched) for (const watch of WATCHERS) watching.use(await watch(cluster, join(stateDir, 'run')));
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
    const turned = (pair: number) => pair % 2 === 0;
    return [
      ...paired(
        'throughput watched, of not watched',
        pairs.map(({ bare, watched }, pair) => ({ ratio: bare.ms / watched.ms, turned: turned(pair) })),
      ),
      ...paired(
        'processor time watched, of not watched',
        pairs.map(({ bare, watched }, pair) => ({ ratio: watched.cpu / bare.cpu, turned: turned(pair) })),
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
  scraper.watch(cluster);
  return scraper;
}

async function livePage(cluster: Cluster): Promise<AsyncDisposable> {
  const ui = await serveUi({ port: 0 }, { cluster, isThere: () => true, assets: new Map() });
  const { body } = await fetch(`${ui.url}events`);
  let closing = false;
  const reading = (async () => {
    try {
      for await (const _ of body ?? []);
    } catch (error) {
      // The end of the server cuts the page's stream off.
      if (!closing) throw error;
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      closing = true;
      await ui.close();
      await reading;
    },
  };
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
