import type { ClusterParts, Disposed, Driver } from './driver.ts';

/** Ends every running part of a cluster, which keeps everything that its parts have stored. */
export function haltAll(driver: Driver, cluster: ClusterParts, graceMs: number): Promise<Disposed> {
  return driver.halt?.(cluster, graceMs) ?? driver.dispose(cluster, graceMs);
}
