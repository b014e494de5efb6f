/**
 * `compare` must find that one node's pushes have become 20 % slower, and nothing where nothing has changed.
 * `SVCNET_TRIALS=10` repeats both.
 */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../harness/cluster/cluster.ts';
import type { Comparison } from '../../harness/report/compare/compare.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { OPERATION, type Pair, runPair } from './paired-runs.ts';
import { SlowPush } from './slow-push.ts';

const TRIALS = Number(process.env['SVCNET_TRIALS'] ?? 1);
/** Repeats become meaningful with four; a busy machine needs more. */
const ROUNDS = { min: 6, max: 30 } as const;
const SLOW_NODE = 'node-2';
const SHARE = 0.2;
const CLI = join(import.meta.dirname, '../../harness/cli.ts');

const folder = temporaryFolder('svcnet-slowdown');
const stateDir = join(folder, 'state');
let cluster: Cluster;

let slow: SlowPush;

beforeAll(async () => {
  cluster = await Cluster.start({ name: 'slowdown', driver: 'embedded', nodes: 4, seed: 7, stateDir });
  slow = new SlowPush(cluster.node(SLOW_NODE).underlay, SHARE);
  // The first operations of a node take longer.
  await runPair({
    cluster,
    stateDir,
    folder: join(folder, 'warm-up'),
    round: 0,
    around: (_, __, upload) => upload(),
  });
});

afterAll(async () => {
  slow[Symbol.dispose]();
  await cluster.stop();
});

async function compareRepeats(
  name: string,
  around: Pair['around'],
): Promise<{ code: number; comparison: Comparison }> {
  const runs = join(folder, name);
  for (let round = 1; ; round++) {
    await runPair({ cluster, stateDir, folder: runs, round, around });
    if (round < ROUNDS.min || round % 2 === 1) continue;
    const told = await compareCommand(join(runs, 'before'), join(runs, 'after'));
    const open = medians(told.comparison).some(({ compared }) => compared[0]?.verdict === 'too few samples');
    if (!open || round >= ROUNDS.max) {
      const others = told.comparison.figures.filter(
        (row) => !medians(told.comparison).includes(row) && row.compared[0]?.verdict !== 'same',
      );
      console.log(
        `${name}: ${round} rounds\n${[...medians(told.comparison), ...others].map(lineOf).join('\n')}`,
      );
      return told;
    }
  }
}

async function compareCommand(...sides: string[]): Promise<{ code: number; comparison: Comparison }> {
  const ended = await promisify(execFile)(process.execPath, [CLI, 'compare', ...sides, '--json'], {
    env: { ...process.env, SVCNET_STATE: stateDir },
  }).catch((error: { code?: unknown; stdout?: string }) => error);
  const code = 'code' in ended ? Number(ended.code) : 0;
  return { code, comparison: JSON.parse(ended.stdout ?? '') as Comparison };
}

function medians({ figures }: Comparison) {
  return figures.filter(({ what, of, figure }) => what === OPERATION && of !== undefined && figure === 'p50');
}

function lineOf({ of, figure, values, compared }: Comparison['figures'][number]): string {
  const { ratio, interval, verdict } = compared[0] ?? {};
  return `  ${of} ${figure} ${values.map((v) => v?.toFixed(2)).join(' ')}  ${ratio?.toFixed(3)} [${interval?.map((v) => v.toFixed(3)).join(', ')}] ${verdict}`;
}

for (let trial = 1; trial <= TRIALS; trial++) {
  test(`one node whose pushes take ${SHARE * 100} % longer is worse, trial ${trial}`, async () => {
    const { code, comparison } = await compareRepeats(`slow-${trial}`, (member, node, upload) => {
      if (node.name !== SLOW_NODE) return upload();
      return member === 'after' ? slow.slow(upload) : slow.usual(upload);
    });
    expect({ code, verdict: comparison.verdict }).toEqual({ code: 1, verdict: 'worse' });
    const p50 = medians(comparison).map(({ of, compared }) => [of, compared[0]?.verdict]);
    expect(Object.fromEntries(p50)).toMatchObject({ [SLOW_NODE]: 'worse' });
    const worse = comparison.figures.filter(({ compared }) => compared[0]?.verdict === 'worse');
    expect(new Set(worse.map(({ of }) => of))).toContain(SLOW_NODE);
    expect(worse.filter(({ of }) => of !== undefined && of !== SLOW_NODE)).toEqual([]);
  });

  test(`two equal sides are the same, trial ${trial}`, async () => {
    const { code, comparison } = await compareRepeats(`same-${trial}`, (_, __, upload) => upload());
    expect({ code, verdict: comparison.verdict }).toEqual({ code: 0, verdict: 'same' });
    const p50 = medians(comparison).map(({ of, compared }) => [of, compared[0]?.verdict]);
    expect(Object.fromEntries(p50)).toEqual(
      Object.fromEntries(cluster.nodes.map(({ name }) => [name, 'same'])),
    );
  });
}
