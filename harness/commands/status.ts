/** `svcnet status`: cluster health, debts and problems; once, or every few seconds. */
import { setTimeout as sleep } from 'node:timers/promises';
import { HarnessError, throwIfInterrupted } from '../base/errors.ts';
import { Cluster } from '../cluster/cluster.ts';
import { findCluster, readRecord } from '../state/state.ts';
import { ANSWER_LIMIT_MS, ask, askNodes } from '../status/ask.ts';
import { type StatusDocument, statusDocument } from '../status/document.ts';
import { fitted, pageLines, statusPage } from '../status/page.ts';
import { Screen } from '../terminal/screen.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';

export interface StatusFlags extends ClusterFlags {
  /** Milliseconds between two looks; one look when absent. */
  readonly watch?: number;
}

export async function status(flags: StatusFlags, context: CommandContext): Promise<void> {
  const { stateDir } = context;
  const { token } = findCluster(stateDir, flags.name);
  const cluster = await Cluster.attach(flags.name, { stateDir });
  try {
    if (flags.watch === undefined) {
      const document = await look(cluster, context.signal);
      answer(context, document, pageLines(statusPage(document, context)));
    } else {
      const isThere = () => readRecord(stateDir, cluster.name)?.token === token;
      await watch(cluster, { intervalMs: flags.watch, isThere }, context);
    }
  } finally {
    await cluster.detach();
  }
}

async function look(cluster: Cluster, signal: AbortSignal): Promise<StatusDocument> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_LIMIT_MS)]);
  const [height, nodes] = await Promise.all([
    cluster.chain.rpc === '' ? { said: null } : ask(cluster.chain.height(limit)),
    askNodes(cluster.nodes, signal),
  ]);
  throwIfInterrupted(signal);
  const { name, seed } = cluster.toJSON();
  return statusDocument({
    at: new Date().toISOString(),
    name,
    seed,
    rpc: cluster.chain.rpc,
    height,
    nodes,
  });
}

interface Watching {
  readonly intervalMs: number;
  /** Whether the cluster is still the one that was asked for. */
  readonly isThere: () => boolean;
}

/**
 * Until it is interrupted.
 * @throws HarnessError `CLUSTER_GONE`
 */
async function watch(cluster: Cluster, watching: Watching, context: CommandContext): Promise<void> {
  const { signal, json } = context;
  using view = json || context.terminal === undefined ? blocks(context) : drawn(context, context.terminal);
  while (!signal.aborted) {
    try {
      const document = await look(cluster, signal);
      // A cluster that is being removed looks like one whose nodes have died.
      if (!watching.isThere()) throw goneError(cluster.name);
      view.show(document);
      await sleep(watching.intervalMs, undefined, { signal });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

interface View extends Disposable {
  show(document: StatusDocument): void;
}

/** One after the other: a document per line, or a block of lines under the time. */
function blocks({ json, out, style, width }: CommandContext): View {
  return {
    show(document) {
      const lines = pageLines(statusPage(document, { style, width }));
      out(json ? `${JSON.stringify(document)}\n` : `  ${document.at}\n${lines.join('\n')}\n\n`);
    },
    [Symbol.dispose]: () => undefined,
  };
}

/** Each in place of the one before; the last one stays behind. */
function drawn(
  { out, style, width }: CommandContext,
  terminal: NonNullable<CommandContext['terminal']>,
): View {
  const screen = new Screen(terminal);
  let last: StatusDocument | undefined;
  return {
    show(document) {
      last = document;
      screen.draw((size) => fitted(statusPage(document, { style, width: size.width }), size.rows));
    },
    [Symbol.dispose]() {
      screen[Symbol.dispose]();
      if (last !== undefined) out(`${pageLines(statusPage(last, { style, width })).join('\n')}\n`);
    },
  };
}

function goneError(name: string): HarnessError {
  return new HarnessError('CLUSTER_GONE', `cluster '${name}' has been removed`, {
    hint: `Start it again with: svcnet up --name ${name}`,
  });
}
