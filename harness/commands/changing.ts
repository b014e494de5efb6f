/** What commands that change running clusters' nodes share: progress, and the nodes afterwards. */

import { formatMs, plural } from '../base/format.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { lineProgress } from '../base/terminal/progress.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { AddOptions } from '../cluster/growth/add.ts';
import { readFlavour } from '../cluster/plan/document/flavour-file.ts';
import { FLAVOUR_NAME } from '../flavours/declared/file.ts';
import type { FlavourInput } from '../flavours/declared/input.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { nodesTable } from './nodes-table.ts';
import { onCluster } from './on-cluster.ts';

export interface ChangeFlags extends ClusterFlags {
  /** Milliseconds. */
  readonly timeout?: number;
  readonly wide?: boolean;
}

/** Nodes by what has become of them. */
interface Changes {
  readonly added?: readonly string[];
  readonly upgraded?: readonly string[];
  readonly skipped?: readonly string[];
  readonly started?: readonly string[];
  readonly removed?: readonly string[];
}

export function changing(
  { timeout: timeoutMs, wide = false, ...flags }: ChangeFlags,
  context: CommandContext,
  change: (cluster: Cluster, options: AddOptions) => Promise<Changes>,
): Promise<void> {
  const { json, note, out, signal } = context;
  return onCluster(flags, context, async (cluster) => {
    const startedAt = MACHINE_CLOCK.monotonic();
    const view = lineProgress(json ? note : out);
    let changes: Changes;
    try {
      changes = await change(cluster, { timeoutMs, signal, onProgress: (news) => view.update(news) });
    } finally {
      await view.end();
    }
    const durationMs = Math.round(MACHINE_CLOCK.monotonic() - startedAt);
    const done = Object.entries(changes)
      .filter(([, names]) => names.length > 0)
      .map(([what, names]) => `${what} ${names.join(', ')}`);
    answer(context, { ...cluster.toJSON(), ...changes, durationMs }, [
      `  ${cluster.name}   ${plural(cluster.nodes.length, 'node')}   ${done.join('; ') || 'nothing to do'}   ${formatMs(durationMs)}`,
      '',
      ...nodesTable(cluster, context, { wide, state: true }),
    ]);
  });
}

/** @param flavour a name, or a flavour file's path @throws HarnessError `DEFINITION_INVALID` */
export async function flavourGiven(flavour: string | undefined): Promise<string | FlavourInput | undefined> {
  return flavour === undefined || FLAVOUR_NAME.test(flavour) ? flavour : readFlavour(flavour);
}
