import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type ClusterRecord, clusterFolder } from './state.ts';

/** Tells clusters of one name apart, without controlling one. */
const TOKEN_SHOWN = 8;

/**
 * A file that is there as long as the cluster, for port claims. Its folder returns when another cluster has the name.
 * @returns its path, absolute
 */
export function portKeeper(stateDir: string, { name, token }: Pick<ClusterRecord, 'name' | 'token'>): string {
  const path = resolve(join(clusterFolder(stateDir, name).path, `ports-${token.slice(0, TOKEN_SHOWN)}`));
  writeFileSync(path, '');
  return path;
}
