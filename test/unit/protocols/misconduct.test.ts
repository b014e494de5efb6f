/** The sender must be disconnected before a flood costs much, and no other peer. */
import { describe, expect, test } from 'vitest';
import { closerTo } from '../../../formats/chunk/address.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { encodeStamp } from '../../../formats/chunk/stamp.ts';
import { HostError, type Peer, StreamError } from '../../../node/p2p/host.ts';
import { MemoryNetwork } from '../../../node/p2p/memory-host.ts';
import { PostageError } from '../../../node/postage/ports.ts';
import { REFUSALS } from '../../../node/protocols/pushsync/rules.ts';
import { Delivery as Parcel, PUSHSYNC, Receipt } from '../../../node/protocols/pushsync/wire.ts';
import { MISSES } from '../../../node/protocols/retrieval/rules.ts';
import { Delivery, RETRIEVAL, Request } from '../../../node/protocols/retrieval/wire.ts';
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
} from './exchange-nodes.ts';
import { ManualClock } from './manual-clock.ts';

const FLOOD = 1_000;
const stamp = encodeStamp(someStamp());
const someChunk = chunkWhere(() => true);

async function world(count: number, radius = 0) {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const nodes = await exchangeNodes(count, { clock, network, radius });
  const mallory = await stranger(9, { clock, network, protocol: PUSHSYNC, handler: async () => undefined });
  return { clock, network, nodes, mallory };
}

async function pushes(from: Stranger, peer: Peer, delivery: object): Promise<string | undefined> {
  try {
    const stream = await from.host.open(peer, PUSHSYNC.id, { signal: never });
    await stream.write(Parcel, delivery);
    return (await stream.read(Receipt)).err;
  } catch (error) {
    if (error instanceof HostError || error instanceof StreamError) return undefined;
    throw error;
  }
}

async function flood(from: Stranger, peer: Peer, deliveries: (n: number) => object): Promise<number> {
  for (let n = 0; n < FLOOD; n++) {
    if (peer.closed.aborted || (await pushes(from, peer, deliveries(n))) === undefined) return n;
  }
  return FLOOD;
}

describe('a flood of deliveries', () => {
  test.each([
    ['that are no chunks', { address: someChunk.address, data: chunkWhere(() => true, 1).data, stamp }],
    ['without stamps', { address: someChunk.address, data: someChunk.data, stamp: new Uint8Array(3) }],
  ])('%s costs the sender its connection and keeps it from returning', async (_what, delivery) => {
    const { clock, nodes, mallory } = await world(1);
    const [node] = nodes as [ExchangeNode];
    expect(await flood(mallory, await connect(mallory, node, clock), () => delivery)).toBeLessThan(20);
    expect(node.host.blocklisted()).toMatchObject([
      { overlay: mallory.id, durationMs: 600_000, reason: expect.stringMatching('misbehaves') as string },
    ]);
    await expect(connect(mallory, node, clock)).rejects.toThrow();
    await clock.advance(600_000);
    expect(
      await pushes(mallory, await connect(mallory, node, clock), {
        ...delivery,
        stamp,
        data: someChunk.data,
      }),
    ).toBe('');
  });

  test('with bad stamps costs the sender its connection before it costs many signatures', async () => {
    const { clock, nodes, mallory } = await world(1);
    const [node] = nodes as [ExchangeNode];
    let signatures = 0;
    node.validate = () => {
      signatures++;
      throw new PostageError('STAMP_INVALID', 'owner mismatch');
    };
    await flood(mallory, await connect(mallory, node, clock), (n) =>
      parcelOf(chunkWhere(() => true, n % 10)),
    );
    expect(signatures).toBeLessThan(200);
    expect(node.host.blocklisted()).toMatchObject([{ overlay: mallory.id }]);
  });

  test.each([
    ['a batch that we do not know yet', new PostageError('BATCH_NOT_FOUND', 'not found')],
    [
      'an index beyond what we know of the batch',
      new PostageError('STAMP_INVALID', 'invalid index', { passing: true }),
    ],
  ])('under %s does not cost the sender its connection', async (_what, error) => {
    const { clock, nodes, mallory } = await world(1);
    const [node] = nodes as [ExchangeNode];
    node.validate = () => {
      throw error;
    };
    const peer = await connect(mallory, node, clock);
    const answered = new Set<number>();
    for (let n = 0; n < FLOOD; n++) {
      void pushes(mallory, peer, parcelOf(someChunk)).then(() => answered.add(n));
      if (n % 50 === 49) await clock.settle();
    }
    expect(answered.size).toBeLessThan(REFUSALS.peer.burst + 100);
    await clock.advance(20_000);
    expect(answered.size).toBe(FLOOD);
    expect(node.host.blocklisted()).toEqual([]);
  });

  test('with bad stamps stops at the forwarder, which keeps its own connection to the storer', async () => {
    const { clock, nodes, mallory } = await world(2, FAR_RADIUS);
    const [one, other] = nodes as [ExchangeNode, ExchangeNode];
    for (const node of nodes) {
      node.validate = () => {
        throw new PostageError('STAMP_INVALID', 'owner mismatch');
      };
    }
    await connect(one, other, clock);
    const theirs = (n: number) =>
      chunkWhere((address) => closerTo(address, other.overlay, one.overlay) < 0, n);
    const [first, second] = [theirs(0), theirs(1)];
    const answered = await flood(mallory, await connect(mallory, one, clock), (n) =>
      parcelOf(n % 2 === 0 ? first : second),
    );
    expect(answered).toBeLessThan(200);
    expect(one.host.blocklisted()).toMatchObject([{ overlay: mallory.id }]);
    expect(other.host.blocklisted()).toEqual([]);
    expect(other.host.peer(one.id)).toBeDefined();
    expect(other.seen.length).toBeLessThan(5);
  });
});

function parcelOf({ address, data }: Chunk) {
  return { address, data, stamp };
}

test('a peer that keeps delivering wrong data is disconnected', async () => {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const [node] = (await exchangeNodes(1, { clock, network, radius: FAR_RADIUS })) as [ExchangeNode];
  let served = 0;
  const liar = await stranger(9, {
    clock,
    network,
    protocol: RETRIEVAL,
    handler: async (stream) => {
      served++;
      await stream.read(Request);
      await stream.write(Delivery, { data: someChunk.data });
    },
  });
  await connect(node, liar, clock);
  for (let n = 1; n < 50; n++) {
    const { address } = chunkWhere(() => true, n);
    await expect(node.retrieval.retrieve(address, { signal: never })).rejects.toThrow();
    await clock.settle();
  }
  expect(served).toBeLessThan(20);
  expect(node.host.blocklisted()).toMatchObject([{ overlay: liar.id }]);
});

test('requests for chunks that no node has are searched for at a bounded rate, and cost no connection', async () => {
  const { clock, nodes, mallory } = await world(2, FAR_RADIUS);
  const [one, other] = nodes as [ExchangeNode, ExchangeNode];
  await connect(one, other, clock);
  const peer = await connect(mallory, one, clock);
  let answered = 0;
  const ask = async (n: number) => {
    const stream = await mallory.host.open(peer, RETRIEVAL.id, { signal: never });
    await stream.write(Request, { addr: new Uint8Array(32).fill(n + 1, 0, 2).fill(1, 2) });
    await stream.read(Delivery);
    answered++;
  };
  const asked = async (count: number) => {
    for (let n = 0; n < count; n++) {
      void ask(n % 200);
      if (n % 50 === 0) await clock.settle();
    }
    await clock.settle();
  };
  const all = MISSES.peer.burst + 10 * MISSES.peer.perSecond;
  await asked(all);
  const atOnce = answered;
  // The first burst, and what was under way then.
  expect(atOnce).toBeLessThan(MISSES.peer.burst + 100);
  await clock.advance(3_000);
  expect(answered - atOnce).toBeLessThan(5 * MISSES.peer.perSecond);
  await clock.advance(20_000);
  expect(answered).toBe(all);
  expect(peer.closed.aborted).toBe(false);
});
