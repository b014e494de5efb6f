import { Cluster } from '../cluster/cluster.ts';
import { findCluster, type NodeRecord } from '../cluster/state/state.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { startNode } from './node-actions.ts';
import { nodesTable } from './nodes-table.ts';
import { headline, stepsFor, tryNext, whileShown } from './up.ts';

export function start(node: string | undefined, flags: ClusterFlags, context: CommandContext): Promise<void> {
  return node === undefined ? startAgain(flags, context) : startNode(node, flags, context);
}

async function startAgain(flags: ClusterFlags, context: CommandContext): Promise<void> {
  const { stateDir, signal } = context;
  const before = findCluster(stateDir, flags.name);
  // Its images are there.
  const steps = stepsFor({ image: false, postage: before.batches.length > 0, state: false });
  const cluster = await whileShown(steps, context, (onProgress) =>
    Cluster.startAgain(before.name, { stateDir, signal, onProgress }),
  );
  try {
    const moved = [
      ...changed('the chain', [before.chain?.rpc], [cluster.chain.rpc]),
      ...cluster.nodes.flatMap((node, index) =>
        changed(node.name, urlsOf(before.nodes[index]), urlsOf(node)),
      ),
    ];
    answer(context, { ...cluster.toJSON(), moved }, [
      '',
      ...headline(cluster, context),
      '',
      ...nodesTable(cluster, context, { wide: false, state: false }),
      '',
      ...moved.map(
        ({ part, before: [had] }) => `  ${part} has moved from ${had}: something else has one of its ports`,
      ),
      ...(moved.length === 0 ? [] : ['']),
      ...tryNext(cluster, context),
    ]);
  } finally {
    await cluster.detach();
  }
}

interface Moved {
  readonly part: string;
  readonly before: readonly string[];
  readonly now: readonly string[];
}

function urlsOf(node: Pick<NodeRecord, 'api' | 'debug' | 'p2p'> | undefined): string[] {
  return node === undefined ? [] : [node.api, node.debug, node.p2p];
}

function changed(
  part: string,
  before: readonly (string | undefined)[],
  now: readonly string[],
): readonly Moved[] {
  const had = before.map((url) => url ?? '');
  return now.every((url, index) => url === had[index]) ? [] : [{ part, before: had, now }];
}
