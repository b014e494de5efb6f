/** Only a peer that proves its identity may be let in, and nothing may stay of the others. */
import { fc } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { framed, join } from '../../../harness/conformance/wire/hostile-bytes.ts';
import { encodeMessage } from '../../../node/p2p/codec/codec.ts';
import type { MessageOf } from '../../../node/p2p/codec/message.ts';
import { Ack, HANDSHAKE_DIALECTS, Syn, SynAck } from '../../../node/p2p/handshake/wire.ts';
import { PRICING } from '../../../node/protocols/pricing/wire.ts';
import { NETWORK_ID, ZERO_NONCE } from '../p2p/memory-nodes.ts';
import {
  type Attack,
  anyAttack,
  anyInt64,
  anyUint64,
  bytesAbout,
  carryOut,
  encoded,
  watched,
} from './attacks.ts';
import { never } from './exchange-nodes.ts';
import { type Behaviour, credentials, OBSERVED } from './hostile-peer.ts';
import { ManualClock } from './manual-clock.ts';
import {
  ALL_OVER_MS,
  expectOwnErrors,
  NO_HEADERS,
  overlayOf,
  type Target,
  targetNode,
} from './target-node.ts';

const HANDSHAKE_MS = 15_000;
const FULL_CLOSE_MS = 30_000;
const N = 2;
const STRANGER = toHex(overlayOf(N));
const UNDERLAY = '/ip4/10.0.1.2/tcp/1634';

const honestPricing: Behaviour = (stream) => {
  stream.send(NO_HEADERS);
  stream.end();
};

describe.each(HANDSHAKE_DIALECTS)('handshake $generation', ({ generation, id }) => {
  const clock = new ManualClock();
  const ack = credentials(N, clock, generation);
  const syn = { observedUnderlay: OBSERVED };
  const goodSyn = encodeMessage(Syn, syn);
  const goodAck = encodeMessage(Ack, ack);
  const goodSynAck = encodeMessage(SynAck, { syn, ack });

  const anyAddress = fc.record({
    underlay: fc.oneof(fc.constant(ack.address?.underlay as Uint8Array), bytesAbout(50), bytesAbout(2049)),
    signature: fc.oneof(fc.constant(ack.address?.signature as Uint8Array), bytesAbout(65)),
    overlay: fc.oneof(fc.constant(overlayOf(N)), bytesAbout(32)),
    nonce: fc.oneof(fc.constant(ZERO_NONCE), bytesAbout(32)),
    timestamp: fc.oneof(fc.constant(ack.address?.timestamp as bigint), anyInt64),
    chequebook: fc.oneof(fc.constant(ack.address?.chequebook as Uint8Array), bytesAbout(20)),
  });
  const anyAck: fc.Arbitrary<MessageOf<typeof Ack>> = fc.record({
    address: fc.oneof(fc.constant(ack.address), anyAddress, fc.constant(undefined)),
    networkId: fc.oneof({ weight: 4, arbitrary: fc.constant(NETWORK_ID) }, anyUint64),
    fullNode: fc.boolean(),
    nonce: fc.oneof(fc.constant(ack.nonce), bytesAbout(32)),
    welcomeMessage: fc.oneof(
      fc.constant(''),
      fc.string({ unit: 'binary' }),
      fc.constant('x'.repeat(100_000)),
    ),
  });
  const anySyn = fc.record({
    observedUnderlay: fc.oneof(fc.constant(OBSERVED), bytesAbout(50), bytesAbout(2049)),
  });

  const goodDialler = join(framed(goodSyn), framed(goodAck));

  async function introduceToNode(attack: Attack): Promise<Target> {
    const target = await targetNode();
    const link = target.transport.connect(N);
    link.behaviours.set(PRICING.id, honestPricing);
    const stream = link.accost(id);
    await carryOut(attack, stream, target.clock);
    await target.clock.advance(HANDSHAKE_MS);
    const peer = target.host.peer(STRANGER);
    // A node that has not closed its stream is not a peer yet.
    for (const counted of target.host.peers()) expect(counted).toBe(peer);
    if (peer === undefined) expect(link.closed).toBeDefined();
    else expect(peer.generation).toBe(generation);
    await target.clock.advance(ALL_OVER_MS);
    expect(link.left).toEqual([]);
    expect(link.closed === undefined).toBe(target.host.peers().length === 1);
    expectNothing(target);
    return target;
  }

  function expectNothing(target: Target): void {
    expect(target.clock.running).toBe(0);
    expect(target.host.blocklisted()).toEqual([]);
    for (const overlay of target.addressBook.overlays()) expect(overlay).toBe(STRANGER);
    expectOwnErrors(target);
  }

  test('admits no dialler without proof of its identity, whatever it sends', async () => {
    const second = fc.oneof({ weight: 3, arbitrary: encoded(Ack, anyAck) }, fc.constant(goodAck));
    const attacks = fc.oneof(
      anyAttack({ good: fc.constant(goodSyn), hostile: encoded(Syn, anySyn) }, { headers: false }),
      fc
        .tuple(
          anyAttack({ good: fc.constant(goodAck), hostile: second }, { headers: false }),
          fc.oneof(fc.constant(goodSyn), encoded(Syn, anySyn)),
        )
        .map(([attack, first]) => ({ ...attack, bytes: join(framed(first), attack.bytes) })),
    );
    await fc.assert(
      fc.asyncProperty(attacks, async (attack) => void (await introduceToNode(attack))),
      { numRuns: 300 },
    );
  });

  test.each(['end', 'reset', 'silence'] as const)(
    'is given up when a dialler breaks off at any byte: %s',
    async (ending) => {
      for (let length = 0; length < goodDialler.length; length++) {
        const target = await introduceToNode({
          bytes: goodDialler.subarray(0, length),
          piece: 1 << 20,
          slow: true,
          ending,
        });
        expect(target.host.peers()).toEqual([]);
      }
    },
  );

  test('admits a dialler that sends single bytes', async () => {
    const target = await introduceToNode({ bytes: goodDialler, piece: 1, slow: true, ending: 'end' });
    expect(target.host.peers()).toHaveLength(1);
  });

  test('ends when an admitted dialler does not close its stream', async () => {
    const target = await introduceToNode({
      bytes: goodDialler,
      piece: 1 << 20,
      slow: true,
      ending: 'silence',
    });
    expect(target.host.peers()).toEqual([]);
  });

  async function dialOutcome(attack: Attack) {
    const target = await targetNode();
    const attacks: Promise<void>[] = [];
    const behaviours = new Map<string, Behaviour>([
      [id, (stream) => void attacks.push(carryOut(attack, stream, target.clock))],
      [PRICING.id, honestPricing],
    ]);
    target.transport.dialled = { n: N, behaviours };
    const ending = watched(target.host.connect([UNDERLAY], never));
    await target.clock.settle();
    await Promise.all(attacks);
    await target.clock.advance(HANDSHAKE_MS + FULL_CLOSE_MS);
    const ended = ending();
    const [link] = target.transport.links;
    const connected = target.host.peers().length === 1;
    if (connected) expect(ended).toMatchObject({ value: { overlayHex: STRANGER, generation } });
    else
      expect(ended).toMatchObject({
        error: { code: expect.stringMatching(/^(HANDSHAKE_FAILED|PEER_IS_LIGHT)$/) },
      });
    expect(link?.closed === undefined).toBe(connected);
    await target.clock.advance(ALL_OVER_MS);
    expect(link?.left).toEqual([]);
    expectNothing(target);
    return connected;
  }

  test('accepts no dialled node without proof of its identity, whatever it answers', async () => {
    const anySynAck = fc.record({
      syn: fc.oneof(fc.constant(syn), anySyn, fc.constant(undefined)),
      ack: fc.oneof(anyAck, fc.constant(undefined)),
    });
    const attacks = anyAttack(
      {
        good: fc.constant(goodSynAck),
        hostile: encoded(SynAck, anySynAck as fc.Arbitrary<Partial<MessageOf<typeof SynAck>>>),
      },
      { headers: false },
    );
    await fc.assert(
      fc.asyncProperty(attacks, async (attack) => void (await dialOutcome(attack))),
      { numRuns: 300 },
    );
  });

  test.each(['end', 'reset', 'silence'] as const)(
    'is given up when a dialled node breaks off at any byte: %s',
    async (ending) => {
      const bytes = framed(goodSynAck);
      for (let length = 0; length < bytes.length; length++) {
        expect(
          await dialOutcome({ bytes: bytes.subarray(0, length), piece: 1 << 20, slow: true, ending }),
        ).toBe(false);
      }
    },
  );

  test('accepts a dialled node that answers in single bytes', async () => {
    expect(await dialOutcome({ bytes: framed(goodSynAck), piece: 1, slow: true, ending: 'end' })).toBe(true);
  });

  test('repeated by the same stranger changes nothing for the peer that it has become', async () => {
    const target = await targetNode();
    const link = target.transport.connect(N);
    link.behaviours.set(PRICING.id, honestPricing);
    for (let round = 0; round < 200; round++) {
      const stream = link.accost(id);
      stream.send(round % 3 === 1 ? goodDialler.subarray(0, 100) : goodDialler);
      if (round % 2 === 0) stream.end();
      await target.clock.settle();
    }
    const [peer] = target.host.peers();
    expect(peer).toMatchObject({ overlayHex: STRANGER });
    expect(peer?.closed.aborted).toBe(false);
    await target.clock.advance(ALL_OVER_MS);
    expect(target.host.peers()).toEqual([peer]);
    expect(link.left).toEqual([]);
    expectNothing(target);
  });
});
