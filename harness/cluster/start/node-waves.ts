/**
 * Starts as many nodes at once as keep processors busy. Of many, the first show whether the machine can cope: nodes that
 * start together become ready at about the same time, so the pace is that of a group.
 */
import type { Clock } from '../../../formats/clock.ts';
import { HarnessError } from '../../base/errors.ts';
import { formatMs, plural } from '../../base/format.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';
import type { StartContext } from './start-context.ts';
import { stopwatch } from './startup-conditions.ts';

/** Keeps the processors of a usual machine busy. */
const PILOTS_MIN = 8;
/** With fewer, the first wave is too large a part of the start to predict anything early. */
const WAVES_MIN = 4;
/** The first nodes also load their code from the disk, so their pace is no firm prediction. */
const MARGIN = 2;

const NAMES_SHOWN = 3;

export interface WaveDeps {
  readonly clock: Clock;
  readonly processors: number;
  readonly limitMs: number;
  readonly launch: (node: ClusterNode) => Promise<void>;
  readonly onReady: (node: ClusterNode) => void;
  readonly onProgress: StartContext['onProgress'];
  readonly signal?: AbortSignal | undefined;
}

/**
 * Settles only once it is known for every node whether it has a process.
 * @throws HarnessError `START_TIMEOUT` when at the first nodes' pace not all can start in time; what a launch throws
 */
export async function startInWaves(
  nodes: readonly ClusterNode[],
  { clock, processors, limitMs, launch, onReady, onProgress, signal }: WaveDeps,
): Promise<void> {
  const pilots = pilotCount(nodes.length, processors);
  const waiting = new Set(nodes.map(({ name }) => name));
  const watch = stopwatch(clock);
  // Others first contact boot nodes, or else full nodes.
  const next = (['boot', 'full', 'light'] as const)
    .flatMap((mode) => nodes.filter((node) => node.mode === mode))
    .values();
  const failed = new AbortController();
  const ending = signal === undefined ? failed.signal : AbortSignal.any([signal, failed.signal]);
  const failures: unknown[] = [];
  const startOneByOne = async () => {
    try {
      // One iterator for all: each takes the next node.
      for (const node of next) {
        await launch(node);
        ending.throwIfAborted();
        await node.ready({ timeoutMs: limitMs, signal: ending });
        onReady(node);
        waiting.delete(node.name);
        const ready = nodes.length - waiting.size;
        const detail = `${ready} of ${nodes.length} ready`;
        onProgress({ step: 'nodes', done: false, detail, ...missing(waiting) });
        if (ready === pilots) checkPace({ nodes: nodes.length, pilots, limitMs }, watch.total());
      }
    } catch (error) {
      failures.push(error);
      failed.abort(error);
    }
  };
  await Promise.all(Array.from({ length: atOnce(nodes.length, processors) }, startOneByOne));
  if (failures.length > 0) throw failures[0];
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

interface Start {
  readonly nodes: number;
  readonly pilots: number;
  readonly limitMs: number;
}

interface Pace {
  readonly msPerNode: number;
  readonly expectedMs: number;
  readonly fits: number;
}

function atOnce(nodes: number, processors: number): number {
  return Math.min(nodes, Math.max(PILOTS_MIN, 2 * processors));
}

export function pilotCount(nodes: number, processors: number): number {
  const pilots = atOnce(nodes, processors);
  return nodes >= WAVES_MIN * pilots ? pilots : 0;
}

/** @param pilotMs until all pilots were ready @returns undefined: worth a try */
export function tooSlow({ nodes, pilots, limitMs }: Start, pilotMs: number): Pace | undefined {
  const msPerNode = pilotMs / pilots;
  const expectedMs = msPerNode * nodes;
  if (expectedMs <= limitMs * MARGIN) return undefined;
  return { msPerNode, expectedMs, fits: Math.max(1, Math.floor(limitMs / msPerNode)) };
}
