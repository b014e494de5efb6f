/** What chunks cost, and what time forgives, between a node and strangers, by its own books. */
import { proximityOrder } from '../../../formats/chunk/address.ts';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { peerIdOf, withoutPeerId } from '../../../node/p2p/address/underlay.ts';
import { Delivery, PUSHSYNC, Receipt } from '../../../node/protocols/pushsync/wire.ts';
import type { Opening } from '../grade.ts';
import { Mismatch, must } from '../row.ts';
import { ANSWER_MS } from './conversation.ts';
import { type Balance, booked, Costs, type Service } from './costs.ts';
import type { Counterpart } from './counterpart.ts';
import { amountOf, paid, pay } from './rows/money.ts';
import { retrieve, SEARCH_MS } from './rows/retrieval.ts';
import { type FreshOptions, Memory } from './subject.ts';
import { Transcript } from './transcript.ts';

/** From 0: each nearer step takes twice as long to find. */
const PROXIMITIES = 10;
/** Of its threshold a peer owes this much before it pays: more than two seconds forgive. */
const OWED_PERCENT = 80n;
/** A payment too late for the debt says nothing and is tried again. */
const PAYMENTS_MAX = 10;

export interface PricedNode {
  readonly overlay: string;
  /** With its identity. */
  readonly p2p: string;
  readonly networkId: bigint;
  /** @param address hex @returns hex; nodes accept it */
  readonly stamp: (address: string) => Promise<string>;
  /** Has the node read it. @param address hex */
  readonly read: (address: string) => Promise<unknown>;
  readonly balance: Balance;
}

export interface Price {
  readonly service: Service;
  /** Hex. */
  readonly chunk: string;
  /** Of the chunk and who serves it. */
  readonly proximity: number;
  /** Accounting units. */
  readonly booked: bigint;
}

/** `more`: at least this much. */
export interface Forgiven {
  /** Accounting units per second. */
  readonly rate: bigint;
  readonly more: boolean;
}

export interface Terms {
  /** Announced to a light peer, accounting units; undefined: none. */
  readonly threshold: bigint | undefined;
  readonly prices: readonly Price[];
  readonly forgiven: Readonly<Record<'light' | 'full', Forgiven>>;
}

export async function termsOf(node: PricedNode, run: Opening): Promise<Terms> {
  const visit = new Visit(node, run);
  try {
    const prices: Price[] = [];
    for (let proximity = 0; proximity < PROXIMITIES; proximity++)
      prices.push(...(await visit.charged(proximity)), await visit.paid(proximity));
    const forgiven = { light: await visit.forgiven(false), full: await visit.forgiven(true) };
    return { threshold: visit.threshold, prices, forgiven };
  } finally {
    await visit.end();
  }
}

/** Each chunk is a new peer's only one: what is booked late is no other one's price. */
class Visit {
  threshold: bigint | undefined;
  readonly #node: PricedNode;
  readonly #run: Opening;
  readonly #memory: Memory;
  readonly #costs: Costs;

  constructor(node: PricedNode, run: Opening) {
    const { p2p, networkId } = node;
    const target = { address: withoutPeerId(p2p), peerId: peerIdOf(p2p) ?? '', networkId, hostile: false };
    this.#node = node;
    this.#run = run;
    this.#memory = new Memory(target, run);
    this.#costs = new Costs(node, run);
  }

  end(): Promise<void> {
    return this.#memory.close();
  }

  #peer(options: FreshOptions): Promise<Counterpart> {
    return this.#memory.introduced(new Transcript(() => undefined), options);
  }

  async #price(service: Service, options: FreshOptions, serve: (peer: Counterpart) => Promise<unknown>) {
    const peer = await this.#peer(options);
    if (!peer.fullNode) this.threshold ??= peer.unsolicited.pricing.value?.threshold;
    await serve(peer);
    const booked = await this.#costs.of(service, peer);
    await peer.leave();
    return booked;
  }

  async charged(proximity: number): Promise<Price[]> {
    const chunk = chunkNear(fromHex(this.#node.overlay), proximity);
    const address = toHex(chunk.address);
    const stamp = fromHex(await this.#node.stamp(address));
    const pushed = await this.#price('pushsync', {}, async (peer) => {
      const delivery = [Delivery, { ...chunk, stamp }, 'Delivery'] as const;
      const { err } = await peer.ask(PUSHSYNC.id, delivery, [Receipt, 'Receipt', SEARCH_MS]);
      must(err === '', `Err: ${err}`);
    });
    const fetched = await this.#price('retrieval', {}, (peer) => retrieve(peer, chunk.address, SEARCH_MS));
    return [
      { service: 'pushsync', chunk: address, proximity, booked: pushed },
      { service: 'retrieval', chunk: address, proximity, booked: fetched },
    ];
  }

  async paid(proximity: number): Promise<Price> {
    const chunk = (overlay: Uint8Array) => chunkNear(overlay, proximity);
    let address = '';
    const booked = await this.#price('payment', { fullNode: true, chunk }, ({ overlay }) => {
      address = toHex(chunk(overlay).address);
      return this.#node.read(address);
    });
    return { service: 'payment', chunk: address, proximity, booked: -booked };
  }

  /** A debt of more than two seconds is paid twice: the first payment begins the time that the second one counts. */
  async forgiven(fullNode: boolean): Promise<Forgiven> {
    const { address } = chunkNear(fromHex(this.#node.overlay), 0);
    const { clock } = this.#run;
    const peer = await this.#peer({ fullNode });
    const debt = async () => await this.#node.balance(toHex(peer.overlay));
    const threshold = (await peer.unsolicited.pricing.within(ANSWER_MS))?.threshold ?? 0n;
    for (let n = 0; n < PAYMENTS_MAX; n++) {
      for (let before = await debt(); before < (threshold * OWED_PERCENT) / 100n; ) {
        await retrieve(peer, address, SEARCH_MS);
        before = await booked(debt, before, this.#run);
      }
      const first = await paid(await pay(peer, 1n));
      await clock.sleep(1_000 - (clock.now() % 1_000));
      const owed = await debt();
      const second = await paid(await pay(peer, owed));
      const [units, seconds] = [amountOf(second), second.timestamp - first.timestamp];
      must(seconds > 0n, `Timestamp: ${second.timestamp}, expected one after ${first.timestamp}`);
      if (units === owed && seconds > 1n) continue;
      await peer.leave();
      return { rate: units / seconds, more: units === owed };
    }
    throw new Mismatch(`each of ${PAYMENTS_MAX} payments took longer than its debt lasts`);
  }
}

function chunkNear(overlay: Uint8Array, proximity: number) {
  for (let n = 0; ; n++) {
    const payload = new TextEncoder().encode(`svcnet prices ${toHex(overlay)} ${n}`);
    const chunk = makeCac(BigInt(payload.length), payload);
    if (proximityOrder(overlay, chunk.address) === proximity) return chunk;
  }
}
