/** A cluster's live page on loopback. It is read-only: no request reaches a node or changes anything. */
import type { PartLog } from '../../base/logs/file-log.ts';
import type { Asset } from './assets.ts';
import { logAnswer } from './log-answer.ts';
import { type ServedPage, servePage, type UiOptions } from './page-server.ts';
import { ClusterWatch, type Watched } from './watch.ts';

export interface UiDeps {
  readonly cluster: Watched & { readonly logOf: (part: string) => PartLog };
  readonly isThere: () => boolean;
  readonly assets: ReadonlyMap<string, Asset>;
}

export interface Ui extends Omit<ServedPage, 'watcher'> {
  readonly watch: Pick<ClusterWatch, 'rounds' | 'snapshot'>;
}

/** @throws HarnessError `PORT_IN_USE` */
export async function serveUi(options: UiOptions, { cluster, isThere, assets }: UiDeps): Promise<Ui> {
  const { clock } = cluster;
  const { watcher, ...page } = await servePage(options, {
    clock,
    assets,
    watcher: (told) => {
      const watch = new ClusterWatch(cluster, { isThere, ...told });
      return {
        clusterWatch: watch,
        get snapshot() {
          return watch.snapshot;
        },
        watch: (isWatched: boolean) => watch.watch(isWatched),
        log: (part: string, after: string | undefined) => logAnswer(cluster.logOf(part), after),
        close: () => watch.close(),
      };
    },
  });
  return { ...page, watch: watcher.clusterWatch };
}
