/**
 * Two runs take turns with every single upload, so that both see the same machine. What comes at a fixed time of a pair, as
 * scrapes do each second, must not meet the same run every time. So neither uploads while the other begins or ends, and the
 * one that comes first changes with every four uploads and every round.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { planScenarios, runScenarios } from '../../harness/run/runner.ts';
import { defineScenario } from '../../harness/run/scenario.ts';

export const OPERATION = 'push chunk';
const UPLOADS = 20;
const MEMBERS = ['before', 'after'] as const;
export type Member = (typeof MEMBERS)[number];
/** Steady changes affect both alike. */
const FIRST = [true, false, false, true];

export interface Pair {
  readonly cluster: Cluster;
  readonly stateDir: string;
  readonly folder: string;
  readonly round: number;
  /** The two members may differ in this alone. */
  readonly around: (member: Member, node: ClusterNode, upload: () => Promise<unknown>) => Promise<unknown>;
}

export async function runPair({ cluster, stateDir, folder, round, around }: Pair): Promise<void> {
  const turns = new Map(cluster.nodes.map(({ name }) => [name, new Turnstile(round)]));
  const [begun, ended] = [new Meeting(MEMBERS.length), new Meeting(MEMBERS.length)];
  const runOf = (member: Member) =>
    runScenarios({
      planned: planScenarios(
        [
          pushes({
            turn: (node, upload) =>
              (turns.get(node.name) as Turnstile).take(member, () => around(member, node, upload)),
            begin: () => begun.arrive(),
            end: () => ended.arrive(),
          }),
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
  const order = round % 2 === 0 ? MEMBERS : MEMBERS.toReversed();
  const [first, second] = order as [Member, Member];
  const beginning = runOf(first);
  // Times are whole milliseconds: they show which run began.
  await sleep(2);
  const results = await Promise.all([beginning, runOf(second)]);
  const failed = results.flatMap(({ scenarios }) => scenarios).find(({ result }) => result !== 'passed');
  if (failed !== undefined) throw new Error(`${failed.result}: ${failed.error}`);
}

interface Together {
  readonly turn: (node: ClusterNode, upload: () => Promise<unknown>) => Promise<unknown>;
  readonly begin: () => Promise<void>;
  readonly end: () => Promise<void>;
}

/** Chunks count once the network has accepted them; a node uploads one after another. */
function pushes({ turn, begin, end }: Together) {
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
      await begin();
      await Promise.all(cluster.nodes.map(pushAll));
      await end();
      const expected = UPLOADS * cluster.nodes.length;
      context.expect('every chunk was acknowledged', acknowledged === expected, {
        observed: acknowledged,
        expected,
      });
    },
  });
}

class Turnstile {
  readonly #round: number;
  #turn = 0;
  readonly #waiting = new Map<Member, () => void>();

  constructor(round: number) {
    this.#round = round;
  }

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
    const four = Math.floor(this.#turn / FIRST.length) + this.#round;
    const isFirst = FIRST[this.#turn % FIRST.length] === true;
    return isFirst === (four % 2 === 0) ? 'before' : 'after';
  }
}

class Meeting {
  #missing: number;
  readonly #complete = Promise.withResolvers<void>();

  constructor(members: number) {
    this.#missing = members;
  }

  arrive(): Promise<void> {
    if (--this.#missing === 0) this.#complete.resolve();
    return this.#complete.promise;
  }
}
