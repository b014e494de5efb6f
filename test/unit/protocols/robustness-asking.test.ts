/** The asker must get an answer or an error of its own in time, and nothing may stay behind. */
import { fc } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { encodeStamp } from '../../../formats/chunk/stamp.ts';
import { chunkFrom } from '../../../formats/chunk/validate.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { createSigner, SignatureError } from '../../../formats/crypto/signer.ts';
import { framed, join } from '../../../harness/conformance/wire/hostile-bytes.ts';
import { encodeMessage } from '../../../node/p2p/codec/codec.ts';
import type { MessageOf, MessageTable } from '../../../node/p2p/codec/message.ts';
import { decodeAmount, encodeAmount } from '../../../node/protocols/amounts.ts';
import { HIVE } from '../../../node/protocols/hive/wire.ts';
import { PINGPONG, Pong } from '../../../node/protocols/pingpong/wire.ts';
import { PRICING } from '../../../node/protocols/pricing/wire.ts';
import { PaymentAck, PSEUDOSETTLE } from '../../../node/protocols/pseudosettle/wire.ts';
import { storerOf } from '../../../node/protocols/pushsync/rules.ts';
import { Delivery as Parcel, PUSHSYNC, Receipt } from '../../../node/protocols/pushsync/wire.ts';
import { Delivery, RETRIEVAL, Request } from '../../../node/protocols/retrieval/wire.ts';
import { Snapshot, STATUS } from '../../../node/protocols/status/wire.ts';
import { NETWORK_ID, testKey, ZERO_NONCE } from '../p2p/memory-nodes.ts';
import {
  type Attack,
  afterHeaders,
  anyAttack,
  anyInt64,
  anyUint32,
  anyUint64,
  bytesAbout,
  carryOut,
  cutsOf,
  type Ended,
  encoded,
  messagesIn,
  watched,
} from './attacks.ts';
import { chunkNear, chunkWhere, never, someStamp } from './exchange-nodes.ts';
import {
  ALL_OVER_MS,
  expectNothingLeft,
  type Intruder,
  intrude,
  NO_HEADERS,
  SNAPSHOT,
  type Target,
  targetNode,
} from './target-node.ts';

const chunk = chunkWhere(() => true);
const stamp = someStamp();
const DEBT = 6_720_000n;
const NOTHING = new Uint8Array(0);

interface Outcome<T extends MessageTable> {
  readonly reply: MessageOf<T> | undefined;
  /** The peer closed after acceptable headers without another byte. */
  readonly empty: boolean;
  readonly ending: Attack['ending'];
  readonly ended: Ended;
  readonly target: Target;
  readonly intruder: Intruder;
}

interface Row<T extends MessageTable> {
  readonly name: string;
  readonly id: string;
  readonly reply: T;
  readonly good: fc.Arbitrary<Uint8Array>;
  readonly hostile: fc.Arbitrary<Uint8Array>;
  /** In milliseconds, to the asker's answer or error. */
  readonly withinMs: number;
  /** The peer answers a request as often as it is asked. */
  ask(target: Target, intruder: Intruder): Promise<unknown>;
  judge(outcome: Outcome<T>): void;
  /** A wrong answer costs the connection. */
  readonly mayBlocklist?: boolean;
}

function row<T extends MessageTable>(given: Row<T>): Row<MessageTable> {
  return given;
}

const receipt = {
  address: chunk.address,
  signature: createSigner(testKey(2)).sign(chunk.address),
  nonce: ZERO_NONCE,
  storageRadius: 0,
};

const rows = [
  row({
    name: 'pricing',
    id: PRICING.id,
    reply: {},
    good: fc.constant(NOTHING),
    hostile: fc.uint8Array({ maxLength: 40 }),
    withinMs: 35_000,
    ask: ({ pricing }, { peer }) => pricing.announce(peer, peer.closed),
    judge({ ended, empty, ending }) {
      // A peer that resets may have been told before.
      if (ending !== 'reset') expect('value' in ended).toBe(empty && ending === 'end');
    },
  }),
  row({
    name: 'hive',
    id: HIVE['15.0.0'].id,
    reply: {},
    good: fc.constant(NOTHING),
    hostile: fc.uint8Array({ maxLength: 40 }),
    withinMs: 10_000,
    ask: ({ hive }, { peer }) => hive.announce(peer, [peer.overlayHex], peer.closed),
    judge({ ended, empty, ending }) {
      if (empty && ending !== 'reset') expect(ended).toEqual({ value: undefined });
    },
  }),
  row({
    name: 'pingpong',
    id: PINGPONG.id,
    reply: Pong,
    good: fc.constant(encodeMessage(Pong, { response: '{ping}' })),
    hostile: encoded(
      Pong,
      fc.record({ response: fc.oneof(fc.string({ unit: 'binary' }), fc.constant('x'.repeat(100_000))) }),
    ),
    withinMs: 60_000,
    ask: ({ pingpong }, { peer }) => pingpong.ping(peer, never),
    judge({ ended, reply, ending }) {
      if (ending !== 'reset') expect('value' in ended).toBe(reply !== undefined);
      if ('value' in ended) expect(ended.value).toBeGreaterThanOrEqual(0);
    },
  }),
  row({
    name: 'status',
    id: STATUS.id,
    reply: Snapshot,
    good: fc.constant(encodeMessage(Snapshot, SNAPSHOT)),
    hostile: encoded(
      Snapshot,
      fc.record({
        reserveSize: anyUint64,
        pullsyncRate: fc.double(),
        storageRadius: anyUint32,
        connectedPeers: anyUint64,
        beeMode: fc.string({ unit: 'binary' }),
        batchCommitment: anyUint64,
        committedDepth: anyUint32,
        metrics: fc
          .array(fc.tuple(fc.string(), fc.string()), { maxLength: 5 })
          .map((entries) => new Map(entries)),
      }),
    ),
    withinMs: 10_000,
    ask: ({ status }, { peer }) => status.request(peer, never),
    judge({ ended, reply, ending }) {
      if (ending !== 'reset') expect('value' in ended).toBe(reply !== undefined);
      if ('value' in ended) expect(ended.value).toEqual(reply);
    },
  }),
  row({
    name: 'pseudosettle',
    id: PSEUDOSETTLE.id,
    reply: PaymentAck,
    good: fc.constant(
      encodeMessage(PaymentAck, { amount: encodeAmount(2_000_000n), timestamp: 1_700_000_000n }),
    ),
    hostile: encoded(
      PaymentAck,
      fc.record({
        amount: fc.oneof(fc.constant(encodeAmount(2_000_000n)), bytesAbout(3), bytesAbout(32)),
        timestamp: fc.oneof(fc.bigInt({ min: 1_699_999_990n, max: 1_700_000_010n }), anyInt64),
      }),
    ),
    withinMs: 5_000,
    ask: ({ pseudosettle }, { peer }) => pseudosettle.settle(peer, 3_000_000n),
    judge({ ended, reply, ending }) {
      const accepted = reply && decodeAmount(reply.amount);
      const timely =
        reply !== undefined && reply.timestamp >= 1_699_999_998n && reply.timestamp <= 1_700_000_005n;
      const good = accepted !== undefined && accepted <= 3_000_000n && timely;
      if ('value' in ended)
        expect([good, ended.value]).toEqual([true, { accepted, allegedSeconds: reply?.timestamp }]);
      else if (ending !== 'reset') expect(good && reply.timestamp <= 1_700_000_002n).toBe(false);
    },
  }),
  row({
    name: 'retrieval',
    id: RETRIEVAL.id,
    reply: Delivery,
    good: fc.constant(encodeMessage(Delivery, { data: chunk.data })),
    hostile: encoded(
      Delivery,
      fc.record({
        data: fc.oneof(
          fc.constant(chunk.data),
          bytesAbout(chunk.data.length),
          fc.constantFrom(4105, 100_000).map((size) => new Uint8Array(size)),
        ),
        stamp: bytesAbout(113),
        err: fc.oneof(fc.constant(''), fc.string({ unit: 'binary' })),
      }),
    ),
    withinMs: 30_000,
    ask: ({ retrieval }) => retrieval.retrieve(chunk.address, { signal: never }),
    judge({ ended, reply, ending, target, intruder }) {
      const good = reply !== undefined && reply.err === '' && isChunk(chunk.address, reply.data);
      if (ending !== 'reset') expect('value' in ended).toBe(good);
      if ('value' in ended) expect(ended.value).toEqual(chunk);
      else expect(ended.error).toMatchObject({ code: 'CHUNK_NOT_FOUND' });
      expectPaid(target, intruder, 'value' in ended ? 1 : 0);
    },
  }),
  row({
    name: 'pushsync',
    id: PUSHSYNC.id,
    reply: Receipt,
    good: fc.constant(encodeMessage(Receipt, receipt)),
    hostile: encoded(
      Receipt,
      fc.record({
        address: fc.oneof(fc.constant(receipt.address), bytesAbout(32)),
        signature: fc.oneof(fc.constant(receipt.signature), bytesAbout(65)),
        nonce: fc.oneof(fc.constant(receipt.nonce), bytesAbout(32)),
        err: fc.oneof({ weight: 4, arbitrary: fc.constant('') }, fc.string({ unit: 'binary' })),
        storageRadius: fc.oneof(fc.constant(0), anyUint32),
      }),
    ),
    withinMs: 30_000,
    ask: ({ pushsync }) => pushsync.push(chunk, stamp, { signal: never }),
    judge({ ended, reply, ending, target, intruder }) {
      const taken = reply !== undefined && reply.err === '' && toHex(reply.address) === toHex(chunk.address);
      const signed = taken && isSigned(reply);
      if ('value' in ended) expect([signed, ended.value]).toMatchObject([true, { outcome: 'synced' }]);
      if (ending !== 'reset') {
        expectPaid(target, intruder, taken ? 1 : 0);
        // The chunk belongs to the intruder, and no other peer is there.
        if ('error' in ended)
          expect(ended.error).toMatchObject({ code: signed ? 'SHALLOW_RECEIPT' : 'PUSH_FAILED' });
      }
    },
  }),
  row({
    name: 'retrieval on behalf of a third',
    id: RETRIEVAL.id,
    reply: Delivery,
    good: fc.constant(encodeMessage(Delivery, { data: chunk.data })),
    hostile: encoded(
      Delivery,
      fc.record({ data: fc.oneof(fc.constant(chunk.data), bytesAbout(40)), err: fc.constantFrom('', 'no') }),
    ),
    withinMs: 30_000,
    ask: (target) =>
      asked(target, RETRIEVAL.id, Delivery, encodeMessage(Request, { addr: nearIntruder(target).address })),
    judge({ ended, target }) {
      const chunkOfThird = nearIntruder(target);
      expect(ended).toMatchObject({
        value: expect.objectContaining({ err: expect.stringMatching(/^(|retrieve chunk: .*)$/) }),
      });
      const { value } = ended as { value: MessageOf<typeof Delivery> };
      if (value.err === '') expect(toHex(value.data)).toBe(toHex(chunkOfThird.data));
    },
  }),
  row({
    name: 'pushsync on behalf of a third',
    id: PUSHSYNC.id,
    reply: Receipt,
    good: fc.constant(encodeMessage(Receipt, receipt)),
    hostile: encoded(
      Receipt,
      fc.record({
        address: fc.oneof(fc.constant(receipt.address), bytesAbout(32)),
        err: fc.constantFrom('', 'no'),
      }),
    ),
    withinMs: 30_000,
    ask: (target) =>
      asked(
        target,
        PUSHSYNC.id,
        Receipt,
        encodeMessage(Parcel, { ...nearIntruder(target), stamp: encodeStamp(stamp) }),
      ),
    judge({ ended }) {
      const text = /^(|handler: push to closest chunk: .*)$/;
      expect(ended).toMatchObject({ value: expect.objectContaining({ err: expect.stringMatching(text) }) });
    },
  }),
  row({
    name: 'pseudosettle as accounting asks for it',
    id: PSEUDOSETTLE.id,
    reply: PaymentAck,
    good: fc.constant(encodeMessage(PaymentAck, { amount: encodeAmount(DEBT), timestamp: 1_700_000_000n })),
    hostile: encoded(
      PaymentAck,
      fc.record({
        amount: fc.oneof(
          fc.constant(encodeAmount(DEBT)),
          fc.constant(encodeAmount(DEBT - 1n)),
          bytesAbout(3),
        ),
        timestamp: fc.oneof(fc.bigInt({ min: 1_699_999_997n, max: 1_700_000_003n }), anyInt64),
      }),
    ),
    withinMs: 6_000,
    ask({ accounting, clock }, { peer }) {
      // 21 prices are beyond the early payment of 6,750,000.
      for (let n = 0; n < 21; n++) accounting.prepareCredit(peer, DEBT / 21n, true).apply();
      return clock.sleep(6_000);
    },
    judge({ reply, ending, target, intruder }) {
      const accepted = reply && decodeAmount(reply.amount);
      const timely =
        reply !== undefined && reply.timestamp >= 1_699_999_998n && reply.timestamp <= 1_700_000_002n;
      const good = accepted === DEBT && timely;
      const paid = target.accounting.balance(intruder.peer.overlayHex)?.consumedBalance === 0n;
      const reasons = target.losses;
      // It may come before or after the earlier bytes were read.
      if (ending !== 'reset') expect(paid).toBe(good);
      if (paid) expect([good, reasons]).toEqual([true, []]);
      else
        expect(reasons).toEqual([
          expect.stringMatching(/^failed to (refresh|meet expectation for allowance)$/),
        ]);
    },
    mayBlocklist: true,
  }),
];

function isChunk(address: Uint8Array, data: Uint8Array): boolean {
  try {
    chunkFrom(address, data);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: expect.any(String) });
    return false;
  }
}

function isSigned(given: MessageOf<typeof Receipt>): boolean {
  try {
    storerOf(given, NETWORK_ID);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(SignatureError);
    return false;
  }
}

function expectPaid({ accounting }: Target, { peer }: Intruder, chunks: number): void {
  const price = accounting.price(peer.overlay, chunk.address);
  expect(accounting.balance(peer.overlayHex)?.consumedBalance ?? 0n).toBe(-price * BigInt(chunks));
}

const thirds = new WeakMap<Target, ReturnType<typeof chunkNear>>();
function nearIntruder(target: Target): ReturnType<typeof chunkNear> {
  const known = thirds.get(target);
  if (known !== undefined) return known;
  const [intruder] = target.host.peers();
  const found = chunkNear(intruder!, [intruder!, target.host]);
  thirds.set(target, found);
  return found;
}

/** From the node, as an honest third peer. */
async function asked<T extends MessageTable>(
  target: Target,
  id: string,
  table: T,
  request: Uint8Array,
): Promise<MessageOf<T>> {
  const third = await intrude(target, 3);
  const stream = third.link.accost(id);
  stream.send(join(NO_HEADERS, framed(request)));
  stream.end();
  const answered = Promise.withResolvers<MessageOf<T>>();
  stream.onNews = () => {
    const [, body] = stream.frames();
    if (body !== undefined) answered.resolve(messagesIn(framed(body), table).messages[0] as MessageOf<T>);
    else if (stream.state !== 'open') answered.reject(new Error(`the stream was ${stream.state}`));
  };
  stream.onNews();
  return await answered.promise;
}

async function attackOnce(given: Row<MessageTable>, attack: Attack): Promise<void> {
  const target = await targetNode({ radius: 30 });
  const { clock } = target;
  const intruder = await intrude(target);
  const attacks: Promise<void>[] = [];
  intruder.link.behaviours.set(given.id, (stream) => void attacks.push(carryOut(attack, stream, clock)));
  const ending = watched(given.ask(target, intruder));
  await clock.settle();
  await Promise.all(attacks);
  await clock.advance(given.withinMs);
  const ended = ending();
  if (ended === undefined) throw new Error(`no end within ${given.withinMs} ms`);
  if ('error' in ended)
    expect(ended.error).toMatchObject({ code: expect.stringMatching(/^(?!ERR_)[A-Z_]+$/) });
  const body = afterHeaders(attack.bytes);
  const [reply] = body === undefined ? [] : messagesIn(body, given.reply).messages;
  if (given.mayBlocklist !== true) expect(target.losses).toEqual([]);
  given.judge({ reply, empty: body?.length === 0, ending: attack.ending, ended, target, intruder });
  await clock.advance(ALL_OVER_MS);
  expect(intruder.peer.closed.aborted).toBe(target.losses.length > 0);
  expectNothingLeft(target, intruder);
}

describe.each(rows.map((given) => [given.name, given] as const))('%s', (_name, given) => {
  test('ends whatever the answer is', async () => {
    await fc.assert(
      fc.asyncProperty(anyAttack(given), async (attack) => attackOnce(given, attack)),
      { numRuns: 300 },
    );
  });

  const [reply] = fc.sample(given.good, { numRuns: 1, seed: 1 });
  const whole = join(NO_HEADERS, framed(reply as Uint8Array));

  test.each(['end', 'reset', 'silence'] as const)(
    'ends when a good answer breaks off at any byte: %s',
    async (ending) => {
      for (const length of cutsOf(whole)) {
        await attackOnce(given, { bytes: whole.subarray(0, length), piece: 1 << 20, slow: true, ending });
      }
    },
  );

  test('accepts an answer that arrives in single bytes', async () => {
    await attackOnce(given, { bytes: whole, piece: 1, slow: true, ending: 'end' });
  });

  test('reads no more than one message of an endless answer', async () => {
    const target = await targetNode({ radius: 30 });
    const intruder = await intrude(target);
    const piece = new Uint8Array(16_384).fill(1);
    let taken = 0;
    intruder.link.behaviours.set(given.id, (stream) => {
      stream.reads = false;
      stream.send(NO_HEADERS);
      stream.send(Uint8Array.of(0x80, 0x80, 0x08));
      for (let sent = 0; sent < 131_072 * 4 && stream.send(piece) > 0; sent += piece.length)
        taken = stream.taken;
    });
    const end = given.ask(target, intruder).catch((error: unknown) => error);
    await target.clock.advance(ALL_OVER_MS);
    await end;
    for (const stream of intruder.link.streams) taken = Math.max(taken, stream.taken);
    expect(taken).toBeLessThan(2 * 131_072);
    expectNothingLeft(target, intruder);
  });
});
