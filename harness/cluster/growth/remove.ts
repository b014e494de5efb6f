/**
 * A node leaves for good. None of what it stored is moved. It leaves the record before it stops, so that its end is not
 * taken for a failure.
 */
import { REMOVE } from '../faults/members.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';
import { isThere } from '../nodes/node-run.ts';
import { leftError, type OpenContext, whySaved } from '../nodes/open-nodes.ts';
import { numbersGiven } from '../plan/facts.ts';
import { readDefinition, writtenDefinition } from '../plan/schema.ts';
import { unroute } from '../start/link-proxy.ts';
import { abandonedNodes, changeRecord, endJoining, whyUpgraded } from '../state/change.ts';
import { type ClusterRecord, isOwnCluster, readRecord, readRun, removeNodeFiles } from '../state/state.ts';
import type { GrowthContext } from './add.ts';
import { type ActiveFault, expectElastic, expectNoFault, refusal } from './refused.ts';

/** Half-added nodes have no data that anybody wants. */
const GRACE_MS = 500;

/** How a node is removed. */
export interface RemoveOptions {
  /** Its data goes, too, and it cannot be started again. Default: false. */
  readonly forGood?: boolean | undefined;
}

export async function removeNode(
  context: GrowthContext & { readonly faults: readonly ActiveFault[] },
  node: ClusterNode,
  onLeft: (record: ClusterRecord) => void,
): Promise<void> {
  const { stateDir, record, driver } = context;
  const cluster = record.name;
  const { name, index } = node;
  const definition = readDefinition(record.definition);
  expectElastic(`remove ${name} for good from`, { name: cluster, definition, driver });
  // Its own removal may be one.
  const faults = context.faults.filter(({ kind }) => kind !== REMOVE.name);
  expectNoFault('remove', node, { faults, cluster });
  const now = await changeRecord(context, (current) => {
    expectOthers(current, node);
    // It could not be wiped, and would be started again.
    const saved = whySaved(context);
    if (saved !== undefined) throw saved;
    const upgraded = whyUpgraded(stateDir, cluster, name);
    if (upgraded !== undefined) throw upgraded;
    const before = readDefinition(current.definition);
    const { from = numbersGiven(before), gone = [] } = before.grown ?? {};
    return {
      ...current,
      definition: writtenDefinition({ ...before, grown: { from, gone: [...gone, index] } }),
      nodes: current.nodes.filter((other) => other.name !== name),
      batches: current.batches.filter((batch) => batch.node !== name),
    };
  });
  onLeft(now);
  if (isThere(await node.observe())) await node.stop();
  // A holder keeps in memory what others have on disk.
  if (node.can('data') && node.state !== 'new') await node.wipe();
  await unroute(context, [name]);
  await driver.remove?.(name);
  removeNodeFiles(stateDir, cluster, name);
}

/** Nodes ask boot nodes for peers, and only full nodes store. */
function expectOthers({ nodes }: ClusterRecord, { name, mode }: ClusterNode): void {
  if (!nodes.some((node) => node.name === name)) {
    throw leftError(name);
  }
  if (mode === 'boot') {
    throw refusal('remove', `${name} is a boot node, which introduces all others`, {
      hint: 'Stop it with: svcnet stop',
    });
  }
  if (mode === 'full' && nodes.filter((node) => node.mode === 'full').length === 1) {
    throw refusal('remove', `${name} is the last full node, and only full nodes store what others upload`, {
      hint: 'Remove the whole cluster with: svcnet down',
    });
  }
}

/** Removes what processes that were killed while they added nodes left behind. */
export async function endAbandoned(
  context: Pick<OpenContext, 'stateDir' | 'record' | 'driver'>,
): Promise<void> {
  const { stateDir, driver } = context;
  const { name, token } = context.record;
  if (!isOwnCluster(stateDir, name)) return;
  const abandoned = abandonedNodes(stateDir, name);
  if (abandoned.length === 0) return;
  // A process that is gone writes no more: whatever has joined is in the record by now.
  const now = readRecord(stateDir, name);
  if (now?.token !== token) return;
  await Promise.all(
    abandoned.map(async ({ node, pid }) => {
      if (!now.nodes.some((joined) => joined.name === node)) {
        const recorded = readRun(stateDir, name, node);
        const found = (await driver.find?.(node)) ?? [];
        const handles = [...(recorded === undefined ? [] : [recorded.handle]), ...found];
        await Promise.all(handles.map((handle) => driver.stop(handle, GRACE_MS)));
        await unroute(context, [node]);
        await driver.remove?.(node);
        removeNodeFiles(stateDir, name, node);
        process.stderr.write(
          `svcnet: removed ${node} from cluster '${name}': process ${pid} ended before it had added it\n`,
        );
      }
      endJoining(stateDir, name, node);
    }),
  );
}
