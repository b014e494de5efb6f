/**
 * What a Prometheus scraped once a second, as a rarer scraper would have it: the same values, further apart. A second
 * Prometheus reads them from blocks that promtool makes, so that nothing waits for an hour of scrapes.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../harness/scenario.ts';
import { PROMTOOL, PrometheusApi, type Range, type Series } from './prometheus.ts';

const PROGRAM = process.env['SVCNET_PROMETHEUS'] ?? 'prometheus';
const STARTED_WITHIN_MS = 180_000;
/** More than a rate or the search for a last sample looks back. */
const APART_S = 3600;

export interface Slowed {
  readonly api: PrometheusApi;
  /** By seconds between two scrapes. */
  readonly ranges: ReadonlyMap<number, Range>;
  readonly stop: () => void;
}

export async function slowed(
  series: readonly Series[],
  range: Range,
  { everyS, folder }: { everyS: readonly number[]; folder: string },
): Promise<Slowed> {
  const ranges = new Map<number, Range>();
  let end = range.end;
  for (const every of everyS) {
    const start = end - (range.end - range.start) * every;
    ranges.set(every, { start, end });
    end = start - APART_S;
  }
  mkdirSync(folder, { recursive: true });
  const [text, data, config] = ['samples.om', 'data', 'prometheus.yml'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(text, openMetrics(series, range, ranges));
  execFileSync(PROMTOOL, ['tsdb', 'create-blocks-from', 'openmetrics', '--quiet', text, data]);
  writeFileSync(config, '{}');
  const child = spawn(
    PROGRAM,
    [`--config.file=${config}`, `--storage.tsdb.path=${data}`, '--web.listen-address=127.0.0.1:0'],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let words = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => (words += String(data)));
  const url = await until(
    'the second Prometheus has not started',
    () => {
      const address = /Listening on"? address=(127\.0\.0\.1:\d+)/.exec(words)?.[1];
      const ready = words.includes('ready to receive web requests');
      if (child.exitCode !== null) throw new Error(`it has ended: ${words}`);
      return Promise.resolve(
        address === undefined || !ready ? { missing: words } : { done: `http://${address}` },
      );
    },
    { timeoutMs: STARTED_WITHIN_MS },
  );
  return { api: new PrometheusApi(url), ranges, stop: () => void child.kill('SIGKILL') };
}

function openMetrics(series: readonly Series[], range: Range, ranges: ReadonlyMap<number, Range>): string {
  const oldestFirst = [...ranges].toSorted(([, a], [, b]) => a.start - b.start);
  const byName = series.toSorted(({ metric: a }, { metric: b }) => (nameOf(a) < nameOf(b) ? -1 : 1));
  const lines = byName.flatMap(({ metric, values = [] }) => {
    const { __name__: name, ...labels } = metric;
    const pairs = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
    return oldestFirst.flatMap(([every, { start }]) =>
      values.map(([at, value]) => {
        const time = start + (at - range.start) * every;
        return `${name}{${pairs.join(',')}} ${value} ${time.toFixed(3)}`;
      }),
    );
  });
  return [...lines, '# EOF', ''].join('\n');
}

function nameOf(metric: Series['metric']): string {
  return metric['__name__'] ?? '';
}
