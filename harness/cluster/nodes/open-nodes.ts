import { existsSync } from 'node:fs';
import type { Clock } from '../../../formats/clock.ts';
import { clusterGone, HarnessError } from '../../base/errors.ts';
import type { Uploaded } from '../../client/types.ts';
import type { Driver } from '../../places/driver.ts';
import { DRIVER_FACTS } from '../../places/facts.ts';
import { numberOf } from '../plan/planned-node.ts';
import { isJoining, savingProcess, whyUpgraded } from '../state/change.ts';
import { whyMoved } from '../state/moved.ts';
import {
  type BatchRecord,
  type ClusterRecord,
  clusterFolder,
  type NodeRecord,
  readRecord,
  recordIdentity,
  removeCluster,
  removeNodeFiles,
  whyRefused,
} from '../state/state.ts';
import { ClusterNode } from './cluster-node.ts';

export interface OpenContext {
  readonly clock: Clock;
  readonly stateDir: string;
  readonly record: ClusterRecord;
  readonly driver: Driver;
  readonly onUploaded: (node: ClusterNode, uploaded: Uploaded) => void;
  readonly all?: (() => readonly ClusterNode[]) | undefined;
}

export function openNodes(
  context: OpenContext,
  records: readonly NodeRecord[],
  batches: readonly BatchRecord[],
): ClusterNode[] {
  const membership = membershipOf(context);
  // Networks of others name their nodes as they like.
  const { owned } = DRIVER_FACTS[context.driver.name];
  const all = context.all ?? (() => nodes);
  const nodes: ClusterNode[] = records.map((record, place) =>
    openNode(context, { record, index: owned ? numberOf(record.name) : place, batches, all, membership }),
  );
  return nodes;
}

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
    membership: { exists, hasLeft },
  }: {
    record: NodeRecord;
    index: number;
    batches: readonly BatchRecord[];
    all: () => readonly ClusterNode[];
    membership: Membership;
  },
): ClusterNode {
  const batch = batches.find(({ node }) => node === record.name)?.id;
  const upgraded = () => whyUpgraded(context.stateDir, context.record.name, record.name);
  return new ClusterNode(index, record, {
    clock: context.clock,
    driver: context.driver,
    stateDir: context.stateDir,
    cluster: context.record.name,
    batch: () => batch,
    onUploaded: context.onUploaded,
    all,
    exists,
    hasLeft: () => hasLeft(record.name),
    removed() {
      const { stateDir, record: cluster } = context;
      if (!exists()) removeCluster(stateDir, cluster);
      else if (hasLeft(record.name)) removeNodeFiles(stateDir, cluster.name, record.name);
    },
    mayStart: () => (hasLeft(record.name) ? leftError(record.name) : (whyNotStarted(context) ?? upgraded())),
    mayChange: () => whySaved(context) ?? upgraded(),
  });
}

interface Membership {
  readonly exists: () => boolean;
  readonly hasLeft: (node: string) => boolean;
}

function membershipOf({ stateDir, record: { name, token } }: OpenContext): Membership {
  let read: { readonly identity: string; readonly names: ReadonlySet<string> | undefined } | undefined;
  const names = () => {
    const identity = recordIdentity(stateDir, name);
    if (identity === undefined) return undefined;
    if (read?.identity !== identity) {
      const record = readRecord(stateDir, name);
      const isOurs = record?.token === token;
      read = { identity, names: isOurs ? new Set(record.nodes.map((node) => node.name)) : undefined };
    }
    return read.names;
  };
  return {
    exists: () => names() !== undefined,
    hasLeft: (node) => names()?.has(node) === false && !isJoining(stateDir, name, node),
  };
}

export function leftError(node: string): HarnessError {
  return new HarnessError('NODE_NOT_FOUND', `${node} has been removed`);
}

export function whyNotStarted(context: Pick<OpenContext, 'record' | 'stateDir'>): HarnessError | undefined {
  const { name, owner, ephemeral } = context.record;
  if (!existsSync(clusterFolder(context.stateDir, name).path)) return clusterGone(name);
  if (ephemeral && owner.pid !== process.pid) {
    return new HarnessError(
      'NODE_STATE',
      `cluster '${name}' lives and dies with process ${owner.pid}, which alone can start its nodes`,
    );
  }
  return (
    whyRefused(context.stateDir, name) ?? whyMoved(context.stateDir, context.record) ?? whySaved(context)
  );
}

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
