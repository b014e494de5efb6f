import type { ClusterParts, Disposed, Driver } from './driver.ts';

/** Ends all running parts, which keep their data. */
export function haltAll(driver: Driver, cluster: ClusterParts, graceMs: number): Promise<Disposed> {
  return driver.halt?.(cluster, graceMs) ?? driver.dispose(cluster, graceMs);
}
