/** Names are those of the public network's dashboards. */
import type { MetricsOf, MetricTable } from '../env/metrics.ts';

export const API_METRICS = {
  requestCount: { kind: 'counter', name: 'api_request_count', help: 'Requests received.' },
  responseCodeCount: {
    kind: 'counter',
    name: 'api_response_code_count',
    help: 'Responses by status and method.',
    labels: ['code', 'method'],
  },
  responseDuration: {
    kind: 'histogram',
    name: 'api_response_duration_seconds',
    help: 'Time from the request line to the end of the response.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  },
  contentDuration: {
    kind: 'histogram',
    name: 'api_content_api_duration',
    help: 'Duration of finished content transfers by size class, seconds.',
    labels: ['filesize', 'method'],
    buckets: [0.5, 1, 2.5, 5, 10, 30, 60],
  },
  uploadSpeed: {
    kind: 'histogram',
    name: 'api_upload_speed',
    help: 'Throughput of finished uploads, bytes per second.',
    labels: ['endpoint', 'mode'],
    // 64 KiB/s to 1 GiB/s.
    buckets: [65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864, 268_435_456, 1_073_741_824],
  },
  downloadSpeed: {
    kind: 'histogram',
    name: 'api_download_speed',
    help: 'Throughput of finished downloads, bytes per second.',
    labels: ['endpoint'],
    buckets: [65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864, 268_435_456, 1_073_741_824],
  },
  downloadsStalled: {
    kind: 'counter',
    name: 'api_download_stalled_count',
    help: 'Downloads suspended in favour of others because the client stopped reading.',
  },
  downloadsRefused: {
    kind: 'counter',
    name: 'api_download_refused_count',
    help: 'Downloads refused because too many were waiting.',
  },
  idleEnded: {
    kind: 'counter',
    name: 'api_idle_ended_count',
    help: 'Connections closed because the client stopped sending its request body or reading the response.',
    labels: ['what'],
  },
} as const satisfies MetricTable;

export type ApiMetrics = MetricsOf<typeof API_METRICS>;

/** Bytes; larger ones count as the largest. */
const SIZE_CLASSES = [100_000, 500_000, 2_500_000, 4_999_000, 5_000_000, 10_000_000] as const;

export function sizeClass(bytes: number): number {
  return SIZE_CLASSES.find((limit) => bytes <= limit) ?? (SIZE_CLASSES.at(-1) as number);
}
