import { formatMs, plural } from '../base/format.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { lineProgress } from '../base/terminal/progress.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { AddOptions } from '../cluster/growth/add.ts';
import { programNames } from '../cluster/nodes/program-names.ts';
import { shortVersion } from '../inspect/status/text.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { nodesTable } from './nodes-table.ts';
import { onCluster } from './on-cluster.ts';

export interface ChangeFlags extends ClusterFlags {
  /** Milliseconds. */
  readonly timeout?: number;
  readonly wide?: boolean;
}

export interface Versions {
  readonly from: string | null;
  readonly to: string | null;
}

export interface Become {
  readonly versions: Versions;
  readonly text: string;
}

/** Tells programs apart: flavour, version or path. */
export interface Program {
  readonly flavour: string;
  readonly binary?: string | undefined;
  readonly version: string | null;
}

/** `2.7.1 → 2.8.1`, `svc 0.1.0 → ant 0.3.0`, `svc → svc (changed-node)`; empty: no difference is known. */
export function becomeText(from: Program, to: Program): string {
  const [old, now] = [from, to].map(({ version }) => version && shortVersion(version));
  const program = programNames([from, to]);
  const isOther = from.flavour !== to.flavour || from.binary !== to.binary;
  if (!isOther || (from.flavour === to.flavour && old && now && old !== now))
    return old && now && old !== now ? `${old} → ${now}` : '';
  const named = (one: Program, version: string | null | undefined) => {
    const shown = from.flavour === to.flavour || !version ? '' : ` ${version}`;
    const path = program(one);
    return `${one.flavour}${shown}${path === undefined ? '' : ` (${path})`}`;
  };
  return `${named(from, old)} → ${named(to, now)}`;
}

interface Changes {
  readonly added?: readonly string[];
  readonly upgraded?: readonly string[];
  readonly skipped?: readonly string[];
  readonly started?: readonly string[];
  readonly removed?: readonly string[];
}

/** `upgraded node-2 (2.7.1 → 2.8.1), node-3` */
export function changesText(changes: Changes, become: Readonly<Record<string, Become>>): string {
  const named = (name: string) => (become[name]?.text ? `${name} (${become[name].text})` : name);
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
  ) => Promise<Changes & { readonly become?: Readonly<Record<string, Become>> }>,
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
    const { become, ...names } = changes;
    const done = changesText(names, become ?? {});
    const versions =
      become && Object.fromEntries(Object.entries(become).map(([name, one]) => [name, one.versions]));
    const told = versions === undefined ? names : { ...names, versions };
    answer(context, { ...cluster.toJSON(), ...told, durationMs }, [
      `  ${cluster.name}   ${plural(cluster.nodes.length, 'node')}   ${done || 'nothing to do'}   ${formatMs(durationMs)}`,
      '',
      ...nodesTable(cluster, context, { wide, state: true }),
    ]);
  });
}
