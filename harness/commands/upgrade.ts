import { HarnessError } from '../base/errors.ts';
import type { UpgradeInput } from '../cluster/growth/upgrade.ts';
import type { ClusterNode } from '../cluster/nodes/cluster-node.ts';
import { isHonest, takersOf } from '../flavours/flavour.ts';
import { ANSWER_LIMIT_MS, replyOf, valueOr } from '../inspect/status/ask.ts';
import { type Become, becomeText, type ChangeFlags, changing, type Program } from './changing.ts';
import type { CommandContext } from './context.ts';
import { flavourGiven } from './flavour-given.ts';

export interface UpgradeFlags extends ChangeFlags {
  readonly flavour?: string;
  readonly binary?: string;
  readonly image?: string;
  readonly mode?: string;
  readonly rolling?: boolean;
}

type Candidate = Pick<ClusterNode, 'name' | 'flavour' | 'mode' | 'binary' | 'running'>;

export async function upgrade(
  node: string | undefined,
  flags: UpgradeFlags,
  context: CommandContext,
): Promise<void> {
  const { flavour, binary, image, mode, rolling = false, timeout: timeoutMs } = flags;
  if ([flavour, binary, image, mode].every((flag) => flag === undefined)) {
    throw new HarnessError(
      'USAGE',
      'upgrade: expected what to change: --binary, --image, --flavour or --mode',
    );
  }
  if (rolling === (node !== undefined)) {
    throw new HarnessError('USAGE', 'upgrade: expected either the name of a node or --rolling');
  }
  const to = {
    ...(await flavourGiven(flavour, binary)),
    image,
    // Refused as in a cluster file.
    mode: mode as UpgradeInput['mode'],
  };
  const { signal } = context;
  return changing(flags, context, async (cluster, { onProgress }) => {
    const { names, skipped } =
      node === undefined ? rollingOrder(cluster.nodes, to) : { names: [node], skipped: [] };
    const become: Record<string, Become> = {};
    for (const [index, name] of names.entries()) {
      const from = await programOf(cluster.node(name), signal);
      try {
        await cluster.upgrade(name, to, { timeoutMs, signal });
        await cluster.meshed(timeoutMs === undefined ? { signal } : { timeoutMs, signal });
      } catch (error) {
        throw halfway(error, { done: names.slice(0, index), left: names.slice(index + 1) });
      }
      const now = await programOf(cluster.node(name), signal);
      become[name] = { versions: { from: from.version, to: now.version }, text: becomeText(from, now) };
      const detail = `${index + 1} of ${names.length} upgraded`;
      onProgress?.({ step: 'nodes', done: false, detail });
    }
    return { upgraded: names, skipped, become };
  });
}

export function halfway(
  error: unknown,
  { done, left }: { readonly done: readonly string[]; readonly left: readonly string[] },
): unknown {
  if (!(error instanceof HarnessError) || done.length + left.length === 0) return error;
  const hint = [
    error.hint,
    done.length === 0 ? undefined : `Upgraded before: ${done.join(', ')}`,
    left.length === 0 ? undefined : `Not upgraded: ${left.join(', ')}`,
  ];
  return new HarnessError(error.code, error.message, {
    cause: error,
    hint: hint.filter((line) => line !== undefined).join('\n'),
  });
}

/** The version is a running node's own report; `null`: none. */
async function programOf(node: ClusterNode, signal: AbortSignal): Promise<Program> {
  const { flavour, binary = node.image } = node;
  if (!node.running) return { flavour, binary, version: null };
  using limit = node.client.clock.deadline(ANSWER_LIMIT_MS, signal);
  const health = await replyOf(node.client.health(limit.signal));
  return { flavour, binary, version: valueOr(health, undefined)?.version ?? null };
}

/**
 * Without boot and dishonest nodes; a program alone is for flavours that need one, or else for our nodes.
 * @returns `skipped`: stopped ones @throws HarnessError `USAGE` before the first stops
 */
export function rollingOrder(
  nodes: readonly Candidate[],
  { flavour, binary, image, mode }: UpgradeInput,
): { readonly names: readonly string[]; readonly skipped: readonly string[] } {
  const able = nodes.filter((node) => node.mode !== 'boot' && isHonest(node));
  const given = binary ?? image;
  const meant = flavour === undefined && given !== undefined ? takersOf(able) : able;
  const running = meant.filter((node) => node.running);
  const flavours = [...new Set(running.map((node) => node.flavour))];
  if (given !== undefined && flavour === undefined && flavours.length > 1) {
    const flag = binary === undefined ? '--image' : '--binary';
    throw new HarnessError(
      'USAGE',
      `upgrade --rolling: got one ${flag} for nodes of ${flavours.join(' and ')}, expected nodes of one flavour`,
      {
        hint: `Upgrade them one by one: svcnet upgrade ${running[0]?.name} ${flag} ${binary === undefined ? 'NAME' : 'PATH'}`,
      },
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
