import { expect, test } from 'vitest';
import type { Chunk } from '../../../../../formats/chunk/chunk.ts';
import { toHex } from '../../../../../formats/crypto/hex.ts';
import { HarnessError } from '../../../../../harness/base/errors.ts';
import { ClientError } from '../../../../../harness/client/errors.ts';
import { type TraceDocument, trace } from '../../../../../harness/inspect/trace/document.ts';
import { traceText } from '../../../../../harness/inspect/trace/text.ts';
import type { TracedNode } from '../../../../../harness/inspect/trace/witnesses.ts';
import { ChunkEvents } from '../../../../../node/env/chunk-events.ts';
import { split } from '../../../../../node/files/splitter.ts';
import { ManualClock } from '../../../protocols/manual-clock.ts';

const SIGNAL = new AbortController().signal;
const STYLE = { width: 100, colour: false, live: false };
const time = { now: 0 };

interface Fake {
  readonly name: string;
  /** First byte of its overlay. */
  readonly overlay: number;
  readonly holds?: readonly Chunk[];
  readonly radius?: number;
  readonly events?: ChunkEvents | 'unknown' | 'off';
  readonly state?: TracedNode['state'];
  readonly mode?: TracedNode['mode'];
  readonly failure?: Error;
}

const notFound = new ClientError('not found', {
  class: 'http.404',
  method: 'GET',
  path: '/chunk-events',
  node: 'bee-0',
  status: 404,
});

function node(fake: Fake): TracedNode {
  const { events = 'off', holds = [] } = fake;
  const held = new Map(holds.map((chunk) => [toHex(chunk.address), chunk.data]));
  const client = {
    clock: new ManualClock(),
    async status() {
      if (fake.failure !== undefined) throw fake.failure;
      return { storageRadius: fake.radius ?? 1 };
    },
    async chunkEvents({
      address,
      after = 0,
      limit = 1000,
    }: {
      address?: string;
      after?: number;
      limit?: number;
    }) {
      if (events === 'unknown') throw notFound;
      if (events === 'off') return { events: [], last: 0, lost: 0, capacity: 0 };
      const wanted = address === undefined ? {} : { address: Buffer.from(address, 'hex') };
      return { ...events.page({ ...wanted, after, limit }), capacity: events.capacity };
    },
    chunks: {
      has: async (address: string) => held.has(address),
      download: async (address: string) => held.get(address),
    },
  };
  return {
    name: fake.name,
    overlay: overlayOf(fake.overlay),
    flavour: events === 'unknown' ? 'bee' : 'svc',
    mode: fake.mode ?? 'full',
    state: fake.state ?? 'running',
    client,
  } as unknown as TracedNode;
}

const overlayOf = (first: number) => first.toString(16).padStart(2, '0').padEnd(64, '0');
const ring = (capacity = 100) =>
  new ChunkEvents(capacity, { now: () => time.now, monotonic: () => time.now });

async function chunksOf(length: number): Promise<{ reference: string; chunks: Chunk[] }> {
  const chunks: Chunk[] = [];
  const data = Buffer.alloc(length).map((_, i) => (i * 7 + (i >> 12)) % 251);
  const { reference } = await split(
    (async function* () {
      yield new Uint8Array(data);
    })(),
    { put: async (chunk) => void chunks.push(chunk) },
  );
  return { reference: toHex(reference), chunks };
}

function traced(reference: string, fakes: readonly Fake[], chunks = 1): Promise<TraceDocument> {
  return trace({ name: 'net', began: 0, reference, nodes: fakes.map(node), chunks, signal: SIGNAL });
}

test('copies are counted per chunk, and chunks that no node has are listed with the nodes that should have them', async () => {
  const { reference, chunks } = await chunksOf(3 * 4096);
  const [lost, some, ...all] = chunks as [Chunk, Chunk, ...Chunk[]];
  const document = await traced(
    reference,
    [
      { name: 'a', overlay: 0x00, holds: [some, ...all], radius: 0 },
      { name: 'b', overlay: 0x80, holds: all, radius: 0 },
    ],
    4,
  );
  expect(document.content).toMatchObject({
    chunks: 4,
    found: 3,
    missing: [toHex(lost.address)],
    unread: null,
    copies: [
      { copies: 2, chunks: 2 },
      { copies: 1, chunks: 1 },
      { copies: 0, chunks: 1 },
    ],
    slowest: [],
  });
  expect(document.chunks.map(({ chunk }) => chunk)[0]).toBe(reference);
  const { belongs } = document.chunks.find(({ holders }) => holders.length === 0)!;
  expect(belongs.map(({ holds }) => holds)).toEqual([false, false]);
  const page = traceText(document, { style: STYLE, width: 100 }).join('\n');
  expect(page).toContain('3 of 4 found');
  expect(page).toContain('2 chunks on 2 nodes, 1 chunk on 1 node, 1 chunk nowhere');
  expect(page).toContain(`missing     ${toHex(lost.address)}`);
});

test('a lost intermediate chunk hides the chunks below it', async () => {
  const { reference, chunks } = await chunksOf(130 * 4096);
  // 128 leaves under one intermediate chunk, two under another.
  const intermediate = chunks.filter(({ data }) => data.length === 4104 && data[2]! >= 8)[0]!;
  const held = chunks.filter((chunk) => chunk !== intermediate);
  const { content } = await traced(reference, [{ name: 'a', overlay: 0, holds: held }]);
  expect(content.missing).toEqual([toHex(intermediate.address)]);
  expect(content.chunks).toBeLessThan(10);
  expect(content.found).toBe(content.chunks - 1);
});

test('nodes that are down, silent, without events, forgetful or foreign are named', async () => {
  const { reference, chunks } = await chunksOf(100);
  const forgetful = ring(2);
  for (let n = 0; n < 5; n++) forgetful.add('queued', chunks[0]!.address);
  const document = await traced(reference, [
    { name: 'down', overlay: 0x00, state: 'stopped' },
    { name: 'stuck', overlay: 0x10, failure: new Error('stuck: GET /status: no answer') },
    { name: 'plain', overlay: 0x20, events: 'off' },
    { name: 'bee-0', overlay: 0x30, events: 'unknown', holds: chunks },
    { name: 'forgetful', overlay: 0x40, events: forgetful },
    { name: 'light', overlay: 0x50, events: ring(), mode: 'light', radius: 0 },
  ]);
  expect(document.notes).toEqual([
    'down was not asked: it is stopped',
    'stuck was not asked: stuck: GET /status: no answer',
    'plain keeps no chunk events, so part of the route is not known; start the cluster with svcnet up --trace, or set the node option chunk-events',
    "bee-0 reports nothing of a chunk's route, only whether the local store holds it; to read the route from messages, start the cluster with svcnet up --tap",
    'forgetful has lost its oldest 3 events: it keeps 2 (node option chunk-events)',
  ]);
  expect(document.nodes.map(({ name, storageRadius, events }) => [name, storageRadius, events])).toEqual([
    ['down', null, null],
    ['stuck', null, null],
    ['plain', 1, { capacity: 0, lost: 0 }],
    ['bee-0', 1, null],
    ['forgetful', 1, { capacity: 2, lost: 3 }],
    ['light', null, { capacity: 100, lost: 0 }],
  ]);
  const { belongs, holders } = document.chunks[0]!;
  expect(holders).toEqual(['bee-0']);
  expect(belongs.map(({ node: name }) => name)).not.toContain('light');
  for (const { node: name, holds } of belongs) {
    expect(holds, name).toBe(['down', 'stuck'].includes(name) ? null : name === 'bee-0');
  }
});

test('messages are read only for nodes without events, and a tap that fails is a note', async () => {
  const { reference, chunks } = await chunksOf(100);
  let reads = 0;
  const tracedWith = async (events: NonNullable<Fake['events']>) => {
    const fakes: Fake[] = [{ name: 'a', overlay: 0, holds: chunks, events }];
    const messages = (async function* () {
      reads++;
      yield* [];
      throw new HarnessError('FAULT_REFUSED', 'the link proxy does not answer');
    })();
    return await trace({
      name: 'net',
      began: 0,
      reference,
      nodes: fakes.map(node),
      chunks: 1,
      signal: SIGNAL,
      messages,
    });
  };
  expect((await tracedWith(ring())).notes).toEqual([]);
  expect(reads).toBe(0);
  const { notes, chunks: found } = await tracedWith('unknown');
  expect(notes).toEqual(['messages between nodes cannot be read: the link proxy does not answer']);
  expect(found[0]?.holders).toEqual(['a']);
});

test('a trace that is interrupted while messages are read ends as that', async () => {
  const { reference, chunks } = await chunksOf(100);
  const stopped = new AbortController();
  const fakes: Fake[] = [{ name: 'a', overlay: 0, holds: chunks, events: 'unknown' }];
  const messages = (async function* () {
    stopped.abort();
    yield* [];
  })();
  const { signal } = stopped;
  const tracing = trace({
    name: 'net',
    began: 0,
    reference,
    nodes: fakes.map(node),
    chunks: 1,
    signal,
    messages,
  });
  await expect(tracing).rejects.toMatchObject({ code: 'INTERRUPTED' });
});

test('the slowest pushes are those with the longest time to a valid receipt, attempts included', async () => {
  const { reference, chunks } = await chunksOf(3 * 4096);
  const events = ring(1000);
  for (const [i, { address }] of chunks.entries()) {
    const causeEvent = events.add('pushing', address);
    time.now += 1;
    events.add('not-synced', address, { causeEvent });
    time.now += 10 * i;
    const again = events.add('pushing', address);
    time.now += 1;
    events.add('synced', address, { causeEvent: again, peer: overlayOf(0x80) });
  }
  const { content } = await traced(reference, [{ name: 'a', overlay: 0, holds: chunks, events }]);
  expect(content.slowest).toEqual(
    [...chunks.entries()]
      .reverse()
      .map(([i, { address }]) => ({ chunk: toHex(address), node: 'a', ms: 10 * i + 2 })),
  );
});

test.each([60, 80, 140])('no line is longer than %i columns', async (width) => {
  const { reference, chunks } = await chunksOf(3 * 4096);
  const [a, b] = [ring(), ring()];
  for (const { address } of chunks) {
    a.add('uploaded', address, { detail: 'deferred' });
    const causeEvent = a.add('pushing', address);
    const push = a.add('push', address, { causeEvent, peer: overlayOf(0x80), attempt: 1 });
    const received = b.add('received', address, { peer: overlayOf(0) });
    b.add('refused', address, { causeEvent: received, detail: 'x'.repeat(150) });
    a.add('push-failed', address, {
      causeEvent: push,
      peer: overlayOf(0x80),
      attempt: 1,
      detail: 'y'.repeat(150),
    });
    a.add('not-synced', address, { causeEvent, detail: 'could not push chunk' });
  }
  const document = await traced(
    reference,
    [
      { name: 'node-with-a-long-name', overlay: 0, events: a, holds: chunks.slice(1) },
      { name: 'other', overlay: 0x80, events: b },
      { name: 'down', overlay: 0x90, state: 'crashed' },
    ],
    4,
  );
  const lines = traceText(document, { style: { ...STYLE, width }, width });
  expect(lines.filter((line) => line.length > width)).toEqual([]);
  expect(lines.join('\n')).toMatch(/└─ 1 other ✖ failed/);
});
