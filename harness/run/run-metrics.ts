import { messageOf } from '../base/errors.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { orLate } from '../base/wait.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { type Announcement, announceTestbed, hasDashboards } from '../metrics/dashboards/running.ts';
import { type MetricsEndpoint, serveTestbed } from '../metrics/endpoint.ts';
import { Scraper } from '../metrics/scraper.ts';
import { METRICS_FILE, SeriesFile } from '../metrics/series-file.ts';
import { TestbedMetrics } from '../metrics/testbed.ts';
import type { RunOptions } from './run-options.ts';

/** The dashboards' Prometheus scrapes every few seconds. */
const LAST_SCRAPE_WITHIN_MS = 6000;

const SILENT_NAMED = 3;

export class RunMetrics implements AsyncDisposable {
  readonly testbed: TestbedMetrics;
  readonly problems: string[] = [];
  readonly #scraper: Scraper;
  readonly #name: string;
  readonly #signal: AbortSignal;
  #endpoint: MetricsEndpoint | undefined;
  #announced: Announcement | undefined;
  #watched = false;

  private constructor(
    { name, signal }: Pick<RunOptions, 'name' | 'signal'>,
    testbed: TestbedMetrics,
    { scraper, endpoint }: { scraper: Scraper; endpoint: MetricsEndpoint | undefined },
  ) {
    this.#name = name;
    this.#signal = signal;
    this.testbed = testbed;
    this.#scraper = scraper;
    this.#endpoint = endpoint;
  }

  static async open({ name, report, signal, metricsPort, watcher }: RunOptions): Promise<RunMetrics> {
    const testbed = new TestbedMetrics(name);
    const file = new SeriesFile(report);
    const scraper = new Scraper({
      testbed,
      signal,
      onScrape(scrape, ids) {
        watcher?.scraped(scrape, ids);
        return file.append(scrape, ids);
      },
    });
    const endpoint = metricsPort === undefined ? undefined : await serveTestbed(testbed, metricsPort);
    return new RunMetrics({ name, signal }, testbed, { scraper, endpoint });
  }

  get file(): string | undefined {
    return this.#watched ? METRICS_FILE : undefined;
  }

  async watch(cluster: Cluster): Promise<void> {
    const { totalMs } = cluster.timings;
    if (totalMs > 0) this.testbed.clusterReady(totalMs / 1000);
    this.#scraper.watch(cluster);
    this.#watched = true;
    this.#announced?.withdraw();
    this.#announced = undefined;
    try {
      if (!hasDashboards(cluster.folder)) return;
      this.#endpoint ??= await serveTestbed(this.testbed, 0);
      this.#announced = announceTestbed(cluster.folder, this.#name, this.#endpoint.url);
    } catch (error) {
      this.problems.push(`the dashboards do not show the run: ${messageOf(error)}`);
    }
  }

  async release(): Promise<void> {
    try {
      await this.#scraper.release();
    } catch (error) {
      this.problems.push(`${METRICS_FILE} ends early: ${messageOf(error)}`);
    }
    this.#nameSilent();
  }

  #nameSilent(): void {
    const { failures, answered } = this.#scraper;
    const silent = [...failures].filter(([name]) => !answered.has(name));
    failures.clear();
    answered.clear();
    const [[, why] = []] = silent;
    if (why === undefined) return;
    const names = silent.map(([name]) => name);
    const more = names.length > SILENT_NAMED ? ` and ${names.length - SILENT_NAMED} more` : '';
    this.problems.push(`no metrics of ${names.slice(0, SILENT_NAMED).join(', ')}${more}: ${why}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#signal.aborted && this.#announced?.isHeard() === true && this.#endpoint !== undefined)
      await orLate(this.#endpoint.scraped(), {
        clock: MACHINE_CLOCK,
        ms: LAST_SCRAPE_WITHIN_MS,
        late: undefined,
      });
    this.#announced?.withdraw();
    await this.#endpoint?.[Symbol.asyncDispose]();
  }
}
