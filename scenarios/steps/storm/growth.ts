import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { formatBytes } from 'svcnet/scenario';
import { workingNodes } from '../steps.ts';
import { expectNone } from './checks.ts';
import type { StormContext } from './parameters.ts';

/** Bytes; absent: it cannot be told apart. */
interface Use {
  readonly memory?: number | undefined;
  readonly handles?: number | undefined;
  readonly disk?: number | undefined;
}

const KINDS = ['memory', 'handles', 'disk'] as const satisfies readonly (keyof Use)[];

/** Slot, index and stamp. */
const CHUNK_BYTES = 4096 + 1024;
/** A reserve that hands over exceeds its capacity; waiting uploads and the cache are on the same disk. */
const RESERVE_OVERHANG = 3;
const DISK_BASE_BYTES = 128 * 2 ** 20;

export type Uses = ReadonlyMap<string, Use>;

export async function usesOf({ cluster, signal }: StormContext): Promise<Uses> {
  const uses = await Promise.all(
    workingNodes(cluster.nodes).map(async (node) => {
      const { memoryBytes } = await node.stats();
      // A process of its own, with its files on this machine.
      const own = memoryBytes !== undefined && cluster.capabilities.has('data');
      const handles = own ? handlesIn(await node.client.metrics(signal)) : undefined;
      const disk = own ? folderBytes(node.dataDir) : undefined;
      const use: Use = { memory: memoryBytes, handles, disk };
      return [node.name, use] as const;
    }),
  );
  return new Map(uses);
}

/** @param metrics Prometheus text */
function handlesIn(metrics: string): number | undefined {
  const value = /^process_open_fds (\d+)/m.exec(metrics)?.[1];
  return value === undefined ? undefined : Number(value);
}

function folderBytes(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => {
      // A file of the database may have been replaced meanwhile.
      const stat = statSync(join(parentPath, name), { throwIfNoEntry: false });
      return sum + (stat === undefined ? 0 : stat.blocks * 512);
    }, 0);
}

export function growth(context: StormContext, before: Uses): Promise<void> {
  return context.step('growth', async () => {
    const { memory, handles, reserve } = context.parameters;
    const after = await usesOf(context);
    const diskMax = DISK_BASE_BYTES + reserve * RESERVE_OVERHANG * CHUNK_BYTES;
    const grown: string[] = [];
    for (const [name, now] of after) {
      const then = before.get(name) ?? {};
      const more = (now.memory ?? 0) - (then.memory ?? now.memory ?? 0);
      if (more > memory)
        grown.push(`${name} uses ${formatBytes(more)} more memory, expected ${formatBytes(memory)}`);
      const held = (now.handles ?? 0) - (then.handles ?? now.handles ?? 0);
      if (held > handles) grown.push(`${name} holds ${held} more handles, expected ${handles}`);
      if ((now.disk ?? 0) > diskMax)
        grown.push(`${name} has ${formatBytes(now.disk ?? 0)} on disk, expected ${formatBytes(diskMax)}`);
    }
    const uses = [...after.values()];
    const untold = KINDS.filter((kind) => uses.every((use) => use[kind] === undefined));
    if (untold.length > 0)
      context.unchecked(
        `${untold.join(', ')} of each node: the ${context.cluster.driver} driver cannot tell them apart`,
      );
    if (untold.length === KINDS.length) return;
    expectNone(
      context,
      'memory, handles and disk of every node stay within bounds',
      grown,
      `${uses.length} nodes`,
    );
    const most = (key: keyof Use) => Math.max(...uses.map((use) => use[key] ?? 0));
    if (most('memory') > 0)
      context.figure({
        name: 'memory of the largest node',
        value: Math.round(most('memory') / 2 ** 20),
        unit: 'MiB',
      });
    if (most('handles') > 0)
      context.figure({ name: 'most handles of a node', value: most('handles'), unit: '' });
    if (most('disk') > 0)
      context.figure({ name: 'most disk of a node', value: Math.round(most('disk') / 2 ** 20), unit: 'MiB' });
  });
}
