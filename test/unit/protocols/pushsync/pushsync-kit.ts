import { closerTo } from '../../../../formats/chunk/address.ts';
import type { Chunk } from '../../../../formats/chunk/chunk.ts';
import { encodeStamp } from '../../../../formats/chunk/stamp.ts';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { overlayAddress } from '../../../../formats/crypto/overlay.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import type { MessageOf } from '../../../../node/p2p/codec/message.ts';
import type { MessageStream, Peer, ProtocolHandler } from '../../../../node/p2p/host.ts';
import { MemoryNetwork } from '../../../../node/p2p/memory-host.ts';
import { Delivery, PUSHSYNC, Receipt } from '../../../../node/protocols/pushsync/wire.ts';
import { NETWORK_ID, testKey, ZERO_NONCE } from '../../p2p/memory-nodes.ts';
import {
  chunkWhere,
  connect,
  type ExchangeNode,
  exchangeNodes,
  FAR_RADIUS,
  never,
  type Stranger,
  someStamp,
  stranger,
} from '../exchange-nodes.ts';
import { ManualClock } from '../manual-clock.ts';

export const someChunk = chunkWhere(() => true);

export const stamp = someStamp();

export const idle: ProtocolHandler = async () => undefined;

export function receiptOf(
  n: number,
  address: Uint8Array,
  storageRadius = 0,
): Partial<MessageOf<typeof Receipt>> {
  return { address, signature: createSigner(testKey(n)).sign(address), nonce: ZERO_NONCE, storageRadius };
}

export function overlayOf(n: number): string {
  return toHex(overlayAddress(createSigner(testKey(n)).address, NETWORK_ID, ZERO_NONCE));
}

export function inLowerHalf(n: number): boolean {
  return overlayOf(n) < '8';
}

/** The strangers have overlays of the lower half. */
export async function amongStrangers(
  count: number,
  handler: (stream: MessageStream, served: number, n: number) => Promise<void>,
  {
    radius = FAR_RADIUS,
    isWanted = inLowerHalf,
  }: { radius?: number; isWanted?: (n: number) => boolean } = {},
) {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const [node] = await exchangeNodes(1, { clock, network, radius });
  const strangers: Stranger[] = [];
  let asked = 0;
  for (let n = 10; strangers.length < count; n++) {
    if (!isWanted(n)) continue;
    const serve: ProtocolHandler = async (stream) => {
      await stream.read(Delivery);
      asked++;
      await handler(stream, asked, n);
    };
    const one = await stranger(n, { clock, network, protocol: PUSHSYNC, handler: serve });
    await connect(node!, one, clock);
    strangers.push(one);
  }
  return { clock, network, node: node!, strangers, asked: () => asked };
}

export function chunkBeyond(node: ExchangeNode, strangers: readonly Stranger[]): Chunk {
  return chunkWhere((address) => strangers.every((one) => closerTo(address, one.overlay, node.overlay) < 0));
}

export async function receiptFrom(from: Stranger, peer: Peer, delivery: Partial<MessageOf<typeof Delivery>>) {
  const stream = await from.host.open(peer, PUSHSYNC.id, { signal: never });
  await stream.write(Delivery, delivery);
  return await stream.read(Receipt);
}

export async function client(
  radius = 0,
): Promise<{ node: ExchangeNode; from: Stranger; peer: Peer; clock: ManualClock }> {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const [node] = await exchangeNodes(1, { clock, network, radius });
  const from = await stranger(9, { clock, network, protocol: PUSHSYNC, handler: idle });
  return { node: node!, from, peer: await connect(from, node!, clock), clock };
}

export const parcel = { address: someChunk.address, data: someChunk.data, stamp: encodeStamp(stamp) };
