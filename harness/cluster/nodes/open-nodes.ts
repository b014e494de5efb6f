/** Makes `ClusterNode` objects from records, for a cluster being started and for one already running. */

import type { Clock } from '../../../formats/clock.ts';
import { HarnessError } from '../../base/errors.ts';
import type { Uploaded } from '../../client/types.ts';
import type { Driver } from '../../places/driver.ts';
import { DRIVER_FACTS } from '../../places/facts.ts';
import { numberOf } from '../plan/planned-node.ts';
import { savingProcess } from '../state/saving.ts';
import {
  type BatchRecord,
  type ClusterRecord,
  clusterFolder,
  isOwnCluster,
  type NodeRecord,
  readRecord,
  recordIdentity,
  removeCluster,
} from '../state/state.ts';
import { ClusterNode } from './cluster-node.ts';

export interface OpenContext {
  readonly clock: Clock;
  readonly stateDir: string;
  readonly record: ClusterRecord;
  readonly driver: Driver;
  readonly onUploaded: (node: ClusterNode, uploaded: Uploaded) => void;
  /** All nodes of the cluster that those to open belong to; absent: they are all. */
  readonly all?: (() => readonly ClusterNode[]) | undefined;
}

export function openNodes(
  context: OpenContext,
  records: readonly NodeRecord[],
  batches: readonly BatchRecord[],
): ClusterNode[] {
  const exists = existence(context);
  // Networks of others name their nodes as they like.
  const { owned } = DRIVER_FACTS[context.driver.name];
  const all = context.all ?? (() => nodes);
  const nodes: ClusterNode[] = records.map((record, place) =>
    openNode(context, { record, index: owned ? numberOf(record.name) : place, batches, all, exists }),
  );
  return nodes;
}

/** From now on each is expected to be as it is seen now. */
export async function acceptAll(nodes: readonly ClusterNode[]): Promise<void> {
  await Promise.all(nodes.map(async (node) => node.accept(await node.observe())));
}

function openNode(
  context: OpenContext,
  {
    record,
    index,
    batches,
    all,
    exists,
  }: {
    record: NodeRecord;
    index: number;
    batches: readonly BatchRecord[];
    all: () => readonly ClusterNode[];
    exists: () => boolean;
  },
): ClusterNode {
  const batch = batches.find(({ node }) => node === record.name)?.id;
  return new ClusterNode(index, record, {
    clock: context.clock,
    driver: context.driver,
    stateDir: context.stateDir,
    cluster: context.record.name,
    batch: () => batch,
    onUploaded: context.onUploaded,
    all,
    exists,
    removed: () => removeCluster(context.stateDir, context.record),
    mayStart: () => whyNotStarted(context),
    mayChange: () => whySaved(context),
  });
}

/** Whether the record on disk is of this cluster. Read again only when the file is another: every start of a node asks. */
function existence({ stateDir, record: { name, token } }: OpenContext): () => boolean {
  let read: { readonly identity: string; readonly isOurs: boolean } | undefined;
  return () => {
    const identity = recordIdentity(stateDir, name);
    if (identity === undefined) return false;
    if (read?.identity !== identity) {
      read = { identity, isOurs: readRecord(stateDir, name)?.token === token };
    }
    return read.isOurs;
  };
}

/** Why this process must not start nodes now, if so. */
export function whyNotStarted(context: Pick<OpenContext, 'record' | 'stateDir'>): HarnessError | undefined {
  const { name, owner, ephemeral } = context.record;
  if (ephemeral && owner.pid !== process.pid) {
    return new HarnessError(
      'NODE_STATE',
      `cluster '${name}' lives and dies with process ${owner.pid}, which alone can start its nodes`,
    );
  }
  if (!isOwnCluster(context.stateDir, name)) {
    return new HarnessError(
      'NODE_STATE',
      `the files of cluster '${name}' were not made here, so nothing that they name is run`,
      {
        hint: 'They have been copied, or came with a repository. Start a cluster of your own with: svcnet up',
      },
    );
  }
  return whySaved(context);
}

/** Why the nodes are left as they are while their data is copied, if it is. */
export function whySaved({
  stateDir,
  record: { name },
}: Pick<OpenContext, 'record' | 'stateDir'>): HarnessError | undefined {
  const saving = savingProcess(clusterFolder(stateDir, name).path);
  if (saving === undefined) return undefined;
  return new HarnessError(
    'NODE_STATE',
    `cluster '${name}' is being saved by process ${saving.pid}, which starts the nodes it has stopped when their data is copied`,
    { hint: 'Try again when it has been saved.' },
  );
}
