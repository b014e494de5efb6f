import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type ClusterRecord, clusterFolder } from './state.ts';

/** Digits of the token: enough to tell clusters of one name apart, too few to control one. */
const TOKEN_SHOWN = 8;

/**
 * A file that is there as long as the cluster, for port claims. The cluster's folder would not do: it is
 * there again as soon as another cluster has the name.
 * @returns its path, absolute
 */
export function portKeeper(stateDir: string, { name, token }: Pick<ClusterRecord, 'name' | 'token'>): string {
  const path = resolve(join(clusterFolder(stateDir, name).path, `ports-${token.slice(0, TOKEN_SHOWN)}`));
  writeFileSync(path, '');
  return path;
}
