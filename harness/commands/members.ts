/** `svcnet add`, `remove`, `scale` and `upgrade`: nodes join a running cluster, leave it, and get another program. */

import { HarnessError } from '../base/errors.ts';
import { formatMs, plural } from '../base/format.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { lineProgress } from '../base/terminal/progress.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { AddOptions } from '../cluster/growth/add.ts';
import type { UpgradeInput } from '../cluster/growth/upgrade.ts';
import type { ClusterNode } from '../cluster/nodes/cluster-node.ts';
import type { GroupInput } from '../cluster/plan/definition-input.ts';
import { readFlavour } from '../cluster/plan/document/flavour-file.ts';
import { FLAVOUR_NAME } from '../flavours/declared/file.ts';
import { isHonest } from '../flavours/flavour.ts';
import type { ClusterFlags as NodeFlags } from './cluster-flags.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { nodesTable } from './nodes-table.ts';
import { onCluster } from './on-cluster.ts';

export interface AddFlags extends ClusterFlags, Pick<NodeFlags, 'nodes' | 'beeBinary' | 'dishonest'> {
  readonly flavour?: string;
  readonly mode?: string;
  readonly neighbourhood?: string;
  /** Milliseconds. */
  readonly timeout?: number;
  readonly wide?: boolean;
}

export interface RemoveFlags extends ClusterFlags {
  readonly forGood?: boolean;
}

export interface UpgradeFlags extends ClusterFlags {
  /** Name of a flavour, or path of its file. */
  readonly flavour?: string;
  readonly binary?: string;
  readonly mode?: string;
  readonly rolling?: boolean;
  /** Milliseconds. */
  readonly timeout?: number;
  readonly wide?: boolean;
}

type Candidate = Pick<ClusterNode, 'name' | 'flavour' | 'mode' | 'binary' | 'running'>;

interface Changes {
  readonly added?: readonly string[];
  readonly upgraded?: readonly string[];
  readonly skipped?: readonly string[];
  readonly started?: readonly string[];
  readonly removed?: readonly string[];
}

export function add(flags: AddFlags, context: CommandContext): Promise<void> {
  return changing(flags, context, async (cluster, options) => {
    const nodes = await cluster.add(groupOf(flags), options);
    return { added: nodes.map(({ name }) => name) };
  });
}

export function remove(node: string, flags: RemoveFlags, context: CommandContext): Promise<void> {
  return changing(flags, context, async (cluster) => {
    await cluster.remove(node, flags);
    return { removed: [node] };
  });
}

/** Counts the nodes that run. Removed nodes with their data come back before new ones are added. */
export function scale(
  count: number,
  flags: RemoveFlags & { readonly timeout?: number; readonly wide?: boolean },
  context: CommandContext,
): Promise<void> {
  return changing(flags, context, async (cluster, options) => {
    const running = cluster.nodes.filter(isThere);
    if (count < running.length) return { removed: await shrink(cluster, running.length - count, flags) };
    const missing = count - running.length;
    const back = cluster.nodes.filter(({ state }) => state === 'stopped').slice(0, missing);
    await Promise.all(back.map((node) => node.start({ signal: context.signal })));
    const group = { count: missing - back.length };
    const added = group.count === 0 ? [] : await cluster.add(group, options);
    return { started: back.map(({ name }) => name), added: added.map(({ name }) => name) };
  });
}

/** @param node undefined: all, one after the other */
export async function upgrade(
  node: string | undefined,
  flags: UpgradeFlags,
  context: CommandContext,
): Promise<void> {
  const { flavour, binary, mode, rolling = false, timeout: timeoutMs } = flags;
  if (flavour === undefined && binary === undefined && mode === undefined) {
    throw new HarnessError('USAGE', 'upgrade: expected what to change: --binary, --flavour or --mode');
  }
  if (rolling === (node !== undefined)) {
    throw new HarnessError('USAGE', 'upgrade: expected either the name of a node or --rolling');
  }
  const to = {
    flavour: flavour === undefined || FLAVOUR_NAME.test(flavour) ? flavour : await readFlavour(flavour),
    binary,
    // Another text is refused like one in a cluster file.
    mode: mode as UpgradeInput['mode'],
  };
  const { signal } = context;
  return changing(flags, context, async (cluster, { onProgress }) => {
    const { names, skipped } =
      node === undefined ? rollingOrder(cluster.nodes, to) : { names: [node], skipped: [] };
    for (const [index, name] of names.entries()) {
      await cluster.upgrade(name, to, { timeoutMs, signal });
      await cluster.meshed({ signal });
      const detail = `${index + 1} of ${names.length} upgraded`;
      onProgress?.({ step: 'nodes', done: false, detail });
    }
    return { upgraded: names, skipped };
  });
}

/**
 * Boot nodes and dishonest ones stay as they are, and a program alone is for flavours that need one.
 * @returns `skipped`: nodes that could have it, but do not run @throws HarnessError `USAGE` before the first one stops
 */
export function rollingOrder(
  nodes: readonly Candidate[],
  { flavour, binary, mode }: UpgradeInput,
): { readonly names: readonly string[]; readonly skipped: readonly string[] } {
  const meant = nodes
    .filter((node) => node.mode !== 'boot' && isHonest(node))
    .filter((node) => flavour !== undefined || binary === undefined || node.binary !== undefined);
  const running = meant.filter((node) => node.running);
  const flavours = [...new Set(running.map((node) => node.flavour))];
  if (binary !== undefined && flavour === undefined && flavours.length > 1) {
    throw new HarnessError(
      'USAGE',
      `upgrade --rolling: got one --binary for nodes of ${flavours.join(' and ')}, expected nodes of one flavour`,
      { hint: `Upgrade them one by one: svcnet upgrade ${running[0]?.name} --binary PATH` },
    );
  }
  const full = nodes.filter((node) => node.mode === 'full');
  if (mode === 'light' && full.length > 0 && full.every((node) => running.includes(node))) {
    throw new HarnessError(
      'USAGE',
      'upgrade --rolling: got --mode light for every full node, expected one to stay: only full nodes store what others upload',
      { hint: `Upgrade them one by one: svcnet upgrade ${full[0]?.name} --mode light` },
    );
  }
  const namesOf = (some: readonly Candidate[]) => some.map(({ name }) => name);
  return { names: namesOf(running), skipped: namesOf(meant.filter((node) => !node.running)) };
}

/** The highest numbers first; boot nodes and one full node stay. */
async function shrink(cluster: Cluster, count: number, { forGood }: RemoveFlags): Promise<string[]> {
  const running = cluster.nodes.filter(isThere);
  const stays = running.find(({ mode }) => mode === 'full');
  const leaving = running
    .filter((node) => node !== stays && node.mode !== 'boot')
    .toReversed()
    .slice(0, count);
  if (leaving.length < count) {
    const least = running.length - leaving.length;
    throw new HarnessError(
      'USAGE',
      `scale: got ${running.length - count}, expected at least ${least}: boot nodes and one full node stay`,
      { hint: 'Remove the whole cluster with: svcnet down' },
    );
  }
  for (const { name } of leaving) await cluster.remove(name, { forGood });
  return leaving.map(({ name }) => name);
}

function isThere({ state }: ClusterNode): boolean {
  return state === 'running' || state === 'paused';
}

/** What is left out has the defaults of a cluster file, which also checks what is given. */
function groupOf({ nodes, flavour, mode, neighbourhood, beeBinary, dishonest }: AddFlags): GroupInput {
  const given = {
    count: nodes,
    flavour: flavour ?? (dishonest === undefined ? undefined : 'dishonest'),
    mode,
    neighbourhoods: neighbourhood,
    binary: beeBinary,
    dishonest,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function changing(
  { timeout: timeoutMs, wide = false, ...flags }: Pick<AddFlags, 'name' | 'timeout' | 'wide'>,
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
