/**
 * Pairs of runs of one cluster that take turns with every single upload, so that both see the same machine: what is done
 * to one of them alone is all that tells them apart.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/nodes/cluster-node.ts';
import { planScenarios, runScenarios } from '../../harness/run/runner.ts';
import { defineScenario } from '../../harness/run/scenario.ts';

export const OPERATION = 'push chunk';
/** Of each node in one run: enough for its p90. */
const UPLOADS = 20;
/** Who uploads the n-th time, again and again: what changes steadily meets both alike. */
const ORDER = ['before', 'after', 'after', 'before'] as const;
export type Member = (typeof ORDER)[number];

export interface Pair {
  readonly cluster: Cluster;
  readonly stateDir: string;
  /** Gets a folder of repeats for either member. */
  readonly folder: string;
  readonly round: number;
  /** Runs an upload of a member on a node; the only difference there may be. */
  readonly around: (member: Member, node: ClusterNode, upload: () => Promise<unknown>) => Promise<unknown>;
}

/** Both runs of a pair, with the reports that any run writes. */
export async function runPair({ cluster, stateDir, folder, round, around }: Pair): Promise<void> {
  const turns = new Map(cluster.nodes.map(({ name }) => [name, new Turnstile()]));
  const runOf = (member: Member) =>
    runScenarios({
      planned: planScenarios(
        [
          pushes((node, upload) =>
            (turns.get(node.name) as Turnstile).take(member, () => around(member, node, upload)),
          ),
        ],
        new Map(),
      ),
      attachTo: cluster.name,
      seed: BigInt(round),
      stateDir,
      report: join(folder, member, `round-${round}`),
      name: `${member}-${round}`,
      command: 'test',
      signal: AbortSignal.timeout(60_000),
    });
  const results = await Promise.all([runOf('before'), runOf('after')]);
  const failed = results.flatMap(({ scenarios }) => scenarios).find(({ result }) => result !== 'passed');
  if (failed !== undefined) throw new Error(`${failed.result}: ${failed.error}`);
}

type TakeTurn = (node: ClusterNode, upload: () => Promise<unknown>) => Promise<unknown>;

/** Chunks that count as uploaded when the network has taken them, one after the other on each node. */
function pushes(turn: TakeTurn) {
  return defineScenario({
    name: 'pushes',
    group: 'load',
    about: 'Uploads chunks directly on every node.',
    parameters: {},
    needs: { nodes: 2 },
    cluster: { nodes: 4 },
    timeoutMs: 60_000,
    async run(context) {
      const { cluster, signal } = context;
      let acknowledged = 0;
      const pushAll = async (node: ClusterNode) => {
        for (let i = 0; i < UPLOADS; i++) {
          const chunk = Buffer.concat([Buffer.from('0010000000000000', 'hex'), randomBytes(4096)]);
          const send = () => node.chunks.upload(chunk, { signal });
          await turn(node, () =>
            context.measure({ operation: OPERATION, node: node.name }, send, () => 4096),
          );
          acknowledged++;
        }
      };
      await Promise.all(cluster.nodes.map(pushAll));
      const expected = UPLOADS * cluster.nodes.length;
      context.expect('every chunk was acknowledged', acknowledged === expected, {
        observed: acknowledged,
        expected,
      });
    },
  });
}

/** Lets two members through one at a time, in the order of `ORDER`. */
class Turnstile {
  #turn = 0;
  readonly #waiting = new Map<Member, () => void>();

  async take<T>(member: Member, work: () => Promise<T>): Promise<T> {
    while (this.#next !== member) await new Promise<void>((go) => this.#waiting.set(member, go));
    try {
      return await work();
    } finally {
      this.#turn++;
      this.#waiting.get(this.#next)?.();
    }
  }

  get #next(): Member {
    return ORDER[this.#turn % ORDER.length] as Member;
  }
}
