import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '../../formats/random.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { paired } from './paired.ts';
import { descendantsMicroseconds } from './processes.ts';
import type { BenchResult } from './result.ts';

export const name =
  'What a tap costs: uploads through five nodes, each a process, with a tap or with link faults alone';

interface Turn {
  readonly ms: number;
  /** Of all nodes and proxies, microseconds. */
  readonly cpu: number;
}

const SIZE = 4 * 2 ** 20;
/** In every other one the tapped turn comes first: a drift of the machine hits both alike. */
const PAIRS = 8;

/** From the start of the upload until the network has taken it. Both clusters have the same proxy. */
export async function run(): Promise<BenchResult[]> {
  const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(stateDir, { recursive: true, force: true }));
  const start = async (tap: boolean) =>
    stack.use(await Cluster.start({ nodes: 5, seed: 7, stateDir, linkFaults: true, tap }));
  const clusters = { bare: await start(false), tapped: await start(true) } as const;
  const upload = async (which: keyof typeof clusters, turn: string): Promise<Turn> => {
    const cluster = clusters[which];
    const data = seededRandom('tap', turn).bytes(SIZE);
    const startedAt = performance.now();
    const before = descendantsMicroseconds();
    const { reference } = await cluster.node(0).bytes.upload(data);
    await cluster.synced(reference);
    return { ms: performance.now() - startedAt, cpu: descendantsMicroseconds() - before };
  };
  for (const which of ['bare', 'tapped'] as const) await upload(which, 'warm-up');
  const pairs: { readonly turned: boolean; readonly bare: Turn; readonly tapped: Turn }[] = [];
  for (let pair = 0; pair < PAIRS; pair++) {
    const turned = pair % 2 === 0;
    const turns = new Map<string, Turn>();
    for (const which of turned ? (['tapped', 'bare'] as const) : (['bare', 'tapped'] as const))
      turns.set(which, await upload(which, String(pair)));
    pairs.push({ turned, bare: turns.get('bare') as Turn, tapped: turns.get('tapped') as Turn });
  }
  return [
    ...paired(
      'throughput with a tap, of without',
      pairs.map(({ turned, bare, tapped }) => ({ turned, ratio: bare.ms / tapped.ms })),
    ),
    ...paired(
      'processor time with a tap, of without',
      pairs.map(({ turned, bare, tapped }) => ({ turned, ratio: tapped.cpu / bare.cpu })),
    ),
  ];
}
