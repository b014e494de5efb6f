import { expect, test } from 'vitest';
import { closerTo } from '../../../formats/chunk/address.ts';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { seededRandom } from '../../../formats/random.ts';
import { violations } from '../../../harness/cluster/books/books.ts';
import { readBooks } from '../../../harness/cluster/books/read-books.ts';
import { Cluster, type ClusterNode } from '../../../harness/index.ts';
import { PlacementWatch } from '../../../harness/inspect/ledger/placement.ts';
import { until } from '../../../harness/scenario.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const FEW = 5;
const MANY = 40;
const OPTIONS = { 'minimum-storage-radius': 1 };
/** Virtual, between two chunks. */
const PAUSE_MS = 250;
const PLACED_MS = 60_000;

test('5 nodes become 40 and 5 again at radius 1 under load: every acknowledged chunk stays, and the books are right', async () => {
  await using net = await Cluster.start({
    driver: 'simulated',
    nodes: [{ count: FEW, neighbourhoods: ['0', '1', '0', '1', '0'], options: OPTIONS }],
    seed: 50,
    stateDir: temporaryFolder('svcnet-scale'),
  });
  const incidents: unknown[] = [];
  net.membership.onIncident((incident) => incidents.push(incident));
  await using load = new Load(net);
  await load.more(20);
  await net.add({ count: MANY - FEW, options: OPTIONS });
  await net.meshed();
  expect(net.nodes).toHaveLength(MANY);
  await load.more(50);
  await whole(net, load.take());
  for (const node of net.nodes.slice(FEW).toReversed()) {
    await load.spare(node);
    await load.more(2);
    await whole(net, load.take());
    await net.remove(node.name, { forGood: true });
  }
  await load.end();
  expect(load.refused).toEqual([]);
  expect(net.nodes.map(({ name }) => name)).toEqual(['node-0', 'node-1', 'node-2', 'node-3', 'node-4']);
  await net.meshed();
  await whole(net, load.all);
  for (const address of load.all) await net.node(0).chunks.download(address, { cache: false });
  await net.settled();
  expect(violations(await readBooks(net))).toEqual([]);
  expect(incidents).toEqual([]);
  const radii = await Promise.all(net.nodes.map(({ client }) => client.status()));
  expect(radii.map(({ storageRadius }) => storageRadius)).toEqual([1, 1, 1, 1, 1]);
});

async function whole(net: Cluster, chunks: readonly string[]): Promise<void> {
  const watch = new PlacementWatch(chunks, net.nodes);
  await until('chunks are not where they belong', (signal) => watch.probe(signal), {
    clock: net.clock,
    timeoutMs: PLACED_MS,
  });
}

/** It waits for no answer. */
class Load implements AsyncDisposable {
  readonly all: string[] = [];
  readonly refused: unknown[] = [];
  readonly #net: Cluster;
  readonly #underWay = new Set<Promise<void>>();
  readonly #running: Promise<void>;
  #spared: ClusterNode | undefined;
  #taken = 0;
  #ended = false;

  constructor(net: Cluster) {
    this.#net = net;
    this.#running = this.#run();
    // It is awaited at the end.
    this.#running.catch(() => undefined);
  }

  /** Until so many more are acknowledged. */
  async more(count: number): Promise<void> {
    const enough = this.all.length + count;
    const probe = () =>
      Promise.resolve(
        this.all.length >= enough ? { done: undefined } : { missing: `${this.all.length} of ${enough}` },
      );
    await until('chunks are not acknowledged', probe, { clock: this.#net.clock, timeoutMs: PLACED_MS });
  }

  /** The node takes no more, and no chunk comes to it first: what it alone had would leave with it. */
  async spare(node: ClusterNode): Promise<void> {
    this.#spared = node;
    await Promise.all(this.#underWay);
  }

  take(): string[] {
    const taken = this.all.slice(this.#taken);
    this.#taken = this.all.length;
    return taken;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#running;
    await Promise.all(this.#underWay);
  }

  async #run(): Promise<void> {
    const random = seededRandom('scale');
    for (let turn = 0; !this.#ended; turn++) {
      const { data, address } = makeCac(4096n, random.bytes(4096));
      const nodes = this.#net.nodes.filter(({ running }) => running);
      const [closest] = nodes.toSorted((one, other) =>
        closerTo(address, fromHex(one.overlay), fromHex(other.overlay)),
      );
      const takers = nodes.filter((node) => node !== this.#spared);
      const node = takers[turn % takers.length] as ClusterNode;
      if (closest === this.#spared) continue;
      const work = node.chunks
        .upload(data, { batch: node.batch as string })
        .then(
          () => void this.all.push(toHex(address)),
          (error: unknown) => void this.refused.push(error),
        )
        .finally(() => this.#underWay.delete(work));
      this.#underWay.add(work);
      await this.#net.clock.sleep(PAUSE_MS);
    }
  }
}
