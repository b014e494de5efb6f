/**
 * Size: SVCNET_BENCH_NODES, else 1000; at least 20. Ten nodes upload ten chunks each a virtual second. The storage radius is
 * the deepest one with ten nodes or more to a neighbourhood, on average.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchResult } from './result.ts';
import type { Sustained } from './sustained-uploads-process.ts';

export const name = 'A simulated cluster that takes 100 chunks a second';

const PROGRAM = join(import.meta.dirname, 'sustained-uploads-process.ts');
const NODES = '1000';
const NODES_MIN = 20;
const NODES_MAX = 1000;
const PER_NEIGHBOURHOOD = 10;
const LIMIT_MS = 3_600_000;

export async function run(): Promise<BenchResult[]> {
  const nodes = sizeFrom(process.env['SVCNET_BENCH_NODES'] ?? NODES);
  const radius = Math.floor(Math.log2(nodes / PER_NEIGHBOURHOOD));
  const { startS, restTimes, loadedTimes, chunks, lateMs } = measured(nodes, radius);
  const of = `${nodes} nodes at radius ${radius}`;
  return [
    { name: `${of}: start`, value: startS, unit: 's of a core' },
    { name: `${of}: at rest`, value: restTimes, unit: 'times real time' },
    {
      name: `${of}: with 100 chunks a second`,
      value: loadedTimes,
      unit: 'times real time',
      baseline: 'real time',
      ratio: loadedTimes,
    },
    { name: `${of}: uploaded`, value: chunks, unit: 'chunks' },
    { name: `${of}: the last taken after`, value: lateMs, unit: 'virtual ms' },
  ];
}

/** @throws RangeError */
function sizeFrom(text: string): number {
  const size = Number(text);
  if (!Number.isInteger(size) || size < NODES_MIN || size > NODES_MAX) {
    throw new RangeError(
      `SVCNET_BENCH_NODES: got '${text}', expected one number of nodes from ${NODES_MIN} to ${NODES_MAX}`,
    );
  }
  return size;
}

function measured(nodes: number, radius: number): Sustained {
  const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  try {
    const args = ['--max-old-space-size=6144', PROGRAM, String(nodes), String(radius), stateDir];
    const line = execFileSync(process.execPath, args, {
      encoding: 'utf8',
      timeout: LIMIT_MS,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return JSON.parse(line) as Sustained;
  } finally {
    rmSync(stateDir, { recursive: true, force: true });
  }
}
