import { fc, test as property } from '@fast-check/vitest';
import { expect } from 'vitest';
import { closerTo, isResponsible, proximityOrder } from '../../../formats/chunk/address.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { type Stamp, stampHash } from '../../../formats/chunk/stamp.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { NO_ROOM_MAX } from '../../../node/protocols/pushsync/rules.ts';
import type { ReserveEntry } from '../../../node/store/ports.ts';
import { chunkAt, stamp } from '../store/stores.ts';
import { HOLDERS, type NodePlan, SmallNetwork, type SmallNode, WAKE_UP_MS } from './small-network.ts';
import { isImmutable, keyOf, randomFrom } from './small-network-terms.ts';

const BATCHES = [1, 2, 3];
/** Longer than the longest pause of a worker from which no node takes anything. */
const PULL_ROUND_MS = 33_000;
/** With the pages that do not come. */
const HAND_OVER_ROUND_MS = 15_000;
/** After so many, only handing over is tried. */
const QUIET_PULLS = 2;
/** A run pushes at least a tenth of the capacity, of up to twice the capacity. */
const QUIET_ROUNDS = QUIET_PULLS + 24;
const ROUNDS_MAX = 400;

/** A failure is reported before the test is given up. */
const SHRUNK_WITHIN_MS = 45_000;

type Operation =
  /** At random addresses, all at once: a part of what all reserves can hold. */
  | { readonly do: 'upload'; readonly at: number; readonly part: number; readonly batch: number }
  /** Under a newer stamp of the same index. */
  | { readonly do: 'restamp'; readonly at: number; readonly which: number }
  | { readonly do: 'pull'; readonly to: number; readonly from: number }
  | { readonly do: 'pull-all' }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'restart'; readonly at: number }
  | { readonly do: 'away'; readonly at: number }
  | { readonly do: 'back'; readonly at: number }
  /** Every node leaves whose overlay begins with this bit. */
  | { readonly do: 'half-away'; readonly bit: number }
  | { readonly do: 'all-back' }
  | { readonly do: 'expire'; readonly batch: number };

const NODES_MAX = 8;
const at = fc.nat(NODES_MAX - 1);
const uploads = fc.record({
  do: fc.constant('upload' as const),
  at,
  part: fc.constantFrom(0.01, 0.05, 0.2, 0.4),
  batch: fc.constantFrom(...BATCHES),
});
const waits = fc.record({
  do: fc.constant('wait' as const),
  ms: fc.constantFrom(5, 20, 60, 150, 400, 6_000, PULL_ROUND_MS, WAKE_UP_MS),
});
const operations: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 12, arbitrary: uploads },
  { weight: 8, arbitrary: waits },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pull' as const), to: at, from: at }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pull-all' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restamp' as const), at, which: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('restart' as const), at }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('away' as const), at }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('back' as const), at }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('half-away' as const), bit: fc.nat(1) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('all-back' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('expire' as const), batch: fc.constantFrom(...BATCHES) }),
  },
);
const CAPACITIES = [12, 40, 100];
const plans: fc.Arbitrary<NodePlan[]> = fc
  .record({
    firsts: fc.uniqueArray(fc.nat(255), { minLength: 3, maxLength: NODES_MAX }),
    capacities: fc.oneof(
      fc.constantFrom(...CAPACITIES).map((capacity) => [capacity]),
      fc.array(fc.constantFrom(...CAPACITIES), { minLength: NODES_MAX, maxLength: NODES_MAX }),
    ),
  })
  .map(({ firsts, capacities }) =>
    firsts.map((first, n) => ({ first, capacity: capacities[n % capacities.length]! })),
  );

interface Upload {
  readonly chunk: Chunk;
  readonly batch: number;
  readonly index: number;
  timestamp: number;
  readonly entries: ReserveEntry[];
  isAcknowledged: boolean;
}

class Story {
  readonly #network: SmallNetwork;
  readonly #random: () => number;
  readonly #uploads: Upload[] = [];
  readonly #running: Promise<unknown>[] = [];

  constructor(network: SmallNetwork, seed: number) {
    this.#network = network;
    this.#random = randomFrom(seed);
  }

  async apply(operation: Operation): Promise<void> {
    const { clock, nodes } = this.#network;
    switch (operation.do) {
      case 'upload':
        for (let n = 0; n < operation.part * this.#capacity(); n++)
          this.#upload(this.#node(operation.at), operation.batch);
        break;
      case 'restamp': {
        const again = this.#uploads[operation.which % this.#uploads.length];
        if (again !== undefined) this.#push(this.#node(operation.at), again, ++again.timestamp);
        break;
      }
      case 'pull': {
        const [to, from] = [this.#node(operation.to), this.#node(operation.from)];
        if (to !== from) this.#running.push(to.pull(from));
        break;
      }
      case 'pull-all':
        this.#running.push(this.#network.pullAll());
        break;
      case 'wait':
        await clock.advance(operation.ms);
        break;
      case 'restart':
        await this.#node(operation.at).restart();
        break;
      case 'away':
      case 'back':
        this.#network.setOnline(this.#node(operation.at), operation.do === 'back');
        break;
      case 'half-away':
      case 'all-back':
        for (const node of nodes) {
          const stays = operation.do === 'all-back' || node.overlay[0]! >> 7 !== operation.bit;
          this.#network.setOnline(node, stays && (node.isOnline || operation.do === 'all-back'));
        }
        break;
      case 'expire':
        this.#network.expire(operation.batch);
        break;
    }
    await clock.settle();
    this.check();
  }

  /** Every chunk with a receipt has a holder, and nothing has left without a reason. */
  check(): void {
    expect(this.#network.violations()).toEqual([]);
    for (const upload of this.#living()) {
      if (this.#holders(upload).length === 0) expect.fail(`chunk ${toHex(upload.chunk.address)} is lost`);
    }
  }

  /** Neither pulling nor handing over changes anything. */
  async rest(): Promise<void> {
    const { nodes } = this.#network;
    for (const node of nodes) this.#network.setOnline(node, true);
    for (let rounds = 0, quiet = 0; quiet < QUIET_ROUNDS; rounds++) {
      const before = this.#state();
      if (rounds === ROUNDS_MAX) expect.fail(`no rest: ${before}`);
      if (quiet < QUIET_PULLS) await this.#pullRound();
      else await this.#handOverRound();
      this.check();
      quiet = this.#state() === before ? quiet + 1 : 0;
    }
    await Promise.all(this.#running);
  }

  async #pullRound(): Promise<void> {
    const pulling = this.#network.pullAll();
    await this.#network.clock.advance(PULL_ROUND_MS);
    await pulling;
  }

  async #handOverRound(): Promise<void> {
    for (const node of this.#network.nodes) node.topologyChanged();
    await this.#network.clock.advance(HAND_OVER_ROUND_MS);
  }

  #state(): string {
    return this.#network.nodes
      .map(
        ({ name, reserve }) =>
          `${name} ${reserve.size()} at ${reserve.radius()}, ${reserve.lastBinIds().join()}`,
      )
      .join('; ');
  }

  /** What has room has arrived, and a full reserve has let go of what it can. */
  checkArrived(): void {
    const { nodes } = this.#network;
    for (const upload of this.#living()) {
      const { address } = upload.chunk;
      const closest = this.#closestTo(address)[0];
      const belongs = nodes.filter((node) => node === closest || node.isResponsible(address));
      const holders = this.#holders(upload);
      if (belongs.some((node) => holders.includes(node))) continue;
      if (belongs.some(({ reserve }) => reserve.hasRoomFor(address)))
        expect.fail(`chunk ${toHex(address)} is not where it belongs: ${this.#facts(holders, belongs)}`);
    }
    for (const node of nodes) {
      this.#checkGrown(node);
      this.#checkLetGo(node);
    }
  }

  /** A neighbourhood that fills its reserve has become smaller, if another node has what it leaves out. */
  #checkGrown(node: SmallNode): void {
    const { name, overlay, reserve } = node;
    const leftovers = reserve.size() - reserve.sizeWithinRadius();
    if (reserve.hasRoomFor(overlay) || leftovers > reserve.capacity()) return;
    const beside = node.peers().filter((peer) => proximityOrder(overlay, peer.overlay) === reserve.radius());
    if (beside.length > 0)
      expect.fail(`${name} is full at ${reserve.radius()}, and there is ${beside[0]!.overlayHex}`);
  }

  /**
   * A full reserve keeps nothing that enough others hold, nor what a push would bring away: it asks the nodes responsible at
   * this node's radius, as many as may refuse.
   */
  #checkLetGo(node: SmallNode): void {
    const { reserve } = node;
    if (reserve.size() < reserve.capacity()) return;
    const below = Array.from({ length: reserve.radius() }, (_, bin) => reserve.items(bin, 1n, 10_000));
    for (const item of below.flat()) {
      const bin = proximityOrder(node.overlay, item.address);
      const deeper = this.#closestTo(item.address).filter(
        ({ overlay }) => proximityOrder(node.overlay, overlay) === bin,
      );
      const holding = deeper.filter((one) => one.isResponsible(item.address) && one.has(item));
      if (holding.length > 0 && holding.length >= Math.min(HOLDERS, deeper.length))
        expect.fail(`chunk ${toHex(item.address)} keeps ${this.#facts([node], holding)} full`);
      const asked = this.#closestTo(item.address)
        .filter(({ overlay }) => isResponsible(overlay, item.address, reserve.radius()))
        .slice(0, NO_ROOM_MAX);
      const able = asked.filter((one) => this.#takes(one, item));
      if (able.length > 0)
        expect.fail(`chunk ${toHex(item.address)} keeps ${this.#facts([node], able)} full`);
    }
  }

  #takes(node: SmallNode, entry: ReserveEntry): boolean {
    if (!node.isResponsible(entry.address) || this.#isSuperseded(entry, node)) return false;
    return node.has(entry) || node.reserve.hasRoomFor(entry.address);
  }

  #closestTo(address: Uint8Array): SmallNode[] {
    return this.#network.nodes.toSorted((a, b) => closerTo(address, a.overlay, b.overlay));
  }

  /** A node with a newer stamp of the same index takes no older one; in an immutable batch that stays. */
  #isSuperseded(item: ReserveEntry, by: SmallNode): boolean {
    if (!isImmutable(item.batchId)) return false;
    const stamps = this.#uploads.find(({ entries }) =>
      entries.some((one) => keyOf(one) === keyOf(item)),
    )?.entries;
    const at = stamps?.findIndex((one) => keyOf(one) === keyOf(item)) ?? 0;
    return stamps?.slice(at + 1).some((one) => by.has(one)) === true;
  }

  #upload(node: SmallNode, batch: number): void {
    const address = new Uint8Array(32).map((_, n) => (n < 4 ? Math.floor(this.#random() * 256) : 0));
    const index = this.#uploads.length;
    Buffer.from(address.buffer).writeUInt32BE(index, 28);
    const upload = {
      chunk: chunkAt(address),
      batch,
      index,
      timestamp: 1,
      entries: [],
      isAcknowledged: false,
    };
    this.#uploads.push(upload);
    this.#push(node, upload, 1);
  }

  #push(node: SmallNode, upload: Upload, timestamp: number): void {
    const { chunk, batch, index } = upload;
    const stamped = stamp({ batch, index, timestamp });
    const entry = { address: chunk.address, batchId: stamped.batchId, stampHash: stampHash(stamped) };
    upload.entries.push(entry);
    this.#network.stamped(entry);
    this.#running.push(
      this.#stored(node, chunk, stamped).then(
        () => {
          upload.isAcknowledged = true;
          return undefined;
        },
        () => undefined,
      ),
    );
  }

  async #stored(node: SmallNode, chunk: Chunk, stamped: Stamp): Promise<void> {
    const { signal } = new AbortController();
    const { outcome } = await node.pushsync.push(chunk, stamped, { signal });
    if (outcome === 'want-self') await node.put(chunk, stamped);
  }

  #living(): Upload[] {
    return this.#uploads.filter(
      ({ isAcknowledged, batch }) => isAcknowledged && !this.#network.expired.has(batch),
    );
  }

  #holders({ entries }: Upload): SmallNode[] {
    return this.#network.nodes.filter((node) => entries.some((entry) => node.has(entry)));
  }

  #capacity(): number {
    return this.#network.nodes.reduce((sum, { reserve }) => sum + reserve.capacity(), 0);
  }

  #node(at: number): SmallNode {
    const { nodes } = this.#network;
    return nodes[at % nodes.length]!;
  }

  #facts(holders: readonly SmallNode[], able: readonly SmallNode[]): string {
    const told = (nodes: readonly SmallNode[]) =>
      nodes
        .map(
          ({ name, reserve }) =>
            `${name} (${reserve.size()} of ${reserve.capacity()} at ${reserve.radius()})`,
        )
        .join(', ');
    return `${told(holders)}, where ${told(able)} could have it`;
  }
}

/** Stories in which a node that counts the wrong holders, or a push that did not succeed, lets chunks go. */
const FOUND: [nodes: NodePlan[], seed: number, sequence: Operation[]][] = [
  // Of two others beside the node, one has a larger radius than its chunks.
  [
    [0, 128, 1, 192].map((first) => ({ first, capacity: 100 })),
    0,
    [
      { do: 'upload', at: 0, part: 0.4, batch: 1 },
      { do: 'half-away', bit: 0 },
      { do: 'upload', at: 0, part: 0.01, batch: 1 },
      { do: 'upload', at: 1, part: 0.4, batch: 1 },
    ],
  ],
  // Every deeper node is away, so that a push ends at a neighbour or at the node itself.
  [
    [0, 1, 128, 2].map((first) => ({ first, capacity: 12 })),
    0,
    [
      { do: 'upload', at: 0, part: 0.4, batch: 1 },
      { do: 'wait', ms: 20 },
      { do: 'away', at: 6 },
      { do: 'wait', ms: 400 },
      { do: 'half-away', bit: 0 },
      { do: 'upload', at: 0, part: 0.01, batch: 1 },
      { do: 'wait', ms: 5 },
    ],
  ],
  // A node is stopped while it pushes.
  [
    [0, 128, 1].map((first) => ({ first, capacity: 12 })),
    0,
    [
      { do: 'upload', at: 0, part: 0.4, batch: 1 },
      { do: 'wait', ms: 25 },
      { do: 'restart', at: 1 },
      { do: 'half-away', bit: 0 },
      { do: 'upload', at: 0, part: 0.01, batch: 1 },
      { do: 'wait', ms: 5 },
    ],
  ],
  // A neighbour with a smaller radius lists what it is responsible for, and no deeper node is there.
  [
    [128, 130, 0, 1, 192, 2, 129, 140].map((first, n) => ({
      first,
      capacity: [0, 3, 6, 7].includes(n) ? 100 : 12,
    })),
    236923320,
    [
      { do: 'upload', at: 7, part: 0.4, batch: 1 },
      { do: 'upload', at: 5, part: 0.01, batch: 3 },
      { do: 'restart', at: 6 },
      { do: 'wait', ms: 400 },
      { do: 'wait', ms: 400 },
      { do: 'half-away', bit: 0 },
      { do: 'wait', ms: 60 },
      { do: 'back', at: 7 },
      { do: 'upload', at: 2, part: 0.01, batch: 3 },
      { do: 'pull-all' },
      { do: 'wait', ms: 33_000 },
      { do: 'half-away', bit: 0 },
      { do: 'pull', to: 6, from: 3 },
      { do: 'upload', at: 6, part: 0.05, batch: 3 },
    ],
  ],
  // The chunk's neighbourhood lies three bits away, and the node has once pulled nothing from there.
  [
    [0, 1, 128, 15, 62, 155, 96].map((first, n) => ({
      first,
      capacity: [12, 40, 100, 12, 40, 12, 12][n]!,
    })),
    -1797629582,
    [
      { do: 'wait', ms: 20 },
      { do: 'upload', at: 1, part: 0.2, batch: 3 },
      { do: 'wait', ms: 60 },
      { do: 'upload', at: 0, part: 0.2, batch: 1 },
      { do: 'pull-all' },
      { do: 'all-back' },
      { do: 'half-away', bit: 0 },
      { do: 'upload', at: 7, part: 0.2, batch: 2 },
      { do: 'away', at: 0 },
      { do: 'wait', ms: 5 },
      { do: 'upload', at: 5, part: 0.4, batch: 1 },
      { do: 'upload', at: 7, part: 0.05, batch: 3 },
      { do: 'wait', ms: 900_000 },
      { do: 'all-back' },
      { do: 'upload', at: 6, part: 0.01, batch: 2 },
      { do: 'upload', at: 7, part: 0.4, batch: 1 },
      { do: 'pull-all' },
      { do: 'away', at: 2 },
      { do: 'wait', ms: 60 },
      { do: 'pull', to: 4, from: 3 },
    ],
  ],
];

property.prop([plans, fc.integer(), fc.array(operations, { minLength: 5, maxLength: 40 })], {
  numRuns: 40,
  examples: FOUND,
  interruptAfterTimeLimit: SHRUNK_WITHIN_MS,
})('no chunk with a receipt is lost, and each arrives where it belongs', async (nodes, seed, sequence) => {
  const network = await SmallNetwork.create({ seed, nodes });
  const story = new Story(network, seed);
  try {
    for (const operation of sequence) await story.apply(operation);
    await story.rest();
    story.checkArrived();
  } finally {
    await network.stop();
  }
});
