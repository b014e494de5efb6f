import { HarnessError, messageOf } from '../base/errors.ts';
import { plural } from '../base/format.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { openInBrowser } from '../base/machine/open.ts';
import { pause } from '../base/wait.ts';
import { Cluster } from '../cluster/cluster.ts';
import { findCluster, readRecord } from '../cluster/state/state.ts';
import { pageAssets } from '../inspect/live/assets.ts';
import { servePage } from '../inspect/live/page-server.ts';
import { partsOf } from '../inspect/live/recorded/parts.ts';
import { RecordedView } from '../inspect/live/recorded/recorded-view.ts';
import { serveUi, type Ui } from '../inspect/live/server.ts';
import { findRun, readRun } from '../report/read-run.ts';
import { pageBundle } from '../web/pages/bundle.ts';
import type { ClusterFlags, CommandContext } from './context.ts';

/** Pages hear within half of it whether the cluster is there. */
const LOOK_MS = 1000;

export interface UiFlags extends ClusterFlags {
  /** Default: any. */
  readonly port?: number;
  readonly open?: boolean;
  /** Its record, instead of a cluster. */
  readonly run?: string;
}

export async function ui(flags: UiFlags, context: CommandContext): Promise<void> {
  if (flags.run !== undefined) return await play(flags.run, flags, context);
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

/** Reads the record once: nothing of it is needed later but its logs. */
async function play(name: string, flags: UiFlags, context: CommandContext): Promise<void> {
  if (flags.name !== undefined)
    throw new HarnessError('USAGE', '--run and --name exclude each other', {
      hint: 'The page shows the record of a run, or a cluster that is there.',
    });
  const { signal, json, out, note } = context;
  const run = readRun(findRun(name, context.stateDir));
  const [parts, bundle] = await Promise.all([partsOf(run), pageBundle('live')]);
  const served = await servePage(
    { port: flags.port ?? 0 },
    {
      clock: MACHINE_CLOCK,
      assets: pageAssets(bundle),
      watcher: (told) => new RecordedView(parts, { ...told, clock: MACHINE_CLOCK }),
    },
  );
  try {
    const { url } = served;
    out(json ? `${JSON.stringify({ run: run.run, url })}\n` : `  ${run.run}: ${url}\n`);
    if (!json) note('  Open it in a browser on this machine. It plays the record; press Ctrl-C to stop.\n');
    if (flags.open === true) await open(served, context);
    while (!signal.aborted) await pause(MACHINE_CLOCK, LOOK_MS, signal);
  } finally {
    await served.close();
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

async function open(served: Pick<Ui, 'url' | 'onceUrl'>, { note }: CommandContext): Promise<void> {
  try {
    await openInBrowser(served.onceUrl(), served.url);
  } catch (error) {
    note(`  ${messageOf(error)}\n`);
  }
}
