/** What a node charges a light peer for one chunk at a time, according to the node's own books. */
import { proximityOrder } from '../../../formats/chunk/address.ts';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { peerIdOf, withoutPeerId } from '../../../node/p2p/address/underlay.ts';
import { Delivery, PUSHSYNC, Receipt } from '../../../node/protocols/pushsync/wire.ts';
import { HarnessError } from '../../base/errors.ts';
import { until } from '../../base/wait.ts';
import type { Opening } from '../grade.ts';
import { must } from '../row.ts';
import { ANSWER_MS } from './conversation.ts';
import type { Counterpart } from './counterpart.ts';
import { retrieve, SEARCH_MS } from './rows/retrieval.ts';
import { Memory } from './subject.ts';
import { Transcript } from './transcript.ts';

/** Proximity orders that are tried, from 0: nearer chunks take twice as long to find for each step. */
const PROXIMITIES = 10;

/** A node, and what its API tells about its peers. */
export interface PricedNode {
  readonly overlay: string;
  /** Multiaddress with its identity. */
  readonly p2p: string;
  readonly networkId: bigint;
  /** @param address of a chunk, hex @returns a stamp that nodes accept, hex */
  readonly stamp: (address: string) => Promise<string>;
  /** @param peer overlay, hex @returns what the peer owes, accounting units */
  readonly balance: (peer: string) => Promise<bigint>;
}

/** What one chunk has cost. */
export interface Price {
  readonly service: 'pushsync' | 'retrieval';
  /** Hex. */
  readonly chunk: string;
  /** Of chunk and node. */
  readonly proximity: number;
  /** Accounting units. */
  readonly charged: bigint;
}

/** How a node deals with a light peer that it has not met. */
export interface Terms {
  /** Payment threshold that it announces, accounting units; undefined: none. */
  readonly threshold: bigint | undefined;
  readonly prices: readonly Price[];
}

/**
 * One push and one retrieval for each proximity order, each pair by a new peer, which owes nothing before.
 * @throws Mismatch when the node does not serve it
 */
export async function termsOf(node: PricedNode, run: Opening): Promise<Terms> {
  const { p2p, networkId } = node;
  const target = { address: withoutPeerId(p2p), peerId: peerIdOf(p2p) ?? '', networkId, hostile: false };
  const memory = new Memory(target, run);
  const costs = new Costs(node, run);
  const prices: Price[] = [];
  let threshold: bigint | undefined;
  try {
    for (const [proximity, chunk] of chunksFor(fromHex(node.overlay)).entries()) {
      const peer = await memory.introduced(new Transcript(() => undefined), {});
      threshold ??= peer.unsolicited.pricing.value?.threshold;
      const address = toHex(chunk.address);
      const stamp = fromHex(await node.stamp(address));
      const delivery = [Delivery, { ...chunk, stamp }, 'Delivery'] as const;
      // Both may be passed on.
      const { err } = await peer.ask(PUSHSYNC.id, delivery, [Receipt, 'Receipt', SEARCH_MS]);
      must(err === '', `Err: ${err}`);
      const pushed = await costs.of('pushsync', peer, 0n);
      await retrieve(peer, chunk.address, SEARCH_MS);
      const fetched = await costs.of('retrieval', peer, pushed);
      prices.push({ service: 'pushsync', chunk: address, proximity, charged: pushed });
      prices.push({ service: 'retrieval', chunk: address, proximity, charged: fetched });
      await peer.leave();
    }
    return { threshold, prices };
  } finally {
    await memory.close();
  }
}

/** For each proximity order, the same ones for the same overlay. */
function chunksFor(overlay: Uint8Array) {
  const found: ReturnType<typeof makeCac>[] = [];
  for (let n = 0; found.length < PROXIMITIES; n++) {
    const payload = new TextEncoder().encode(`svcnet prices ${toHex(overlay)} ${n}`);
    const chunk = makeCac(BigInt(payload.length), payload);
    if (proximityOrder(overlay, chunk.address) === found.length) found.push(chunk);
  }
  return found;
}

/** What single services of a node cost, by its books. */
export class Costs {
  readonly #balance: PricedNode['balance'];
  readonly #run: Opening;
  /** Of each something was not booked in time. */
  readonly #unbooked = new Set<Price['service']>();

  constructor({ balance }: Pick<PricedNode, 'balance'>, run: Opening) {
    this.#balance = balance;
    this.#run = run;
  }

  /**
   * To be called after the node has ended the stream: it books before that, or soon after. A service that it has once
   * not booked is not waited for again.
   * @param before what the peer owed before the service, accounting units
   * @returns what it owes for it, accounting units
   */
  async of(
    service: Price['service'],
    { overlay }: Pick<Counterpart, 'overlay'>,
    before: bigint,
  ): Promise<bigint> {
    const charged = async () => (await this.#balance(toHex(overlay))) - before;
    if (this.#unbooked.has(service)) return charged();
    const probe = async () => {
      const units = await charged();
      return units === 0n ? { missing: 'the balance is as before' } : { done: units };
    };
    try {
      return await until('no price was booked', probe, { ...this.#run, timeoutMs: ANSWER_MS });
    } catch (error) {
      if (!(error instanceof HarnessError && error.code === 'WAIT_TIMEOUT')) throw error;
      this.#unbooked.add(service);
      return 0n;
    }
  }
}
