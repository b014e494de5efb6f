/** `svcnet stop|start|kill|pause|resume NODE`: change one node. */

import { formatMs } from '../base/format.ts';
import { Cluster } from '../cluster/cluster.ts';
import { whereItRuns } from '../cluster/cluster-document.ts';
import type { ClusterNode } from '../cluster/nodes/cluster-node.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';

const ACTIONS = {
  stop: (node) => node.stop(),
  start: (node, signal) => node.start({ signal }),
  kill: (node) => node.kill(),
  pause: (node) => node.pause(),
  resume: (node) => node.resume(),
} as const satisfies Readonly<Record<string, (node: ClusterNode, signal: AbortSignal) => Promise<unknown>>>;

type NodeCommand = (name: string, flags: ClusterFlags, context: CommandContext) => Promise<void>;

const command =
  (action: keyof typeof ACTIONS): NodeCommand =>
  (name, flags, context) =>
    change(action, name, flags, context);

export const stop = command('stop');
export const startNode = command('start');
export const kill = command('kill');
export const pause = command('pause');
export const resume = command('resume');

async function change(
  action: keyof typeof ACTIONS,
  nodeName: string,
  flags: ClusterFlags,
  context: CommandContext,
): Promise<void> {
  const cluster = await Cluster.attach(flags.name, { stateDir: context.stateDir });
  const node = cluster.node(nodeName);
  const startedAt = performance.now();
  await ACTIONS[action](node, context.signal);
  const durationMs = Math.round(performance.now() - startedAt);
  const document = {
    name: cluster.name,
    node: node.name,
    action,
    state: node.state,
    ...whereItRuns(node),
    durationMs,
  };
  answer(context, document, [`  ${node.name} is ${node.state}   ${formatMs(durationMs)}`]);
  await cluster.detach();
}
