/** Pull syncing 2.0.0: two payloads under one address, who speaks it, and what it refuses. `p2p-protocols.md` 4.11. */
import { describe, expect, test } from 'vitest';
import { proximityOrder } from '../../../../formats/chunk/address.ts';
import { makeCac } from '../../../../formats/chunk/cac.ts';
import { signSoc, wrappedAddressOf } from '../../../../formats/chunk/soc.ts';
import { type Stamp, stampHash } from '../../../../formats/chunk/stamp.ts';
import { chunkSum } from '../../../../formats/chunk/sum.ts';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { createSigner } from '../../../../formats/crypto/signer.ts';
import type { MessageStream } from '../../../../node/p2p/host.ts';
import { MemoryNetwork } from '../../../../node/p2p/memory-host.ts';
import {
  CURSORS,
  CURSORS_2,
  Delivery,
  Get,
  Offer,
  PULLSYNC,
  PULLSYNC_2,
  SummedOffer,
  Want,
} from '../../../../node/protocols/pullsync/wire.ts';
import { connect, never, stranger } from '../exchange-nodes.ts';
import { ManualClock } from '../manual-clock.ts';
import {
  chunksInBin,
  delivered,
  fill,
  holds,
  metric,
  offered,
  outcome,
  type PullNode,
  pullNode,
  type Stamped,
  stampNo,
} from './pull-nodes.ts';

const OWNER = createSigner(new Uint8Array(32).fill(3));
const NOTHING = new Uint8Array();

/** Always at the same address. */
function owned(content: string) {
  const payload = new TextEncoder().encode(content);
  return signSoc(new Uint8Array(32), makeCac(BigInt(payload.length), payload).data, OWNER);
}

/** Payloads by their wrapped addresses, lowest first. */
const [LOW, HIGH] = ['one', 'other']
  .map(owned)
  .sort((a, b) => Buffer.compare(wrappedAddressOf(a.data), wrappedAddressOf(b.data))) as [
  Stamped['chunk'],
  Stamped['chunk'],
];
const ADDRESS = LOW.address;

function ofBatch(batch: number, timestamp: number): Stamp {
  return { ...stampNo(1, timestamp), batchId: new Uint8Array(32).fill(batch) };
}

function sumOf({ chunk, stamp }: Stamped): Uint8Array {
  const wrapped = chunk.kind === 'soc' ? wrappedAddressOf(chunk.data) : NOTHING;
  return chunkSum(stamp.batchId, stampHash(stamp), wrapped);
}

function summed(stamped: Stamped) {
  return { address: stamped.chunk.address, sum: sumOf(stamped) };
}

function payloadAt({ store }: PullNode): string {
  return toHex(store.chunks.get(ADDRESS)!.data);
}

async function neighbours(count: number, bySum: boolean) {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const nodes: PullNode[] = [];
  for (let n = 1; n <= count; n++) nodes.push(await pullNode(n, { clock, network, bySum }));
  for (const [n, node] of nodes.entries())
    for (const other of nodes.slice(0, n)) await connect(node, other, clock);
  const next = new Map<string, bigint>();
  /** What it has not seen. @returns pages */
  const round = async (): Promise<number> => {
    const pages = nodes.flatMap((to) =>
      to.host.peers().flatMap((peer) => {
        const from = nodes.find(({ id }) => id === peer.overlayHex)!;
        const bin = proximityOrder(from.overlay, ADDRESS);
        const key = `${to.id}-${from.id}`;
        const start = next.get(key) ?? 1n;
        if (from.store.reserve.lastBinIds()[bin]! < start) return [];
        return [{ key, page: outcome(to.pullsync.sync(peer, bin, start, never)) }];
      }),
    );
    await clock.advance(2_000);
    for (const { key, page } of pages) {
      expect(page).toMatchObject({ value: { errors: [] } });
      next.set(key, page.value!.topmost + 1n);
    }
    return pages.length;
  };
  const settle = async () => {
    for (let rounds = 0; (await round()) > 0; rounds++) expect(rounds).toBeLessThan(20);
  };
  return { clock, network, nodes, settle };
}

describe('two payloads under one address', () => {
  const CASES: readonly (readonly [string, readonly [Stamped, Stamped], Stamped['chunk']])[] = [
    [
      'and one stamp',
      [
        { chunk: HIGH, stamp: ofBatch(1, 5) },
        { chunk: LOW, stamp: ofBatch(1, 5) },
      ],
      LOW,
    ],
    [
      'under stamps of two batches',
      [
        { chunk: HIGH, stamp: ofBatch(1, 6) },
        { chunk: LOW, stamp: ofBatch(2, 5) },
      ],
      HIGH,
    ],
  ];

  test.each(CASES)('%s: all nodes end with the same one', async (_what, [one, other], kept) => {
    const { nodes, settle } = await neighbours(4, true);
    await fill(nodes[0]!, [one]);
    await fill(nodes[1]!, [other]);
    await settle();
    expect(new Set(nodes.map(payloadAt))).toEqual(new Set([toHex(kept.data)]));
    expect(nodes.map((node) => [one, other].filter((stamped) => holds(node, stamped)).length)).toEqual([
      2, 2, 2, 2,
    ]);
  });

  test('and one stamp: in 1.4.0 each is there already where the other one is', async () => {
    const [, [one, other]] = CASES[0]!;
    const { nodes, settle } = await neighbours(4, false);
    await fill(nodes[0]!, [one]);
    await fill(nodes[1]!, [other]);
    await settle();
    expect(new Set(nodes.map(payloadAt))).toEqual(new Set([LOW, HIGH].map(({ data }) => toHex(data))));
  });
});

describe('the version is', () => {
  async function pair(server: boolean, client: boolean) {
    const clock = new ManualClock();
    const network = new MemoryNetwork();
    const [from, to] = [
      await pullNode(1, { clock, network, bySum: server }),
      await pullNode(2, { clock, network, bySum: client }),
    ];
    const opened: string[] = [];
    const open = to.host.open.bind(to.host);
    to.host.open = (peer, id, options) => {
      opened.push(id);
      return open(peer, id, options);
    };
    const chunks = chunksInBin(from.overlay, 1, 3);
    await fill(from, chunks);
    const peer = await connect(to, from, clock);
    expect((await to.pullsync.cursors(peer, never)).cursors[1]).toBe(3n);
    const page = outcome(to.pullsync.sync(peer, 1, 1n, never));
    await clock.advance(2_000);
    expect(page.value).toEqual({ topmost: 3n, count: 3, errors: [] });
    expect(chunks.filter((chunk) => !holds(to, chunk))).toEqual([]);
    expect((await to.pullsync.cursors(peer, never)).cursors[1]).toBe(3n);
    return opened;
  }

  test('2.0.0 between nodes that both have it', async () => {
    expect(await pair(true, true)).toEqual([CURSORS_2.id, PULLSYNC_2.id, CURSORS_2.id]);
  });

  test('1.4.0 with a peer that has no other, which is asked for 2.0.0 once', async () => {
    expect(await pair(false, true)).toEqual([CURSORS_2.id, CURSORS.id, PULLSYNC.id, CURSORS.id]);
  });

  test('1.4.0 where the option is off', async () => {
    expect(await pair(true, false)).toEqual([CURSORS.id, PULLSYNC.id, CURSORS.id]);
  });
});

async function pulling(handler: (stream: MessageStream) => Promise<void>) {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const node = await pullNode(1, { clock, network, bySum: true });
  const other = await stranger(2, { clock, network, protocol: PULLSYNC_2, handler });
  const peer = await connect(node, other, clock);
  return { node, sync: () => node.pullsync.sync(peer, 0, 1n, never) };
}

function offering(chunks: readonly { address: Uint8Array; sum: Uint8Array }[], topmost = 1n) {
  return async (stream: MessageStream) => {
    await stream.read(Get);
    await stream.write(SummedOffer, { topmost, chunks: [...chunks] });
  };
}

test.each([
  ['a sum of 15 bytes', { sum: new Uint8Array(15) }, 'inconsistent sum length: 15 bytes, expected 16'],
  ['a sum of 32 bytes', { sum: new Uint8Array(32) }, 'inconsistent sum length: 32 bytes, expected 16'],
  ['no sum', { sum: NOTHING }, 'inconsistent sum length: 0 bytes, expected 16'],
  [
    'an address of 31 bytes',
    { address: new Uint8Array(31) },
    'inconsistent hash length: 31 bytes, expected 32',
  ],
])('an offer with %s is refused', async (_what, wrong, message) => {
  const good = { address: new Uint8Array(32).fill(1), sum: new Uint8Array(16).fill(1) };
  const { sync } = await pulling(offering([good, { ...good, ...wrong }]));
  await expect(sync()).rejects.toMatchObject({ code: 'OFFER_INVALID', message });
});

test('an offer of 1.4.0 on a stream of 2.0.0 is refused', async () => {
  const { sync } = await pulling(async (stream) => {
    await stream.read(Get);
    const [chunk] = chunksInBin(stream.peer.overlay, 0, 1);
    await stream.write(Offer, { topmost: 1n, chunks: [offered(chunk!)] });
  });
  await expect(sync()).rejects.toMatchObject({ code: 'OFFER_INVALID' });
});

test('an offer without entries ends the conversation, and one that ends before it begins is refused', async () => {
  const empty = await pulling(offering([], 7n));
  expect(await empty.sync()).toEqual({ topmost: 7n, count: 0, errors: [] });
  const good = { address: new Uint8Array(32).fill(1), sum: new Uint8Array(16).fill(1) };
  const backwards = await pulling(offering([good], 0n));
  await expect(backwards.sync()).rejects.toMatchObject({ code: 'OFFER_INVALID' });
});

test('an offer beyond the size of a message is refused', async () => {
  const entry = { address: new Uint8Array(32).fill(1), sum: new Uint8Array(16).fill(1) };
  const { sync } = await pulling(offering(Array.from({ length: 2_600 }, () => entry)));
  await expect(sync()).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE' });
});

test('a payload other than the one that was offered is unsolicited, and counts against the peer', async () => {
  const stamp = ofBatch(1, 5);
  const { node, sync } = await pulling(async (stream) => {
    await offering([summed({ chunk: LOW, stamp })])(stream);
    await stream.read(Want);
    await stream.write(Delivery, delivered({ chunk: HIGH, stamp }));
  });
  const blamed: string[] = [];
  node.host.misbehaved = (_peer, reason) => void blamed.push(reason);
  expect(await sync()).toMatchObject({ topmost: 1n, count: 0, errors: [{ code: 'CHUNK_UNSOLICITED' }] });
  expect(blamed).toEqual(['peer sent unsolicited chunk']);
  expect(node.store.reserve.size()).toBe(0);
});

async function serving(stamped: readonly Stamped[]) {
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const node = await pullNode(1, { clock, network, bySum: true });
  await fill(node, stamped);
  const client = await stranger(2, {
    clock,
    network,
    protocol: PULLSYNC_2,
    handler: () => Promise.resolve(),
  });
  const peer = await connect(client, node, clock);
  const ask = async (start: bigint) => {
    const stream = await client.host.open(peer, PULLSYNC_2.id, { signal: never });
    await stream.write(Get, { bin: proximityOrder(node.overlay, ADDRESS), start });
    await clock.advance(2_000);
    return { stream, offer: await stream.read(SummedOffer) };
  };
  return { node, ask };
}

test('a payload that was replaced since it was offered has left, and its successor is offered', async () => {
  const stamp = ofBatch(1, 5);
  const under = (chunk: Stamped['chunk']) => ({ chunk, stamp });
  const { node, ask } = await serving([under(HIGH)]);
  const { stream, offer } = await ask(1n);
  expect(offer).toEqual({ topmost: 1n, chunks: [summed(under(HIGH))] });
  await fill(node, [under(LOW)]);
  await stream.write(Want, { bitVector: Uint8Array.of(1) });
  expect((await stream.read(Delivery)).address).toHaveLength(0);
  expect(await metric(node, 'pullsync_missing_chunks')).toBe(1);
  expect((await ask(2n)).offer).toEqual({ topmost: 2n, chunks: [summed(under(LOW))] });
});

test('entries under other stamps are offered anew when their chunk has another payload', async () => {
  const [old, fresh] = [
    { chunk: HIGH, stamp: ofBatch(1, 5) },
    { chunk: LOW, stamp: ofBatch(2, 6) },
  ];
  const { ask } = await serving([old, fresh]);
  expect((await ask(1n)).offer).toEqual({
    topmost: 3n,
    chunks: [summed({ ...old, chunk: LOW }), summed(fresh)],
  });
});

test('the sum of a content-addressed chunk is that of batch and stamp', async () => {
  const { node, ask } = await serving([]);
  const bin = proximityOrder(node.overlay, ADDRESS);
  const [plain] = chunksInBin(node.overlay, bin, 1) as [Stamped];
  await fill(node, [plain]);
  expect((await ask(1n)).offer.chunks).toEqual([summed(plain)]);
});
