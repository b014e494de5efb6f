/** The start of all nodes of a cluster: few at once, of many the first ones alone, to see whether the machine can. */
import { availableParallelism } from 'node:os';
import { HarnessError } from '../base/errors.ts';
import { formatMs, plural } from '../base/words.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';
import { pilotCount, type Start, tooSlow } from './pace.ts';
import type { StartContext } from './start-context.ts';
import { stopwatch } from './startup-waits.ts';

/** Of the nodes that a start waits for. */
const NAMES_SHOWN = 3;

export interface WaveDeps {
  /** For all nodes to be ready. */
  readonly limitMs: number;
  readonly launch: (nodes: readonly ClusterNode[]) => Promise<void>;
  readonly onProgress: StartContext['onProgress'];
  readonly signal?: AbortSignal | undefined;
}

/** @throws HarnessError `START_TIMEOUT` when the pace of the first nodes leaves no chance to all */
export async function startInWaves(
  nodes: readonly ClusterNode[],
  { limitMs, launch, onProgress, signal }: WaveDeps,
): Promise<void> {
  const waiting = new Set(nodes.map(({ name }) => name));
  const launchAndAwait = async (wave: readonly ClusterNode[]) => {
    await launch(wave);
    await Promise.all(
      wave.map(async (node) => {
        await node.ready({ timeoutMs: limitMs, signal });
        waiting.delete(node.name);
        const detail = `${nodes.length - waiting.size} of ${nodes.length} ready`;
        onProgress({ step: 'nodes', done: false, detail, ...missing(waiting) });
      }),
    );
  };
  // All others begin with the boot nodes, or else with full ones.
  const ordered = (['boot', 'full', 'light'] as const).flatMap((mode) =>
    nodes.filter((node) => node.mode === mode),
  );
  const pilots = ordered.slice(0, pilotCount(nodes.length, availableParallelism()));
  if (pilots.length > 0) {
    const clock = stopwatch();
    await launchAndAwait(pilots);
    checkPace({ nodes: nodes.length, pilots: pilots.length, limitMs }, clock.total());
  }
  await launchAndAwait(nodes.filter((node) => !pilots.includes(node)));
}

function checkPace(start: Start, pilotMs: number): void {
  const pace = tooSlow(start, pilotMs);
  if (pace === undefined) return;
  const { nodes, pilots, limitMs } = start;
  throw new HarnessError(
    'START_TIMEOUT',
    `${plural(nodes, 'node')} would take about ${formatMs(pace.expectedMs)} to start on this machine, the limit is ` +
      `${formatMs(limitMs)}: the first ${pilots} took ${formatMs(pilotMs)}, ${formatMs(pace.msPerNode)} each`,
    {
      hint: `About ${plural(pace.fits, 'node')} would fit: start fewer, or give them more time with --timeout.`,
    },
  );
}

function missing(waiting: ReadonlySet<string>): { missing?: string } {
  if (waiting.size === 0) return {};
  const names = [...waiting];
  const more = names.length - NAMES_SHOWN;
  const text = names.slice(0, NAMES_SHOWN).join(', ');
  return { missing: `waiting for ${text}${more > 0 ? ` and ${more} more` : ''}` };
}
