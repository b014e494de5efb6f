import { beforeEach, describe, expect, test } from 'vitest';
import { Reads } from '../../../../node/api/content/reads.ts';
import { errorAnswer } from '../../../../node/api/dispatch.ts';
import { ApiError } from '../../../../node/api/errors.ts';
import { API_METRICS } from '../../../../node/api/metrics.ts';
import { createMetrics } from '../../../../node/env/metrics.ts';
import { type JoinedFile, openFile } from '../../../../node/files/joiner.ts';
import { split } from '../../../../node/files/splitter.ts';
import { ChunkMap, inParts } from '../../files/chunk-map.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';
import { startKit } from '../kit.ts';

const KIB = 1024;
const MIB = KIB * KIB;
const NEVER = new AbortController().signal;
const READING_MAX = 128;
const WAITING_MAX = 1024;

class TurnClock extends ManualClock {
  turns = 0;

  override turn(): Promise<void> {
    this.turns += 1;
    return super.turn();
  }
}

const content = new Uint8Array(3 * MIB).map((_, i) => (i >> 12) ^ i);
let clock: TurnClock;
let store: ChunkMap;
let file: JoinedFile;
let metrics: ReturnType<typeof createMetrics>;
let reads: Reads;

beforeEach(async () => {
  clock = new TurnClock();
  store = new ChunkMap();
  const { reference } = await split(inParts(content, 65_536), store);
  file = await openFile(reference, store);
  metrics = createMetrics({ prefix: 'svc' });
  reads = new Reads({ clock, metrics: metrics.register(API_METRICS) });
  store.asked.length = 0;
});

function begin(options: Partial<Parameters<Reads['range']>[1]> = {}, of = file) {
  const range = { start: 0n, end: of.length, readAhead: 512 * KIB, signal: NEVER, isUnderWay: false };
  return reads.range(of, { ...range, ...options });
}

async function opened(options?: Parameters<typeof begin>[0]): Promise<AsyncIterator<Uint8Array>> {
  return (await begin(options))[Symbol.asyncIterator]();
}

/** Pieces share memory. */
async function all(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const copied: Uint8Array[] = [];
  for await (const piece of pieces) copied.push(new Uint8Array(piece));
  return Buffer.concat(copied);
}

async function small(): Promise<JoinedFile> {
  const { reference } = await split(inParts(content.subarray(0, 64 * KIB), 65_536), store);
  return openFile(reference, store);
}

test('a range is read whole, and its place is free again', async () => {
  const read = await all(await begin({ start: 5n, end: 3n * BigInt(MIB) - 7n }));
  expect(Buffer.compare(read, content.subarray(5, -7))).toBe(0);
  expect(reads.state).toEqual({ reading: 0, waiting: 0, aheadBytes: 0 });
});

test('long reads yield turns to other work', async () => {
  for (let i = 0; i < 4; i++) await all(await begin());
  expect(clock.turns).toBeGreaterThanOrEqual((4 * content.length) / (512 * KIB));
});

test('many that begin at once share the turns', async () => {
  const many = Array.from({ length: 40 }, () => begin());
  await Promise.resolve();
  const before = store.asked.length;
  await Promise.all(many);
  expect(before).toBe(0);
  expect(clock.turns).toBeGreaterThanOrEqual(39);
});

test('the total read-ahead is bounded, whatever a request asks for', async () => {
  const many = await Promise.all(
    Array.from({ length: READING_MAX }, () => opened({ readAhead: 99_999_999_999 })),
  );
  for (const one of many) await one.next();
  const { aheadBytes, reading } = reads.state;
  expect(reading).toBe(READING_MAX);
  expect(aheadBytes).toBeLessThanOrEqual((32 + READING_MAX / 16) * MIB);
  for (const one of many) await one.return?.();
  expect(reads.state).toEqual({ reading: 0, waiting: 0, aheadBytes: 0 });
});

test('a request for a large read-ahead gets two megabytes', async () => {
  const one = await opened({ readAhead: 99_999_999_999 });
  await one.next();
  expect(store.asked.length).toBeLessThanOrEqual((2 * MIB + 128 * KIB) / 4096);
  await one.return?.();
});

describe('a client that stalls', () => {
  test('gives up its place and its read-ahead, and later resumes where it was', async () => {
    const pieces = await opened();
    const first = new Uint8Array((await pieces.next()).value as Uint8Array);
    expect(reads.state.reading).toBe(1);
    await clock.advance(500);
    expect(reads.state).toEqual({ reading: 0, waiting: 0, aheadBytes: 0 });
    const rest = await all({ [Symbol.asyncIterator]: () => pieces });
    expect(Buffer.compare(Buffer.concat([first, rest]), content)).toBe(0);
    expect(await metrics.expose()).toContain('svc_api_download_stalled_count 1');
  });

  test('again and again gets little read-ahead', async () => {
    const pieces = await opened();
    for (let taken = 0; taken < 10; taken++) {
      await pieces.next();
      await clock.advance(500);
    }
    // Of ten pieces, each again with its way down the tree, and once half a megabyte.
    expect(store.asked.length).toBeLessThan((512 + 10 * 64) / 4 + 10 * 20);
    await pieces.return?.();
    expect(clock.running).toBe(0);
  });

  test('makes room for a waiting one', async () => {
    const stalled = await Promise.all(Array.from({ length: READING_MAX }, () => opened()));
    for (const one of stalled) await one.next();
    const waiting = begin();
    await clock.settle();
    expect(reads.state).toMatchObject({ reading: READING_MAX, waiting: 1 });
    await clock.advance(500);
    expect(Buffer.compare(await all(await waiting), content)).toBe(0);
    for (const one of stalled) await one.return?.();
  });
});

describe('when all places are taken', () => {
  let taken: AsyncIterator<Uint8Array>[];
  beforeEach(async () => {
    taken = await Promise.all(Array.from({ length: READING_MAX }, () => opened()));
    for (const one of taken) await one.next();
  });

  test('small content does not wait for a place', async () => {
    expect(Buffer.compare(await all(await begin({}, await small())), content.subarray(0, 64 * KIB))).toBe(0);
  });

  test('a download waits, and no longer waits once its client has left', async () => {
    const leaving = new AbortController();
    const waiting = begin({ signal: leaving.signal });
    await clock.settle();
    expect(reads.state.waiting).toBe(1);
    leaving.abort(new Error('client gone'));
    await expect(waiting).rejects.toThrow('client gone');
    expect(reads.state.waiting).toBe(0);
  });

  test('only a limited number waits, the next is refused, and later parts of a started answer wait', async () => {
    const leaving = new AbortController();
    const { signal } = leaving;
    const waiting = Array.from({ length: WAITING_MAX }, () => begin({ signal }));
    await expect(begin()).rejects.toMatchObject({ code: 'DOWNLOADS_BUSY' });
    expect(await metrics.expose()).toContain('svc_api_download_refused_count 1');
    const under = begin({ signal, isUnderWay: true });
    await clock.settle();
    expect(reads.state.waiting).toBe(WAITING_MAX + 1);
    leaving.abort(new Error('client gone'));
    const ended = await Promise.allSettled([...waiting, under]);
    expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(['rejected']));
  });
});

test('a refused client is told when to retry', async () => {
  const { services, dialect } = await startKit();
  expect(
    errorAnswer(
      new ApiError('DOWNLOADS_BUSY'),
      { services, dialect },
      { id: 'id', route: '/bytes/{reference}' },
    ),
  ).toEqual({
    status: 503,
    headers: { 'retry-after': '1' },
    json: { code: 503, message: 'too many downloads at once, try again later' },
  });
});
