import type { Cluster } from '../cluster/cluster.ts';
import { announceTestbed } from '../metrics/dashboards/running.ts';
import { serveTestbed } from '../metrics/endpoint.ts';
import { Scraper } from '../metrics/scraper.ts';
import { TestbedMetrics } from '../metrics/testbed.ts';

/** Label `run` of nodes' metrics outside runs. Sorts after names of runs. */
const NO_RUN = 'none';
const WATCH_INTERVAL_MS = 5000;

export class Watch implements AsyncDisposable {
  readonly #scraper: Scraper;
  readonly #close: () => Promise<void>;

  private constructor(scraper: Scraper, close: () => Promise<void>) {
    this.#scraper = scraper;
    this.#close = close;
  }

  static async open(cluster: Cluster, signal: AbortSignal): Promise<Watch> {
    const testbed = new TestbedMetrics(NO_RUN);
    const endpoint = await serveTestbed(testbed, 0);
    const announced = announceTestbed(cluster.folder, NO_RUN, endpoint.url);
    const options = { testbed, signal, intervalMs: WATCH_INTERVAL_MS };
    const scraper = new Scraper({ ...options, onScrape: () => undefined });
    scraper.watch(cluster);
    return new Watch(scraper, async () => {
      announced.withdraw();
      await endpoint[Symbol.asyncDispose]();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scraper.release();
    await this.#close();
  }
}
