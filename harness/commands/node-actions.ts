/** `svcnet stop|start|kill|pause|resume NODE`: change one node. */

import { formatMs } from '../base/format.ts';
import { Cluster } from '../cluster/cluster.ts';
import { whereItRuns } from '../cluster/cluster-document.ts';
import type { ClusterNode } from '../cluster/nodes/cluster-node.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import type { NodeAction } from './node-action-names.ts';

export async function nodeAction(
  action: NodeAction,
  nodeName: string,
  flags: ClusterFlags,
  context: CommandContext,
): Promise<void> {
  const cluster = await Cluster.attach(flags.name, { stateDir: context.stateDir });
  const node = cluster.node(nodeName);
  const startedAt = performance.now();
  await act(node, action, context.signal);
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

async function act(node: ClusterNode, action: NodeAction, signal: AbortSignal): Promise<void> {
  switch (action) {
    case 'stop':
      await node.stop();
      return;
    case 'start':
      await node.start({ signal });
      return;
    case 'kill':
      await node.kill();
      return;
    case 'pause':
      await node.pause();
      return;
    case 'resume':
      await node.resume();
  }
}
