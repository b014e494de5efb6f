import { expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { createLogger } from '../../../node/env/logger.ts';
import { createAddressBook } from '../../../node/p2p/address/address-book.ts';
import { mintRecord } from '../../../node/p2p/address/record.ts';
import { encodeUnderlays } from '../../../node/p2p/address/underlay.ts';
import { encodeFrame } from '../../../node/p2p/codec/codec.ts';
import { HANDSHAKE_TIMEOUT_MS } from '../../../node/p2p/handshake/handshake.ts';
import { Ack, Syn, SynAck } from '../../../node/p2p/handshake/wire.ts';
import type { Peer } from '../../../node/p2p/host.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import {
  ackOf,
  ECHO,
  GENERATIONS,
  introduce,
  NEWER,
  never,
  OTHER_ID,
  observed,
  started,
  THEIR_OVERLAY,
} from './introductions-kit.ts';
import { fillableRecords, NETWORK_ID, testKey } from './memory-nodes.ts';
import { scriptedNode, scriptedStream, THEIR_ADDRESS, THEIR_ID } from './scripted-transport.ts';

const THEIR_UNDERLAY = `${THEIR_ADDRESS}/p2p/${THEIR_ID}`;

test('a second introduction on the same connection, of either generation, changes nothing', async () => {
  const { clock, node, connected, isServed } = await started();
  const link = node.link();
  await introduce(node, link, { clock });
  const [peer] = node.host.peers();
  for (const generation of GENERATIONS) {
    const again = await introduce(node, link, { clock, generation });
    expect(again.over()).toBe(true);
  }
  expect(node.host.peers()).toEqual([peer]);
  expect(connected).toEqual(['15.0.0']);
  expect(link.ended()).toBeUndefined();
  expect(await isServed(link)).toBe(true);
});

test.each([
  ['/swarm/handshake/15.0.1/handshake', '15.0.0'],
  ['/swarm/handshake/14.0.7/handshake', '14.0.0'],
] as const)(
  'a node that proposes %s is introduced as of %s: patches do not count',
  async (proposed, generation) => {
    const { clock, node, connected } = await started();
    expect(node.supports(proposed)).toBe(true);
    await introduce(node, node.link(), { clock, generation, proposed });
    expect(connected).toEqual([generation]);
  },
);

test.each([
  '/swarm/handshake/15.1.0/handshake',
  '/swarm/handshake/16.0.0/handshake',
  '/swarm/handshake/13.0.0/handshake',
])('%s is not taken', async (proposed) => {
  const { node } = await started();
  expect(node.supports(proposed)).toBe(false);
});

type Shown = ReturnType<typeof ackOf>;

const recordIn = ({ address }: Shown) => address as NonNullable<Shown['address']>;

test.each([
  [
    'NETWORK_ID_INCOMPATIBLE',
    (ack: Shown) => ({ ...ack, networkId: NETWORK_ID + 1n }),
    /incompatible network ID 4021/,
  ],
  [
    'RECORD_INVALID',
    (ack: Shown) => ({
      ...ack,
      address: { ...recordIn(ack), signature: new Uint8Array(65) },
    }),
    /invalid address: signature/,
  ],
  [
    'TIMESTAMP_IN_FUTURE',
    (ack: Shown, clock: ManualClock) => {
      const timestamp = BigInt(Math.floor(clock.now() / 1000)) + 3_600n;
      const { underlay, nonce, chequebook } = recordIn(ack);
      const signer = createSigner(testKey(2));
      const address = mintRecord(
        { underlay, nonce, timestamp, chequebook },
        { signer, networkId: NETWORK_ID },
      );
      return { ...ack, address };
    },
    /timestamp in future/,
  ],
] as const)('a peer refused with %s has one line at the default level', async (reason, spoiled, detail) => {
  const clock = new ManualClock();
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const node = await scriptedNode(clock, {}, { log: createLogger({ verbosity: 'info' }, { destination }) });
  for (let n = 0; n < 3; n++) {
    const stream = scriptedStream();
    node.accept(node.link(), NEWER, stream.raw);
    stream.inbox.push(encodeFrame(Syn, observed));
    stream.inbox.push(encodeFrame(Ack, spoiled(ackOf(clock), clock)));
    await clock.settle();
    expect(stream.over()).toBe(true);
  }
  const refused = { msg: 'peer refused', reason, remote: THEIR_ID, address: THEIR_ADDRESS };
  expect(lines).toEqual([expect.objectContaining({ ...refused, detail: expect.stringMatching(detail) })]);
});

test.each([
  ['nonsense', () => Uint8Array.of(1, 0xff)],
  [
    'another network',
    (clock: ManualClock) => encodeFrame(Ack, { ...ackOf(clock), networkId: NETWORK_ID + 1n }),
  ],
])(
  'a failed introduction (%s) of a connected peer ends a further connection of it, never the first',
  async (_what, spoiled) => {
    const { clock, node, connected, isServed } = await started();
    const [first, second] = [node.link(), node.link()];
    await introduce(node, first, { clock });
    for (const link of [second, first]) {
      const stream = scriptedStream();
      node.accept(link, NEWER, stream.raw);
      stream.inbox.push(encodeFrame(Syn, observed));
      stream.inbox.push(spoiled(clock));
      await clock.settle();
      expect(stream.over()).toBe(true);
    }
    expect(second.ended()).toBeDefined();
    expect(first.ended()).toBeUndefined();
    expect(connected).toEqual(['15.0.0']);
    expect(node.host.peers()).toHaveLength(1);
    expect(await isServed(first)).toBe(true);
  },
);

test('a second introduction whose stream the peer leaves open ends the connection that it came on', async () => {
  const { clock, node, isServed } = await started();
  const [first, second] = [node.link(), node.link()];
  await introduce(node, first, { clock });
  const stream = scriptedStream();
  node.accept(second, NEWER, stream.raw);
  stream.inbox.push(encodeFrame(Syn, observed));
  stream.inbox.push(encodeFrame(Ack, ackOf(clock)));
  await clock.advance(HANDSHAKE_TIMEOUT_MS);
  expect(second.ended()).toBeDefined();
  expect(first.ended()).toBeUndefined();
  expect(await isServed(first)).toBe(true);
});

test('a peer that an introduction has made ends when that fails, though it came by a further connection meanwhile', async () => {
  const { clock, node, connected } = await started();
  const dialled = scriptedStream();
  const written = Promise.withResolvers<void>();
  const drained = () => (dialled.written.length > 1 ? written.promise : undefined);
  node.dialled = node.link({ direction: 'outbound', stream: { ...dialled.raw, drained } });
  dialled.inbox.push(encodeFrame(SynAck, { syn: observed, ack: ackOf(clock) }));
  const failed = expect(node.host.connect([THEIR_ADDRESS], never)).rejects.toMatchObject({
    code: 'HANDSHAKE_FAILED',
  });
  await clock.settle();
  const second = node.link();
  await introduce(node, second, { clock });
  written.reject(new Error('gone'));
  await failed;
  // No hook has seen it.
  expect([connected, node.host.peers()]).toEqual([[], []]);
  expect(second.ended()).toBeDefined();
  await introduce(node, node.link(), { clock });
  expect(connected).toEqual(['15.0.0']);
});

test('an introduction that fails leaves a peer that another one on the same connection has made', async () => {
  const { clock, node, isServed } = await started();
  const dialled = scriptedStream();
  const link = node.link({ stream: dialled.raw });
  const failed = expect(node.host.connect([THEIR_UNDERLAY], never)).rejects.toMatchObject({
    code: 'HANDSHAKE_FAILED',
  });
  await clock.settle();
  await introduce(node, link, { clock });
  dialled.inbox.push(Uint8Array.of(1, 0xff));
  await failed;
  expect(node.host.peers()).toHaveLength(1);
  expect(link.ended()).toBeUndefined();
  expect(await isServed(link)).toBe(true);
});

test.each([
  ['it is known from the start', [THEIR_UNDERLAY], 0],
  ['else', undefined, 1],
])('a peer is asked where it listens unless %s', async (_case, known, times) => {
  const clock = new ManualClock();
  const node = await scriptedNode(clock, { listensAt: (id) => (id === THEIR_ID ? known : undefined) });
  let asked = 0;
  const link = Object.assign(node.link(), {
    async listenAddresses() {
      asked++;
      return [THEIR_UNDERLAY];
    },
  });
  const stream = await introduce(node, link, { clock });
  expect(asked).toBe(times);
  expect(Buffer.concat(stream.written).includes(Buffer.from(encodeUnderlays([THEIR_UNDERLAY])))).toBe(true);
});

test('a peer is served, and stays, while the disk takes no writes', async () => {
  const clock = new ManualClock();
  const disk = { full: true };
  const state = fillableRecords(disk);
  const node = await scriptedNode(clock, {}, { state, addressBook: createAddressBook(state) });
  const link = node.link();
  await introduce(node, link, { clock });
  expect(node.host.peers()).toHaveLength(1);
  expect(createAddressBook(state).overlays()).toEqual([]);
  disk.full = false;
  link.close(new Error('gone'));
  await introduce(node, node.link(), { clock });
  expect(createAddressBook(state).overlays()).toEqual([toHex(THEIR_OVERLAY)]);
});

test('a second connection of a peer belongs to it, and either may end', async () => {
  const { clock, node, connected, isServed } = await started();
  const [first, second] = [node.link(), node.link()];
  await introduce(node, first, { clock });
  await introduce(node, second, { clock });
  expect(connected).toEqual(['15.0.0']);
  expect([await isServed(first), await isServed(second)]).toEqual([true, true]);
  first.close(new Error('gone'));
  expect(node.host.peers()).toHaveLength(1);
  expect(await isServed(second)).toBe(true);
  second.close(new Error('gone'));
  expect(node.host.peers()).toEqual([]);
});

test('a peer is gone with the last connection on which it introduced itself; another may make it one again', async () => {
  const { clock, node, connected, isServed } = await started();
  const [bare, first] = [node.link(), node.link()];
  await introduce(node, first, { clock });
  expect(await isServed(bare)).toBe(true);
  first.close(new Error('gone'));
  expect(node.host.peers()).toEqual([]);
  expect(await isServed(bare)).toBe(false);
  await introduce(node, bare, { clock });
  expect(connected).toEqual(['15.0.0', '15.0.0']);
  const left = node.link();
  bare.close(new Error('gone'));
  await clock.advance(120_000);
  expect(left.ended()?.message).toBe('no introduction');
});

test('streams to a peer use a connection on which it introduced itself', async () => {
  const { clock, node } = await started();
  const opened: string[] = [];
  const link = (name: string) =>
    Object.assign(node.link(), {
      open: () => {
        opened.push(name);
        return scriptedStream().raw;
      },
    });
  // Dialled at the same time; the other side knows us by the second one, so far.
  const first = link('first');
  const second = link('second');
  await introduce(node, second, { clock });
  const [peer] = node.host.peers();
  const open = () => expect(node.host.open(peer as Peer, ECHO, {})).rejects.toThrow('no headers');
  const streams = [open()];
  await introduce(node, first, { clock });
  second.close(new Error('gone'));
  streams.push(open());
  await clock.advance(10_000);
  await Promise.all(streams);
  expect(opened).toEqual(['second', 'first']);
});

test('streams of a second identity with the same overlay are reset, and the first peer stays', async () => {
  const { clock, node, connected, isServed } = await started();
  const first = node.link();
  const second = node.link({ remoteId: '12D3KooWQfWt8bkbXCiSb6KW8r9q45sM42BG4Acwgme1iMEG2qDX' });
  await introduce(node, first, { clock });
  const stream = await introduce(node, second, { clock });
  expect(stream.over()).toBe(true);
  expect(second.ended()).toBeUndefined();
  expect(connected).toEqual(['15.0.0']);
  expect([await isServed(first), await isServed(second)]).toEqual([true, false]);
});

test("a node that shows another one's record does not become that peer, whichever side dials", async () => {
  const { clock, node, connected } = await started();
  const dialler = node.link({ remoteId: OTHER_ID });
  await introduce(node, dialler, { clock, named: THEIR_ID });
  expect(dialler.ended()?.message).toContain('peer id');
  const stream = scriptedStream();
  const dialled = node.link({ remoteId: OTHER_ID, direction: 'outbound', stream: stream.raw });
  node.dialled = dialled;
  stream.inbox.push(encodeFrame(SynAck, { syn: observed, ack: ackOf(clock) }));
  await expect(node.host.connect([THEIR_ADDRESS], never)).rejects.toMatchObject({ code: 'HANDSHAKE_FAILED' });
  expect(dialled.ended()).toBeDefined();
  expect(node.host.peers()).toEqual([]);
  await introduce(node, node.link(), { clock });
  expect(connected).toEqual(['15.0.0']);
});

test('a machine without a route knows that it has no network, until a connection succeeds', async () => {
  const { clock, node } = await started();
  node.failure = Object.assign(new Error('no route'), { code: 'ENETUNREACH' });
  await expect(node.host.connect([THEIR_ADDRESS], never)).rejects.toMatchObject({ code: 'DIAL_FAILED' });
  expect(node.host.networkStatus()).toBe('Unavailable');
  await introduce(node, node.link(), { clock });
  expect(node.host.networkStatus()).toBe('Available');
  node.failure = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
  await expect(node.host.connect(['/ip4/10.1.0.3/tcp/1'], never)).rejects.toMatchObject({
    code: 'DIAL_FAILED',
  });
  expect(node.host.networkStatus()).toBe('Available');
});

test('no peer is blocklisted while the machine has no network', async () => {
  const { clock, node } = await started();
  await introduce(node, node.link(), { clock });
  const [peer] = node.host.peers();
  node.failure = Object.assign(new Error('no route'), { code: 'ENETUNREACH' });
  await node.host.connect(['/ip4/10.1.0.3/tcp/1'], never).catch((error: unknown) => error);
  await expect(node.host.blocklist(peer?.overlayHex ?? '', 1_000, 'it did not pay')).rejects.toMatchObject({
    code: 'NETWORK_UNAVAILABLE',
  });
  expect(node.host.peers()).toEqual([peer]);
});

test('a single host that cannot be reached says nothing about the network while a peer is connected', async () => {
  const { clock, node } = await started();
  await introduce(node, node.link(), { clock });
  node.failure = Object.assign(new Error('no such host'), { code: 'EHOSTUNREACH' });
  const stoppedHost = () => node.host.connect(['/ip4/10.1.0.3/tcp/1'], never);
  await expect(stoppedHost()).rejects.toMatchObject({ code: 'DIAL_FAILED' });
  expect(node.host.networkStatus()).toBe('Available');
  const [peer] = node.host.peers();
  await node.host.disconnect(peer?.overlayHex ?? '', 'last one');
  await expect(stoppedHost()).rejects.toMatchObject({ code: 'DIAL_FAILED' });
  expect(node.host.networkStatus()).toBe('Unavailable');
});

test('an address of a family over which no peer is connected says nothing about the network', async () => {
  const { clock, node } = await started();
  await introduce(node, node.link(), { clock });
  node.failure = Object.assign(new Error('no route'), { code: 'ENETUNREACH' });
  const unrouted = () => node.host.connect(['/ip6/2001:db8::1/tcp/1634'], never);
  await expect(unrouted()).rejects.toMatchObject({ code: 'DIAL_FAILED' });
  expect(node.host.networkStatus()).toBe('Available');
  const [peer] = node.host.peers();
  await node.host.blocklist(peer?.overlayHex ?? '', 1_000, 'it did not pay');
  expect(node.host.peers()).toEqual([]);
  await expect(unrouted()).rejects.toMatchObject({ code: 'DIAL_FAILED' });
  expect(node.host.networkStatus()).toBe('Unavailable');
});

test.each([
  ['a new peer', false],
  ['a connected one', true],
])(
  'a dial to %s ends with its signal, although the other side leaves the handshake open',
  async (_name, known) => {
    const { clock, node } = await started();
    if (known) await introduce(node, node.link(), { clock });
    const { raw, inbox } = scriptedStream();
    const link = node.link({ remoteId: known ? OTHER_ID : THEIR_ID, direction: 'outbound', stream: raw });
    node.dialled = link;
    inbox.push(encodeFrame(SynAck, { syn: observed, ack: ackOf(clock, { named: link.remoteId }) }));
    const controller = new AbortController();
    const failures: unknown[] = [];
    node.host.connect([THEIR_ADDRESS], controller.signal).catch((error: unknown) => failures.push(error));
    await clock.settle();
    const reason = new Error('the node stops');
    controller.abort(reason);
    await clock.settle();
    expect(failures).toEqual([reason]);
    expect(node.host.peers()).toHaveLength(known ? 1 : 0);
    expect(link.ended()).toBeDefined();
  },
);
