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
  const prices: Price[] = [];
  let threshold: bigint | undefined;
  try {
    for (const [proximity, chunk] of chunksFor(fromHex(node.overlay)).entries()) {
      const peer = await memory.introduced(new Transcript(() => undefined), {});
      threshold ??= peer.unsolicited.pricing.value?.threshold;
      const costs = { node, peer, clock: run.clock, signal: run.signal };
      const address = toHex(chunk.address);
      const stamp = fromHex(await node.stamp(address));
      // Both may be passed on.
      const pushed = await costOf(costs, 0n, async () => {
        const delivery = [Delivery, { ...chunk, stamp }, 'Delivery'] as const;
        const { err } = await peer.ask(PUSHSYNC.id, delivery, [Receipt, 'Receipt', SEARCH_MS]);
        must(err === '', `Err: ${err}`);
      });
      const fetched = await costOf(costs, pushed, () => retrieve(peer, chunk.address, SEARCH_MS));
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

interface Costs extends Opening {
  readonly node: PricedNode;
  readonly peer: Counterpart;
}

/** A node books a chunk after it has answered. @param before what the peer owed */
async function costOf(
  { node, peer, clock, signal }: Costs,
  before: bigint,
  serve: () => Promise<void>,
): Promise<bigint> {
  await serve();
  const probe = async () => {
    const units = (await node.balance(toHex(peer.overlay))) - before;
    return units === 0n ? { missing: 'the balance is as before' } : { done: units };
  };
  try {
    return await until('no price was booked', probe, { clock, timeoutMs: ANSWER_MS, signal });
  } catch (error) {
    if (error instanceof HarnessError && error.code === 'WAIT_TIMEOUT') return 0n;
    throw error;
  }
}
