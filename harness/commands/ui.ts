import { messageOf } from '../base/errors.ts';
import { plural } from '../base/format.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { openInBrowser } from '../base/machine/open.ts';
import { pause } from '../base/wait.ts';
import { Cluster } from '../cluster/cluster.ts';
import { findCluster, readRecord } from '../cluster/state/state.ts';
import { pageAssets } from '../inspect/live/assets.ts';
import { serveUi, type Ui } from '../inspect/live/server.ts';
import { pageBundle } from '../web/pages/bundle.ts';
import type { ClusterFlags, CommandContext } from './context.ts';

/** Pages hear within half of it whether the cluster is there. */
const LOOK_MS = 1000;

export interface UiFlags extends ClusterFlags {
  /** Default: any. */
  readonly port?: number;
  readonly open?: boolean;
}

export async function ui(flags: UiFlags, context: CommandContext): Promise<void> {
  const { stateDir, signal } = context;
  const { token } = findCluster(stateDir, flags.name);
  const [cluster, bundle] = await Promise.all([Cluster.attach(flags.name, { stateDir }), pageBundle('live')]);
  try {
    const isThere = () => readRecord(stateDir, cluster.name)?.token === token;
    const assets = pageAssets(bundle);
    const served = await serveUi({ port: flags.port ?? 0 }, { cluster, isThere, assets });
    try {
      tell(served.url, cluster, context);
      if (flags.open === true) await open(served, context);
      await removed(isThere, signal);
      if (!signal.aborted) context.note(`  cluster '${cluster.name}' has been removed\n`);
    } finally {
      await served.close();
    }
  } finally {
    await cluster.detach();
  }
}

/** Waits for the end of the cluster, and until its pages have been told. */
async function removed(isThere: () => boolean, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && isThere()) await pause(MACHINE_CLOCK, LOOK_MS, signal);
  await pause(MACHINE_CLOCK, LOOK_MS, signal);
}

function tell(url: string, { name, nodes }: Cluster, { json, out, note }: CommandContext): void {
  if (json) {
    out(`${JSON.stringify({ name, url })}\n`);
    return;
  }
  out(`  ${name}, ${plural(nodes.length, 'node')}: ${url}\n`);
  note('  Open it in a browser on this machine. It is read-only; press Ctrl-C to stop.\n');
}

async function open(served: Ui, { note }: CommandContext): Promise<void> {
  try {
    await openInBrowser(served.onceUrl(), served.url);
  } catch (error) {
    note(`  ${messageOf(error)}\n`);
  }
}
