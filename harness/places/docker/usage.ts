import type { Stats } from '../driver.ts';
import type { ContainerStats } from './engine/documents.ts';

const NS_PER_MS = 1_000_000;

export function usageOf({ cpu_stats, memory_stats, networks }: ContainerStats): Stats {
  const links = Object.values(networks ?? {});
  const memory = ownBytes(memory_stats);
  const cpuNs = cpu_stats?.cpu_usage?.total_usage ?? 0;
  return {
    ...(cpuNs === 0 ? {} : { cpuMs: cpuNs / NS_PER_MS }),
    memoryBytes: memory,
    ...(links.length === 0
      ? {}
      : {
          receivedBytes: links.reduce((sum, { rx_bytes }) => sum + rx_bytes, 0),
          sentBytes: links.reduce((sum, { tx_bytes }) => sum + tx_bytes, 0),
        }),
  };
}

/** Leaves out the file cache: `anon` of cgroup version 2, `total_rss` of version 1. */
function ownBytes(memory: ContainerStats['memory_stats'] | undefined): number | undefined {
  const { anon, total_rss } = memory?.stats ?? {};
  return anon ?? total_rss;
}
