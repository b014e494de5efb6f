/** What a run measures of itself and of its clusters: series in its folder, and for a Prometheus that scrapes it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../cluster/cluster.ts';
import { type Announcement, announceTestbed, hasDashboards } from '../dashboards/running.ts';
import { type MetricsEndpoint, serveTestbed } from '../metrics/endpoint.ts';
import { Scraper } from '../metrics/scraper.ts';
import { METRICS_FILE, SeriesFile } from '../metrics/series-file.ts';
import { TestbedMetrics } from '../metrics/testbed.ts';
import type { RunOptions } from './run-options.ts';

/** For the Prometheus of dashboards to read what the run has come to; it does every few seconds. */
const LAST_SCRAPE_WITHIN_MS = 6000;

export class RunMetrics implements AsyncDisposable {
  readonly testbed: TestbedMetrics;
  readonly #scraper: Scraper;
  readonly #name: string;
  #endpoint: MetricsEndpoint | undefined;
  #announced: Announcement | undefined;
  #watched = false;

  private constructor(
    name: string,
    testbed: TestbedMetrics,
    { scraper, endpoint }: { scraper: Scraper; endpoint: MetricsEndpoint | undefined },
  ) {
    this.#name = name;
    this.testbed = testbed;
    this.#scraper = scraper;
    this.#endpoint = endpoint;
  }

  /** @throws HarnessError `PORT_IN_USE` */
  static async open({ name, report, signal, metricsPort }: RunOptions): Promise<RunMetrics> {
    const testbed = new TestbedMetrics(name);
    const file = new SeriesFile(report);
    const scraper = new Scraper({ testbed, signal, onScrape: (scrape, ids) => file.append(scrape, ids) });
    const endpoint = metricsPort === undefined ? undefined : await serveTestbed(testbed, metricsPort);
    return new RunMetrics(name, testbed, { scraper, endpoint });
  }

  /** File of the run's folder; undefined when there was no cluster to read. */
  get file(): string | undefined {
    return this.#watched ? METRICS_FILE : undefined;
  }

  /** Reads the metrics of its nodes from here on. Dashboards that run for it show the run. */
  async watch(cluster: Cluster): Promise<void> {
    const { totalMs } = cluster.timings;
    // Zero of one that somebody else has started.
    if (totalMs > 0) this.testbed.clusterReady(totalMs / 1000);
    this.#scraper.watch(cluster.nodes);
    this.#watched = true;
    this.#announced?.withdraw();
    this.#announced = undefined;
    if (!hasDashboards(cluster.folder)) return;
    this.#endpoint ??= await serveTestbed(this.testbed, 0);
    this.#announced = announceTestbed(cluster.folder, this.#name, this.#endpoint.url);
  }

  /** Reads them once more, before the nodes are stopped. @throws HarnessError `CANNOT_WRITE` */
  release(): Promise<void> {
    return this.#scraper.release();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#announced?.isHeard() === true) {
      await Promise.race([this.#endpoint?.scraped(), sleep(LAST_SCRAPE_WITHIN_MS)]);
    }
    this.#announced?.withdraw();
    await this.#endpoint?.[Symbol.asyncDispose]();
  }
}
