import type { ClusterNode } from 'svcnet';
import { type ParameterTable, parameter, type ScenarioContext } from 'svcnet/scenario';
import { inTime, missingOf } from './steps.ts';

const LINES_SHOWN = 20;

export const WITHIN = {
  within: parameter('duration', 30_000, 'time within which all conditions must hold', { allowance: true }),
};

export interface Rule {
  readonly name: string;
  readonly expected: string;
  readonly wrong: (signal: AbortSignal) => Promise<readonly string[]>;
}

/** Checks until none is broken, and reports how long that took. */
export async function expectRules<T extends ParameterTable & typeof WITHIN>(
  context: ScenarioContext<T>,
  rules: readonly Rule[],
): Promise<void> {
  const timeoutMs = (context.parameters as { readonly within: number }).within;
  await context.step('look', async (progress) => {
    const startedAt = context.cluster.clock.monotonic();
    const broken = new Map<Rule, readonly string[]>();
    await inTime(
      'all is as it should be',
      async (aborted) => {
        for (const rule of rules) broken.set(rule, await rule.wrong(aborted));
        return [...broken.values()].flat()[0];
      },
      { ...context, timeoutMs },
    );
    for (const rule of rules) {
      const lines = broken.get(rule) ?? ['no node has answered'];
      context.expect(rule.name, lines.length === 0, {
        observed: lines[0] ?? 'all nodes',
        expected: rule.expected,
        ...(lines.length < 2 ? {} : { evidence: lines.slice(0, LINES_SHOWN).join('\n') }),
      });
    }
    const seconds = (context.cluster.clock.monotonic() - startedAt) / 1000;
    context.figure({ name: 'time until all was well', value: seconds.toFixed(3), unit: 's' });
    progress.detail(`${rules.length} conditions`);
  });
}

/**
 * By the cluster's size: in a large one a node is not connected to all others.
 * @returns what is missing at the end
 */
export function missingLinks(
  { cluster, signal }: Pick<ScenarioContext, 'cluster' | 'signal'>,
  timeoutMs: number,
): Promise<string | undefined> {
  return missingOf(cluster.meshed({ timeoutMs, signal }));
}

export async function wrongOn(
  nodes: readonly ClusterNode[],
  read: (node: ClusterNode) => Promise<readonly string[]>,
): Promise<string[]> {
  const running = nodes.filter((node) => node.running);
  const wrong = await Promise.all(
    running.map(async (node) => (await read(node)).map((text) => `${node.name} ${text}`)),
  );
  return wrong.flat();
}
