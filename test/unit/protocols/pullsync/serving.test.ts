import { describe, expect, test } from 'vitest';
import { encodeMessage } from '../../../../node/p2p/codec/codec.ts';
import type { MessageOf } from '../../../../node/p2p/codec/message.ts';
import type { MessageStream } from '../../../../node/p2p/host.ts';
import {
  Ack,
  CURSORS,
  Get,
  KNOWN_HEADER,
  Known,
  Offer,
  PULLSYNC,
  Syn,
} from '../../../../node/protocols/pullsync/wire.ts';
import { never } from '../exchange-nodes.ts';
import { chunksInBin, fill, metric, offered, outcome } from './pull-nodes.ts';
import { another, served } from './serving-kit.ts';

const DAY_MS = 86_400_000;

test('the cursors are the highest bin id of each of 32 bins, with the epoch of the reserve', async () => {
  const { clock, node, client, peer } = await served({ filled: 3, bin: 2 });
  await fill(node, chunksInBin(node.overlay, 0, 1));
  const stream = await client.host.open(peer, CURSORS.id, { signal: never });
  await stream.write(Syn, {});
  const { cursors, epoch } = await stream.read(Ack);
  expect(cursors).toEqual(Array.from({ length: 32 }, (_, bin) => ({ 0: 1n, 2: 3n })[bin] ?? 0n));
  expect(epoch).toBe(BigInt(Math.floor(clock.now() / 1000)));
  await stream.close();
});

describe('a peer that says which cursors it knows', () => {
  const NOTHING = { cursors: [], epoch: 0n, from: 0, to: 31 };
  const OUTDATED = { ...NOTHING, epoch: 1n };

  /** The question is for what is beyond them. */
  async function told(filled = 0) {
    const context = await served({ filled });
    const { clock } = context;
    const ask = async (
      known: MessageOf<typeof Known>,
      by: Pick<typeof context, 'client' | 'peer'> = context,
    ) => {
      const headers = new Map([[KNOWN_HEADER, encodeMessage(Known, known)]]);
      const stream = await by.client.host.open(by.peer, CURSORS.id, { signal: never, headers });
      await stream.write(Syn, {});
      await clock.settle();
      return stream;
    };
    await clock.advance(1000);
    const stream = await ask(filled === 0 ? OUTDATED : NOTHING);
    const { cursors, epoch } = await stream.read(Ack);
    await stream.close();
    return { ...context, ask, told: stream, known: { cursors, epoch, from: 0, to: 31 } };
  }

  test('is told at once what it does not know, and that the node waits', async () => {
    const { told: stream, known, node } = await told(2);
    expect(known).toMatchObject({ cursors: node.store.reserve.lastBinIds() });
    expect(stream.headers.has(KNOWN_HEADER)).toBe(true);
  });

  test('is told at once in the middle of a burst if it knows nothing yet, and not before its end otherwise', async () => {
    const { clock, node, ask, known } = await told(1);
    await fill(node, chunksInBin(node.overlay, 3, 1));
    const [fresh, older] = [outcome((await ask(NOTHING)).read(Ack)), outcome((await ask(known)).read(Ack))];
    await clock.settle();
    expect([fresh.value?.cursors[3], older.value]).toEqual([1n, undefined]);
    await clock.advance(100);
    expect(older.value?.cursors[3]).toBe(1n);
  });

  test('is told nothing of an empty reserve while it knows nothing itself', async () => {
    const { clock, node, ask } = await told();
    const ack = outcome((await ask(NOTHING)).read(Ack));
    await clock.advance(10_000);
    expect(ack).toEqual({});
    await fill(node, chunksInBin(node.overlay, 4, 1));
    await clock.advance(100);
    expect(ack.value).toEqual({
      cursors: node.store.reserve.lastBinIds(),
      epoch: node.store.reserve.epoch(),
    });
  });

  test('is not told that the node waits unless it has asked for it', async () => {
    const { client, peer } = await told();
    const stream = await client.host.open(peer, CURSORS.id, { signal: never });
    await stream.write(Syn, {});
    await stream.read(Ack);
    expect(stream.headers.size).toBe(0);
  });

  test('is told of a put a tenth of a second after the last put', async () => {
    const { clock, node, ask, known } = await told();
    const ack = outcome((await ask(known)).read(Ack));
    await clock.advance(10_000);
    for (const bin of [0, 3, 9]) {
      await fill(node, chunksInBin(node.overlay, bin, 1));
      await clock.advance(99);
      expect(ack).toEqual({});
    }
    await clock.advance(1);
    expect(ack.value?.cursors).toEqual(node.store.reserve.lastBinIds());
    expect(ack.value?.cursors[9]).toBe(1n);
  });

  test('is told once a second while puts keep coming', async () => {
    const { clock, node, ask, known } = await told();
    const ack = outcome((await ask(known)).read(Ack));
    for (const chunk of chunksInBin(node.overlay, 0, 20)) {
      expect(ack).toEqual({});
      await fill(node, [chunk]);
      await clock.advance(50);
    }
    expect(ack.value?.cursors[0]).toBe(20n);
  });

  describe('beside others that wait', () => {
    /** While an entry of bin 0 comes every 50 ms. */
    async function toldAfter(others: { from?: number; to?: number; samePeer?: boolean; leaving?: boolean }) {
      const context = await told();
      const { clock, node, ask, known } = context;
      const ack = outcome((await ask(known)).read(Ack));
      const streams: MessageStream[] = [];
      for (let n = 10; n < 15; n++) {
        const about = { ...known, ...others };
        const by = others.samePeer === true ? undefined : await another(n, node, context);
        streams.push(await ask(about, by));
      }
      const startedAt = clock.now();
      for (const [at, chunk] of chunksInBin(node.overlay, 0, 60).entries()) {
        if (others.leaving === true && at === 10) for (const one of streams) one.reset(new Error('gone'));
        await fill(node, [chunk]);
        await clock.advance(50);
        if (ack.value !== undefined) break;
      }
      return clock.now() - startedAt;
    }

    test('is told again only some time after the last time', async () => {
      const context = await told();
      const { clock, node, ask, known } = context;
      const chunks = chunksInBin(node.overlay, 0, 2);
      for (let n = 10; n < 16; n++) await ask(known, await another(n, node, context));
      const first = outcome((await ask(known)).read(Ack));
      await fill(node, [chunks[0]!]);
      await clock.advance(100);
      const now = { ...known, cursors: first.value!.cursors };
      for (let n = 16; n < 22; n++) await ask(now, await another(n, node, context));
      const second = outcome((await ask(now)).read(Ack));
      await fill(node, [chunks[1]!]);
      // Three peers more than four.
      await clock.advance(3 * 450 - 1);
      expect(second).toEqual({});
      await clock.advance(1);
      expect(second.value?.cursors[0]).toBe(2n);
    });

    test.each([
      ['later when they are to be told as well', {}, 1900],
      ['as if alone when they wait for other bins', { from: 1, to: 31 }, 1000],
      ['as if alone when they wait for none', { from: 1, to: 0 }, 1000],
      ['as if alone when they are streams of one peer', { samePeer: true }, 1000],
      ['as if alone once they have left', { leaving: true }, 1000],
    ])('is told %s', async (_when, others, ms) => {
      expect(await toldAfter(others)).toBe(ms);
    });
  });

  test('is told again what got lost on the way', async () => {
    const { clock, node, ask, known } = await told();
    const lost = await ask(known);
    await fill(node, chunksInBin(node.overlay, 0, 1));
    lost.reset(new Error('lost'));
    await clock.advance(1000);
    const ack = outcome((await ask(known)).read(Ack));
    await clock.settle();
    expect(ack.value?.cursors[0]).toBe(1n);
  });

  test('is told at once of a different epoch, and of a cursor that is lower', async () => {
    const { clock, ask, known } = await told(1);
    const epoch = outcome((await ask({ ...known, epoch: known.epoch - 1n })).read(Ack));
    const cursor = outcome((await ask({ ...known, cursors: known.cursors.map((c) => c + 5n) })).read(Ack));
    await clock.settle();
    expect([epoch.value?.epoch, cursor.value?.cursors[0]]).toEqual([known.epoch, 1n]);
  });

  test('is not told of bins that it does not pull', async () => {
    const { clock, node, ask, known } = await told();
    const ack = outcome((await ask({ ...known, from: 3, to: 5 })).read(Ack));
    await fill(node, chunksInBin(node.overlay, 2, 1));
    await fill(node, chunksInBin(node.overlay, 6, 1));
    await clock.advance(10_000);
    expect(ack).toEqual({});
    await fill(node, chunksInBin(node.overlay, 5, 1));
    await clock.advance(100);
    expect(ack.value?.cursors[5]).toBe(1n);
  });

  test('is answered after five minutes without news', async () => {
    const { clock, ask, known } = await told();
    const ack = outcome((await ask(known)).read(Ack));
    await clock.advance(299_999);
    expect(ack).toEqual({});
    await clock.advance(1);
    expect(ack.value).toEqual({ cursors: known.cursors, epoch: known.epoch });
  });

  test('makes room for other streams when it gives up', async () => {
    const { clock, ask, known } = await told();
    const streams: MessageStream[] = [];
    for (let i = 0; i < CURSORS.inboundStreamsMax; i++) streams.push(await ask(known));
    await expect(ask(known)).rejects.toMatchObject({ code: 'STREAM_RESET' });
    for (const stream of streams) stream.reset(new Error('gone'));
    await clock.settle();
    await expect(ask(known)).resolves.toBeDefined();
  });

  test('gets no answer to an invalid question', async () => {
    const { clock, client, peer } = await told();
    const headers = new Map([[KNOWN_HEADER, Uint8Array.of(0xff)]]);
    const stream = await client.host.open(peer, CURSORS.id, { signal: never, headers });
    await stream.write(Syn, {});
    const ack = outcome(stream.read(Ack));
    await clock.settle();
    expect(ack.error).toMatchObject({ code: 'STREAM_RESET' });
  });
});

test('an offer names the entries from the start, in the order of their ids, and the last id', async () => {
  const { clock, chunks, ask } = await served({ filled: 5 });
  const stream = await ask(3n);
  await clock.advance(1000);
  expect(await stream.read(Offer)).toEqual({ topmost: 5n, chunks: chunks.slice(2).map(offered) });
});

test('250 entries are offered at once, the rest in the next page', async () => {
  const { clock, node, chunks, ask } = await served({ filled: 260 });
  const first = await (await ask(1n)).read(Offer);
  expect([first.chunks.length, first.topmost]).toEqual([250, 250n]);
  const rest = await ask(251n);
  await clock.advance(1000);
  expect(await rest.read(Offer)).toEqual({ topmost: 260n, chunks: chunks.slice(250).map(offered) });
  expect(await metric(node, 'pullsync_chunks_sent_offered')).toBe(260);
});

test('a request for entries that do not exist yet waits as long as it takes', async () => {
  const { clock, node, ask } = await served({ filled: 2 });
  const stream = await ask(3n);
  const offer = outcome(stream.read(Offer));
  await clock.advance(30 * DAY_MS);
  expect(offer).toEqual({});
  const [, , third] = chunksInBin(node.overlay, 0, 3);
  await fill(node, [third!]);
  await clock.advance(1000);
  expect(offer.value).toEqual({ topmost: 3n, chunks: [offered(third!)] });
});

test('entries of other bins, and ids below the start, do not end the wait', async () => {
  const { clock, node, ask } = await served();
  const offer = outcome((await ask(3n)).read(Offer));
  await fill(node, chunksInBin(node.overlay, 1, 5));
  await fill(node, chunksInBin(node.overlay, 0, 2));
  await clock.advance(DAY_MS);
  expect(offer).toEqual({});
});

test('a page is closed a tenth of a second after its last entry', async () => {
  const { clock, node, ask } = await served();
  const offer = outcome((await ask(1n)).read(Offer));
  const chunks = chunksInBin(node.overlay, 0, 4);
  for (const chunk of chunks.slice(0, 3)) {
    await fill(node, [chunk]);
    await clock.advance(99);
  }
  expect(offer).toEqual({});
  await clock.advance(1);
  expect(offer.value?.chunks).toEqual(chunks.slice(0, 3).map(offered));
});

test('a page whose bin keeps getting entries is closed half a second after its first one', async () => {
  const { clock, node, ask } = await served();
  const offer = outcome((await ask(1n)).read(Offer));
  for (const chunk of chunksInBin(node.overlay, 0, 10)) {
    await fill(node, [chunk]);
    await clock.advance(50);
    if (chunk.stamp.index[7] !== 9) expect(offer).toEqual({});
  }
  expect(offer.value?.topmost).toBe(10n);
});

test('a page stays open while other bins get entries, for an upload fills all of them', async () => {
  const { clock, node, ask } = await served();
  const offer = outcome((await ask(1n)).read(Offer));
  const [first] = chunksInBin(node.overlay, 0, 1);
  await fill(node, [first!]);
  for (const chunk of chunksInBin(node.overlay, 1, 3)) {
    await clock.advance(99);
    await fill(node, [chunk]);
  }
  await clock.advance(99);
  expect(offer).toEqual({});
  await clock.advance(1);
  expect(offer.value?.chunks).toEqual([offered(first!)]);
});

test('a page is closed half a second after it began, whatever other bins get', async () => {
  const { clock, node, ask } = await served({ filled: 3 });
  const offer = outcome((await ask(1n)).read(Offer));
  for (const chunk of chunksInBin(node.overlay, 1, 5)) {
    expect(offer).toEqual({});
    await fill(node, [chunk]);
    await clock.advance(99);
  }
  expect(offer).toEqual({});
  await fill(node, chunksInBin(node.overlay, 2, 1));
  await clock.advance(5);
  expect(offer.value?.topmost).toBe(3n);
});

test('entries are offered at once when the reserve has been quiet', async () => {
  const { clock, node, ask } = await served({ filled: 3 });
  await clock.advance(100);
  const offer = outcome((await ask(1n)).read(Offer));
  await clock.settle();
  expect(offer.value?.topmost).toBe(3n);
  const again = outcome((await ask(4n)).read(Offer));
  await fill(node, chunksInBin(node.overlay, 0, 4).slice(3));
  await clock.advance(99);
  expect(again).toEqual({});
});

test('a page that fills while it waits is closed at once', async () => {
  const { clock, node, ask } = await served({ filled: 249 });
  const offer = outcome((await ask(1n)).read(Offer));
  await clock.advance(50);
  expect(offer).toEqual({});
  await fill(node, chunksInBin(node.overlay, 0, 251).slice(249));
  await clock.settle();
  expect(offer.value?.topmost).toBe(250n);
});

test('all peers that ask for the same entries share one collection', async () => {
  const context = await served({ filled: 2 });
  const { clock, node, ask } = context;
  let looks = 0;
  node.reserve.items = (...given) => {
    looks++;
    return node.store.reserve.items(...given);
  };
  const { client, peer } = await another(3, node, context);
  const other = await client.host.open(peer, PULLSYNC.id, { signal: never });
  await other.write(Get, { bin: 0, start: 1n });
  const offers = [outcome((await ask(1n)).read(Offer)), outcome(other.read(Offer))];
  await clock.advance(1000);
  expect(offers.map(({ value }) => value?.topmost)).toEqual([2n, 2n]);
  expect(looks).toBe(2);
});

test('a peer that leaves does not end a collection that another peer waits for', async () => {
  const context = await served();
  const { clock, node, ask } = context;
  const { client, peer } = await another(3, node, context);
  const other = await client.host.open(peer, PULLSYNC.id, { signal: never });
  await other.write(Get, { bin: 0, start: 1n });
  const offer = outcome((await ask(1n)).read(Offer));
  other.reset(new Error('gone'));
  await clock.settle();
  await fill(node, chunksInBin(node.overlay, 0, 1));
  await clock.advance(1000);
  expect(offer.value?.topmost).toBe(1n);
});

test.each([
  ['resets its stream', (stream: MessageStream) => stream.reset(new Error('gone'))],
  ['closes its stream', (stream: MessageStream) => void outcome(stream.close())],
])('a peer that %s while it waits makes room for other streams', async (_how, leave) => {
  const { clock, ask } = await served();
  const streams: MessageStream[] = [];
  for (let i = 0; i < PULLSYNC.inboundStreamsMax; i++) streams.push(await ask(1n));
  await expect(ask(1n)).rejects.toMatchObject({ code: 'STREAM_RESET' });
  for (const stream of streams) leave(stream);
  await clock.settle();
  await expect(ask(1n)).resolves.toBeDefined();
});

test('a collection ends with the connection of the last peer that waits for it', async () => {
  const { clock, node, client, ask } = await served();
  const offer = outcome((await ask(1n)).read(Offer));
  let looks = 0;
  node.reserve.items = (...given) => {
    looks++;
    return node.store.reserve.items(...given);
  };
  await client.host.disconnect(node.id, 'enough');
  await clock.settle();
  expect(offer.error).toMatchObject({ code: 'STREAM_RESET' });
  await fill(node, chunksInBin(node.overlay, 0, 1));
  await clock.advance(5000);
  expect(looks).toBe(0);
});

test('collections end when the node stops', async () => {
  const { clock, node, ask } = await served();
  const offer = outcome((await ask(1n)).read(Offer));
  await node.host.stop();
  await clock.settle();
  expect(offer.error).toMatchObject({ code: 'STREAM_RESET' });
});
