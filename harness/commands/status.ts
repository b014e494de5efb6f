import { clusterGone, throwIfInterrupted } from '../base/errors.ts';
import { Screen } from '../base/terminal/screen.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { downLines } from '../cluster/lifecycle/again.ts';
import { stateOf } from '../cluster/lifecycle/drivers.ts';
import { findCluster, readRecord } from '../cluster/state/state.ts';
import { ANSWER_LIMIT_MS, askNodes, replyOf, valueOr } from '../inspect/status/ask.ts';
import { type StatusDocument, statusDocument } from '../inspect/status/document.ts';
import { isolationOf, unlinkedNodes } from '../inspect/status/isolation.ts';
import { lasting, mayPass } from '../inspect/status/lasting.ts';
import { fitted, statusText, textLines } from '../inspect/status/text.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { activeFaults } from './fault.ts';
import { onCluster } from './on-cluster.ts';

export interface StatusFlags extends ClusterFlags {
  /** Between readings, milliseconds; default: one reading. */
  readonly watch?: number;
}

export async function status(flags: StatusFlags, context: CommandContext): Promise<void> {
  const { stateDir } = context;
  const record = findCluster(stateDir, flags.name);
  await onCluster(flags, context, async (cluster) => {
    if (flags.watch === undefined) {
      const document = await settledStatus(cluster, context.signal);
      const isDown = (await stateOf(stateDir, record)) === 'gone';
      const lines = [
        ...(isDown ? [...downLines(stateDir, record), ''] : []),
        ...textLines(statusText(document, context)),
        ...activeFaults(document.faults),
      ];
      answer(context, document, lines);
    } else {
      const isThere = () => readRecord(stateDir, cluster.name)?.token === record.token;
      await watch(cluster, { intervalMs: flags.watch, isThere }, context);
    }
  });
}

/** A payment between two nodes is faster. */
const SECOND_LOOK_MS = 1000;

async function settledStatus(cluster: Cluster, signal: AbortSignal): Promise<StatusDocument> {
  const first = await readStatus(cluster, signal);
  if (!mayPass(first)) return first;
  await cluster.clock.sleep(SECOND_LOOK_MS, signal);
  return lasting(await readStatus(cluster, signal), first);
}

async function readStatus(cluster: Cluster, signal: AbortSignal): Promise<StatusDocument> {
  const { chain, clock } = cluster;
  using limit = clock.deadline(ANSWER_LIMIT_MS, signal);
  // The pace of another network's chain is not known: its blocks may come on demand.
  const isPaced = cluster.logged && chain.controlled;
  const [height, blockAt, pace, nodes] = await Promise.all([
    chain.rpc === '' ? { value: null } : replyOf(chain.height(limit.signal)),
    isPaced ? replyOf(chain.newestAt(limit.signal)) : undefined,
    isPaced ? replyOf(chain.pace(limit.signal)) : undefined,
    askNodes(cluster.nodes, signal),
  ]);
  const faults = await cluster.faults.list();
  // Which links nodes of other networks should have is not known.
  const unlinked = cluster.logged ? unlinkedNodes(nodes, cluster.nodes) : undefined;
  const isolated = await isolationOf(nodes, cluster.nodes, { unlinked, faults, nowMs: clock.now(), signal });
  throwIfInterrupted(signal);
  const { name, seed } = cluster.toJSON();
  return statusDocument({
    at: new Date(clock.now()).toISOString(),
    name,
    seed,
    rpc: chain.shownRpc,
    height,
    blockAt: blockAt && valueOr(blockAt, undefined),
    pace: pace && valueOr(pace, undefined),
    nodes,
    faults,
    unlinked,
    isolated,
  });
}

interface Watching {
  readonly intervalMs: number;
  /** Whether the same cluster still exists. */
  readonly isThere: () => boolean;
}

/**
 * Until interrupted.
 * @throws HarnessError `CLUSTER_GONE`
 */
async function watch(cluster: Cluster, watching: Watching, context: CommandContext): Promise<void> {
  const { signal, json } = context;
  using view = json || context.terminal === undefined ? blocks(context) : drawn(context, context.terminal);
  let before: StatusDocument | undefined;
  while (!signal.aborted) {
    try {
      const look = await readStatus(cluster, signal);
      // Nodes of a removed cluster look crashed.
      if (!watching.isThere()) throw clusterGone(cluster.name);
      view.show(lasting(look, before));
      before = look;
      await cluster.clock.sleep(watching.intervalMs, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

interface View extends Disposable {
  show(document: StatusDocument): void;
}

function blocks({ json, out, style, width }: CommandContext): View {
  return {
    show(document) {
      const lines = textLines(statusText(document, { style, width }));
      out(json ? `${JSON.stringify(document)}\n` : `  ${document.at}\n${lines.join('\n')}\n\n`);
    },
    [Symbol.dispose]: () => undefined,
  };
}

function drawn(
  { out, style, width }: CommandContext,
  terminal: NonNullable<CommandContext['terminal']>,
): View {
  const screen = new Screen(terminal);
  let last: StatusDocument | undefined;
  return {
    show(document) {
      last = document;
      screen.draw((size) => fitted(statusText(document, { style, width: size.width }), size.rows));
    },
    [Symbol.dispose]() {
      screen[Symbol.dispose]();
      if (last !== undefined) out(`${textLines(statusText(last, { style, width })).join('\n')}\n`);
    },
  };
}
