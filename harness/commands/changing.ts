/** What commands that change running clusters' nodes share: progress, and the nodes afterwards. */

import { formatMs, plural } from '../base/format.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { lineProgress } from '../base/terminal/progress.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { AddOptions } from '../cluster/growth/add.ts';
import { shortVersion } from '../inspect/status/text.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { nodesTable } from './nodes-table.ts';
import { onCluster } from './on-cluster.ts';

export interface ChangeFlags extends ClusterFlags {
  /** Milliseconds. */
  readonly timeout?: number;
  readonly wide?: boolean;
}

/** Of a node's program, before and after; `null`: unknown. */
export interface Versions {
  readonly from: string | null;
  readonly to: string | null;
}

/** Nodes by what has become of them. */
interface Changes {
  readonly added?: readonly string[];
  readonly upgraded?: readonly string[];
  readonly skipped?: readonly string[];
  readonly started?: readonly string[];
  readonly removed?: readonly string[];
}

/** `upgraded node-2 (2.7.1 → 2.8.1), node-3` */
export function changesText(changes: Changes, versions: Readonly<Record<string, Versions>>): string {
  const named = (name: string) => {
    const [from, to] = [versions[name]?.from, versions[name]?.to].map((one) => one && shortVersion(one));
    return from && to && from !== to ? `${name} (${from} → ${to})` : name;
  };
  return Object.entries(changes)
    .filter(([, names]) => names.length > 0)
    .map(([what, names]) => `${what} ${names.map(named).join(', ')}`)
    .join('; ');
}

export function changing(
  { timeout: timeoutMs, wide = false, ...flags }: ChangeFlags,
  context: CommandContext,
  change: (
    cluster: Cluster,
    options: AddOptions,
  ) => Promise<Changes & { readonly versions?: Readonly<Record<string, Versions>> }>,
): Promise<void> {
  const { json, note, out, signal } = context;
  return onCluster(flags, context, async (cluster) => {
    const startedAt = MACHINE_CLOCK.monotonic();
    const view = lineProgress(json ? note : out);
    let changes: Awaited<ReturnType<typeof change>>;
    try {
      changes = await change(cluster, { timeoutMs, signal, onProgress: (news) => view.update(news) });
    } finally {
      await view.end();
    }
    const durationMs = Math.round(MACHINE_CLOCK.monotonic() - startedAt);
    const { versions = {}, ...names } = changes;
    const done = changesText(names, versions);
    answer(context, { ...cluster.toJSON(), ...changes, durationMs }, [
      `  ${cluster.name}   ${plural(cluster.nodes.length, 'node')}   ${done || 'nothing to do'}   ${formatMs(durationMs)}`,
      '',
      ...nodesTable(cluster, context, { wide, state: true }),
    ]);
  });
}
