/**
 * All nodes upload and read all the time while one node of either kind is stopped or killed and comes back. What was
 * acknowledged can be read from all in the end.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ClientError } from '../../harness/client/errors.ts';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { bytesOf, sameBytes } from '../cluster/node/kit.ts';
import { eventually, OTHERS, of, ownErrors, startMixed } from './kit.ts';

/** Many files fit into what peers lend each other. */
const SIZE = 30_000;
/** Per node, before, while and after one is away. */
const FILES = 2;
/** On a loaded machine. */
const RESTART_MS = 300_000;
/** Between files of a node. */
const PAUSE_MS = 500;
const READ_MS = 30_000;

interface Kept {
  readonly by: string;
  readonly reference: string;
  readonly data: Uint8Array;
}

describe.each(OTHERS)('$title', (side) => {
  let net: Cluster;
  beforeAll(async () => {
    net = await startMixed({ side, own: 2, others: 2, seed: 97 });
  });
  afterAll(() => net.stop());

  const away = [
    ['ours', 'stop'],
    ['ours', 'kill'],
    ['theirs', 'stop'],
    ['theirs', 'kill'],
  ] as const;

  test.each(away)(
    '%s is away by %s while all others continue, and everything acknowledged is on every node',
    async (who, way) => {
      const victim = of(who === 'ours' ? 'svc' : side.flavour, net).at(-1);
      if (victim === undefined) throw new Error('a mixed cluster has both');
      await using traffic = new Traffic(net, victim, `${who} ${way}`);
      await traffic.more(FILES);
      await victim[way]();
      await traffic.more(FILES);
      await victim.start();
      await traffic.more(FILES);
      const kept = await traffic.end();
      expect(await net.meshed()).toEqual({ links: 12, expected: 12 });
      expect(kept.some(({ by }) => by === victim.name)).toBe(true);
      for (const node of net.nodes) {
        for (const file of kept) {
          const seen = await eventually(
            `${node.name} does not read ${file.reference} of ${file.by}`,
            () => read(node, file),
            (answer) => answer instanceof Uint8Array,
          );
          expect(sameBytes(seen as Uint8Array, file.data)).toBe(true);
        }
        expect([node.name, await node.client.blocklist()]).toEqual([node.name, []]);
      }
    },
    RESTART_MS,
  );

  test('our nodes have logged no error', async () => {
    expect(await ownErrors(net)).toEqual([]);
  });
});

/** A node uploads one file after another; only the one that goes away may fail. */
class Traffic implements AsyncDisposable {
  readonly #net: Cluster;
  readonly #victim: ClusterNode;
  readonly #name: string;
  readonly #kept: Kept[] = [];
  readonly #loops: Promise<void>[];
  readonly #failures: unknown[] = [];
  #ended = false;

  constructor(net: Cluster, victim: ClusterNode, name: string) {
    this.#net = net;
    this.#victim = victim;
    this.#name = name;
    this.#loops = net.nodes.map((node) => this.#loop(node));
  }

  async more(files: number): Promise<void> {
    const running = this.#net.nodes.filter((node) => node.running);
    const before = new Map(running.map((node) => [node, this.#count(node)]));
    await eventually(
      'no more files are acknowledged',
      async () => running.map((node) => [node.name, this.#count(node) - (before.get(node) ?? 0)] as const),
      (counts) => this.#failures.length > 0 || counts.every(([, count]) => count >= files),
    );
    this.#check();
  }

  /** It would disturb the next test. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true;
    await Promise.all(this.#loops);
  }

  async end(): Promise<readonly Kept[]> {
    await this[Symbol.asyncDispose]();
    this.#check();
    return this.#kept;
  }

  #check(): void {
    expect(this.#failures).toEqual([]);
  }

  #count({ name }: ClusterNode): number {
    return this.#kept.filter(({ by }) => by === name).length;
  }

  async #loop(node: ClusterNode): Promise<void> {
    for (let turn = 0; !this.#ended; turn++) {
      const data = bytesOf(`${this.#name} ${node.name} ${turn}`, SIZE);
      try {
        const { reference } = await node.bytes.upload(data, { redundancyLevel: 0 });
        this.#kept.push({ by: node.name, reference, data });
        await this.#readEarlier(node);
      } catch (error) {
        if (node !== this.#victim) this.#failures.push(error);
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  /** It may not be there yet. */
  async #readEarlier(node: ClusterNode): Promise<void> {
    const file = this.#kept.findLast(({ by }) => by !== node.name);
    if (file === undefined) return;
    const seen = await read(node, file);
    if (seen instanceof ClientError) return;
    expect([node.name, file.by, sameBytes(seen, file.data)]).toEqual([node.name, file.by, true]);
  }
}

/** @returns its error unless it has everything */
async function read(node: ClusterNode, { reference }: Kept): Promise<Uint8Array | ClientError> {
  try {
    return await node.bytes.download(reference, { cache: false, timeoutMs: READ_MS });
  } catch (error) {
    if (error instanceof ClientError) return error;
    throw error;
  }
}
