/** Peers that do not pay must gain nothing beyond what time forgives every peer. */
import { describe, expect, test } from 'vitest';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { HostError, type Peer, StreamError } from '../../../node/p2p/host.ts';
import { MemoryNetwork } from '../../../node/p2p/memory-host.ts';
import { PINGPONG } from '../../../node/protocols/pingpong/wire.ts';
import { Delivery, RETRIEVAL, Request } from '../../../node/protocols/retrieval/wire.ts';
import {
  chunkNear,
  chunkWhere,
  connect,
  type ExchangeNode,
  exchangeNodes,
  FAR_RADIUS,
  never,
  PRODUCTION,
  type Stranger,
  stranger,
} from './exchange-nodes.ts';
import { ManualClock } from './manual-clock.ts';

const RATE = PRODUCTION.refreshRate;
/** Debt at which a full peer is disconnected. */
const LIMIT = 16_875_000n + RATE;
const MOST = 320_000n;

/** The peer wants it without paying. */
async function freeloading() {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const [node] = (await exchangeNodes(1, { clock, network, radius: FAR_RADIUS })) as [ExchangeNode];
  const chunk = chunkWhere((address) => (address[0]! ^ node.overlay[0]!) >= 0x80);
  node.store.hold(chunk);
  const handler = async () => undefined;
  const freeloader = await stranger(9, { clock, network, protocol: PINGPONG, handler });
  let taken = 0n;
  return {
    clock,
    node,
    freeloader,
    taken: () => taken,
    /** Up to so many times, while it is let. */
    take: async (peer: Peer, times: number): Promise<void> => {
      for (let n = 0; n < times && !peer.closed.aborted; n++) {
        const delivered = await ask(freeloader, peer, chunk).catch(thrownOut);
        if (delivered?.data.length !== undefined && delivered.data.length > 0) taken += MOST;
      }
    },
    join: (): Promise<Peer | undefined> => connect(freeloader, node, clock).catch(thrownOut),
  };
}

/** The expected errors; anything else is a fault. */
function thrownOut(error: unknown): undefined {
  if (error instanceof HostError || error instanceof StreamError) return undefined;
  throw error;
}

async function ask(from: Stranger, peer: Peer, { address }: Chunk) {
  const stream = await from.host.open(peer, RETRIEVAL.id, { signal: never });
  await stream.write(Request, { addr: address });
  return await stream.read(Delivery);
}

describe('a peer that asks and never pays', () => {
  test('is served up to the limit, then refused until time has forgiven its debt', async () => {
    const { clock, node, freeloader, take, taken, join } = await freeloading();
    await take((await join())!, 1_000);
    await clock.settle();
    expect(taken()).toBeGreaterThanOrEqual(LIMIT - MOST);
    expect(taken()).toBeLessThan(LIMIT + MOST);
    expect(node.host.blocklisted()).toMatchObject([
      { overlay: freeloader.id, reason: 'disconnect threshold exceeded', durationMs: 7_000 },
    ]);
    expect(await join()).toBeUndefined();
    await clock.advance(7_000);
    expect(await join()).toBeDefined();
  });

  test.each([
    { how: 'returns whenever it may', times: 1_000 },
    { how: 'leaves before it is thrown out and returns at once', times: 60 },
    { how: 'leaves with little and returns at once', times: 5 },
  ])('that $how gets no more in the long run than time forgives', async ({ times }) => {
    const { clock, freeloader, node, take, taken, join } = await freeloading();
    const seconds = 60;
    for (let n = 0; n < seconds; n++) {
      for (let again = 0; again < 10; again++) {
        const peer = await join();
        if (peer === undefined) break;
        await take(peer, times);
        await freeloader.host.disconnect(node.id, 'leaving').catch(thrownOut);
        await clock.settle();
      }
      await clock.advance(1_000);
    }
    // What it may leave behind, and a last session.
    expect(taken()).toBeLessThan(BigInt(seconds) * RATE + 4n * LIMIT);
    expect(taken()).toBeGreaterThan(2n * LIMIT);
  });
});

test('a peer that never takes delivery of what was fetched for it is refused', async () => {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const [node, far] = await exchangeNodes(2, { clock, network, radius: FAR_RADIUS, latencyMs: 10 });
  const connected = connect(node!, far!, clock);
  await clock.advance(1_000);
  await connected;
  const handler = async () => undefined;
  const hater = await stranger(9, { clock, network, protocol: PINGPONG, handler });
  const peer = await connect(hater, node!, clock);
  for (let n = 0; n < 200 && !peer.closed.aborted; n++) {
    const chunk = chunkNear(far!, [node!, far!], n);
    far!.store.hold(chunk);
    const stream = await hater.host.open(peer, RETRIEVAL.id, { signal: never });
    await stream.write(Request, { addr: chunk.address });
    await clock.settle();
    stream.reset(new Error('no, thanks'));
    await clock.advance(300);
  }
  expect(node!.host.blocklisted()).toMatchObject([{ overlay: hater.id, reason: 'ghost overdraw' }]);
  expect(node!.host.peers().map(({ overlayHex }) => overlayHex)).toEqual([far!.id]);
});
