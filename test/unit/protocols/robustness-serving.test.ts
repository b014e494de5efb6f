/** The peer must get the specified answer or a reset, and nothing may stay behind. */
import { fc } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { framed, join } from '../../../harness/conformance/wire/hostile-bytes.ts';
import { encodeMessage } from '../../../node/p2p/codec/codec.ts';
import type { MessageTable } from '../../../node/p2p/codec/message.ts';
import { PINGPONG } from '../../../node/protocols/pingpong/wire.ts';
import { Snapshot, STATUS } from '../../../node/protocols/status/wire.ts';
import { type Attack, afterHeaders, anyAttack, carryOut, cutsOf, messagesIn } from './attacks.ts';
import { type Row, rows } from './robustness-rows.ts';
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

const MAX_MESSAGE = 131_072;

const BALANCES_WRITTEN_MS = 5_000;

/** A target serves many attacks, until one has changed it too much. */
class Range {
  #current: { target: Target; intruder: Intruder; attacks: number } | undefined;

  readonly #attacksMax: number;

  constructor({ attacksMax = 40 }: { readonly attacksMax?: number }) {
    this.#attacksMax = attacksMax;
  }

  async get(): Promise<{ target: Target; intruder: Intruder }> {
    const used = this.#current;
    this.#current = undefined;
    if (used !== undefined && used.attacks < this.#attacksMax && isFit(used)) return used;
    const target = await targetNode();
    return { target, intruder: await intrude(target) };
  }

  give(pair: { target: Target; intruder: Intruder }): void {
    const attacks = 'attacks' in pair ? (pair.attacks as number) : 0;
    this.#current = { ...pair, attacks: attacks + 1 };
  }
}

function isFit({ target, intruder }: { target: Target; intruder: Intruder }): boolean {
  const debt = target.accounting.balance(intruder.peer.overlayHex)?.consumedBalance ?? 0n;
  return !intruder.peer.closed.aborted && debt < 5_000_000n;
}

async function expectStillServing(target: Target, { link, peer }: Intruder): Promise<void> {
  if (peer.closed.aborted) return;
  const stream = link.accost(STATUS.id);
  stream.send(join(NO_HEADERS, framed(new Uint8Array(0))));
  stream.end();
  await target.clock.settle();
  expect(stream.frames().map((body) => toHex(body))).toEqual(['', toHex(encodeMessage(Snapshot, SNAPSHOT))]);
  expect(stream.state).toBe('ended');
}

async function attackOnce(
  given: Row<MessageTable>,
  pair: { target: Target; intruder: Intruder },
  attack: Attack,
): Promise<void> {
  const { target, intruder } = pair;
  await given.prepare?.(target, intruder);
  const debt = target.accounting.balance(intruder.peer.overlayHex)?.consumedBalance ?? 0n;
  const stream = intruder.link.accost(given.spec.id);
  await carryOut(attack, stream, target.clock);
  await target.clock.advance(ALL_OVER_MS);
  const body = afterHeaders(attack.bytes);
  const [, ...answers] = stream.frames();
  const connected = !intruder.peer.closed.aborted;
  expect(target.host.blocklisted()).toEqual([]);
  if (body === undefined) {
    expect(answers).toEqual([]);
    expect(connected).toBe(true);
    if (attack.ending !== 'reset') expect(stream.state).toBe('reset');
  } else {
    const { messages, rest } = messagesIn(body, given.table);
    // Bytes after the last message are still an error.
    const whole = rest === 'nothing' && (given.rounds === 'many' || messages.length === 1);
    const asked = messages.length > 0 || given.rounds === 'many';
    const waiting = given.waits === true && asked;
    const failed = !asked || (attack.ending === 'silence' && !waiting);
    if (attack.ending !== 'reset' && connected && failed) expect(stream.state).toBe('reset');
    if (attack.ending !== 'reset' && !whole && !waiting) expect(target.noted.length).toBeGreaterThan(0);
    given.judge({
      messages,
      whole,
      ending: attack.ending,
      stream,
      answers,
      target,
      intruder,
      connected,
      debt,
    });
    // A peer that may wait for ever is told when it is no longer listened to.
    if (waiting) stream.reset();
    await target.clock.advance(BALANCES_WRITTEN_MS);
  }
  await expectStillServing(target, intruder);
  expectNothingLeft(target, intruder);
}

describe.each(rows.map((given) => [given.spec.id, given] as const))('%s', (_name, given) => {
  test('survives whatever is sent to it', async () => {
    const range = new Range(given);
    await fc.assert(
      fc.asyncProperty(anyAttack(given), async (attack) => {
        const pair = await range.get();
        await attackOnce(given, pair, attack);
        range.give(pair);
      }),
      { numRuns: 1000 },
    );
  });

  const [request] = fc.sample(given.good, { numRuns: 1, seed: 1 });
  const whole = join(NO_HEADERS, framed(request as Uint8Array));

  test.each(['end', 'reset', 'silence'] as const)(
    'finishes with a good request that breaks off at any byte: %s',
    async (ending) => {
      const range = new Range(given);
      for (const length of cutsOf(whole)) {
        const pair = await range.get();
        const attack = { bytes: whole.subarray(0, length), piece: 1 << 20, slow: true, ending };
        await attackOnce(given, pair, attack);
        range.give(pair);
      }
    },
  );

  test('answers a good request that arrives in single bytes', async () => {
    const target = await targetNode();
    const intruder = await intrude(target);
    await attackOnce(given, { target, intruder }, { bytes: whole, piece: 1, slow: true, ending: 'end' });
  });

  test('reads no more than two messages of an endless stream', async () => {
    const target = await targetNode();
    const intruder = await intrude(target);
    const stream = intruder.link.accost(given.spec.id);
    stream.send(join(NO_HEADERS, framed(request as Uint8Array)));
    stream.reads = false;
    const piece = new Uint8Array(16_384).fill(1);
    for (let sent = 0; sent < 8 * MAX_MESSAGE && stream.nodeEnd.open; sent += piece.length) {
      stream.send(piece);
      await target.clock.settle();
    }
    expect(stream.taken).toBeLessThan(2 * MAX_MESSAGE);
    await target.clock.advance(ALL_OVER_MS);
    await expectStillServing(target, intruder);
    expectNothingLeft(target, intruder);
  });

  test('refuses streams beyond its limit, and forgets the silent ones in time', async () => {
    const target = await targetNode();
    const intruder = await intrude(target);
    const { id, inboundStreamsMax } = given.spec;
    const streams = Array.from({ length: inboundStreamsMax + 10 }, () => intruder.link.accost(id));
    for (const stream of streams) stream.send(NO_HEADERS);
    await target.clock.settle();
    expect(streams.filter(({ state }) => state === 'reset')).toHaveLength(10);
    await target.clock.advance(ALL_OVER_MS);
    expect(streams.filter(({ state }) => state === 'reset')).toHaveLength(streams.length);
    await expectStillServing(target, intruder);
    expectNothingLeft(target, intruder);
  });

  test('releases everything when the connection ends in the middle', async () => {
    for (const length of [0, 1, NO_HEADERS.length, whole.length - 1, whole.length]) {
      const target = await targetNode();
      const intruder = await intrude(target);
      intruder.link.accost(given.spec.id).send(whole.subarray(0, length));
      intruder.link.close(new Error('cable cut'));
      await target.clock.advance(BALANCES_WRITTEN_MS);
      expect(target.host.peers()).toEqual([]);
      expectNothingLeft(target, intruder);
    }
  });
});

test('a flood of greetings is answered, and leaves others their turn', async () => {
  const target = await targetNode();
  const intruder = await intrude(target);
  const stream = intruder.link.accost(PINGPONG.id);
  const greetings = 5_000;
  stream.send(join(NO_HEADERS, new Uint8Array(greetings)));
  stream.end();
  await target.clock.settle();
  expect(stream.frames().length).toBeLessThan(100);
  await expectStillServing(target, intruder);
  await target.clock.advance(ALL_OVER_MS);
  expect(stream.frames()).toHaveLength(1 + greetings);
  expectNothingLeft(target, intruder);
});
