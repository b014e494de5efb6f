import { formatMs } from '../base/format.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { whereItRuns } from '../cluster/cluster-document.ts';
import type { ClusterNode } from '../cluster/nodes/cluster-node.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { onCluster } from './on-cluster.ts';

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
  (nodeName, flags, context) =>
    onCluster(flags, context, async (cluster) => {
      const node = cluster.node(nodeName);
      const startedAt = MACHINE_CLOCK.monotonic();
      await ACTIONS[action](node, context.signal);
      const durationMs = Math.round(MACHINE_CLOCK.monotonic() - startedAt);
      const { name, state } = node;
      const document = { name: cluster.name, node: name, action, state, ...whereItRuns(node), durationMs };
      answer(context, document, [`  ${name} is ${state}   ${formatMs(durationMs)}`]);
    });

export const stop = command('stop');
export const startNode = command('start');
export const kill = command('kill');
export const pause = command('pause');
export const resume = command('resume');
