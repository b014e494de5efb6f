/** What processes that were killed while they added nodes left behind. */
import type { OpenContext } from '../nodes/open-nodes.ts';
import { abandonedNodes, endJoining } from '../state/joining.ts';
import { isOwnCluster, readRecord, readRun, removeNodeFiles } from '../state/state.ts';

/** They have no data that anybody wants. */
const GRACE_MS = 500;

/** Removes what they left, with a line on standard error for each removed node. */
export async function endAbandoned({
  stateDir,
  record: { name, token },
  driver,
}: Pick<OpenContext, 'stateDir' | 'record' | 'driver'>): Promise<void> {
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
        removeNodeFiles(stateDir, name, node);
        process.stderr.write(
          `svcnet: removed ${node} from cluster '${name}': process ${pid} ended before it had added it\n`,
        );
      }
      endJoining(stateDir, name, node);
    }),
  );
}
