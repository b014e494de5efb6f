import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { identityOf } from '../../../../../../harness/places/links/tap/identity.ts';
import { createSecure } from '../../../../../../node/p2p/libp2p/channel.ts';
import { ProposedStream, proposeInTurn } from '../../../../../../node/p2p/libp2p/multistream.ts';
import { YAMUX_ID } from '../../../../../../node/p2p/libp2p/yamux.ts';
import { generateDhKey } from '../../../../../../node/p2p/noise/noise.ts';
import {
  NOISE_ID,
  noiseIdentity,
  noiseOutbound,
  StaticKeyProofs,
} from '../../../../../../node/p2p/noise/noise-stream.ts';
import type { TcpConnection } from '../../../../../../node/p2p/tcp-host.ts';
import { all, eventsOf, type KeyKind, multiplexed, newKey, rest, secured, tapOf, tapped } from './kit.ts';

const MIB = 2 ** 20;
const ODD = '/odd/1.0.0';

/** A multiplexer at either end. */
async function connected(kind: KeyKind = 'ed25519', pieceOf?: () => number) {
  const keys = [newKey(kind), newKey(kind)] as const;
  const tap = tapOf(keys);
  const link = tapped(tap, pieceOf);
  const [near, far] = await secured(link, keys);
  return {
    tap,
    link,
    ids: keys.map((key) => identityOf(key).peerId),
    remoteIds: [near.remoteId, far.remoteId],
    dialler: multiplexed(near.stream, true),
    node: multiplexed(far.stream, false),
  };
}

const kindsOf = async (tap: Parameters<typeof eventsOf>[0]) =>
  (await eventsOf(tap)).map(({ from, to, protocol, kind, name }) =>
    `${from} ${to} ${protocol} ${kind} ${name}`.trim(),
  );

test.each(['ed25519', 'P-256', 'secp256k1'] as const)(
  'two nodes with keys of kind %s see each other through the tap, and a mebibyte in odd pieces passes both ways',
  async (kind) => {
    let size = 1;
    const { ids, remoteIds, dialler, node, link } = await connected(
      kind,
      () => (size = (size * 7919) % 70_001),
    );
    expect(remoteIds).toEqual(ids.toReversed());
    const bytes = randomBytes(MIB);
    const stream = dialler.session.open();
    stream.write(bytes);
    stream.closeWrite();
    await rest();
    const other = node.accepted[0];
    if (other === undefined) throw new TypeError('no stream');
    other.write(bytes);
    const [there] = await Promise.all([all(other), rest()]);
    expect(there.equals(bytes)).toBe(true);
    // Its end came first: the other direction is still open.
    other.closeWrite();
    expect((await all(stream)).equals(bytes)).toBe(true);
    expect(link.broken).toEqual([]);
  },
);

test('a reset arrives as one, and is told with its direction', async () => {
  const { tap, dialler, node } = await connected();
  const [first, second] = [dialler.session.open(), dialler.session.open()];
  for (const stream of [first, second]) new ProposedStream(stream, ODD).write(Buffer.from('hello'));
  await rest();
  const [other, another] = node.accepted;
  first.reset(new Error('enough'));
  await rest();
  await expect(other === undefined ? undefined : all(other)).rejects.toMatchObject({ code: 'STREAM_RESET' });
  another?.reset(new Error('enough'));
  await rest();
  await expect(all(second)).rejects.toMatchObject({ code: 'STREAM_RESET' });
  expect((await kindsOf(tap)).filter((line) => line.endsWith('reset'))).toEqual([
    `node-0 node-1 ${ODD} end reset`,
    `node-1 node-0 ${ODD} end reset`,
  ]);
});

test('a node that names no multiplexer in the handshake agrees on one afterwards', async () => {
  const keys = [newKey('ed25519'), newKey('P-256')] as const;
  const tap = tapOf(keys);
  const link = tapped(tap);
  const own = noiseIdentity(identityOf(keys[0]), generateDhKey(), {
    muxers: [],
    proofs: new StaticKeyProofs(),
  });
  const signal = new AbortController().signal;
  const listener = createSecure(identityOf(keys[1]))(
    { raw: link.node } as unknown as TcpConnection,
    'listener',
    {
      signal,
    },
  );
  const bare = new ProposedStream(link.dialler, NOISE_ID);
  await bare.agreed();
  const channel = await noiseOutbound(bare, own, identityOf(keys[1]).peerId);
  expect(channel.muxers).toEqual([YAMUX_ID]);
  const agreed = new ProposedStream(channel.stream, YAMUX_ID);
  await agreed.agreed();
  const [near, far] = [multiplexed(agreed, true), multiplexed((await listener).stream, false)];
  near.session.open().write(Buffer.from('hello'));
  await rest();
  expect(Buffer.from(far.accepted[0]?.take() ?? []).toString()).toBe('hello');
  expect((await kindsOf(tap))[0]).toBe('node-0 node-1 noise opened');
  expect((await kindsOf(tap)).filter((line) => line.includes('message') && line.includes(' noise '))).toEqual(
    [],
  );
});

test('a dialler that prefers TLS speaks noise', async () => {
  const keys = [newKey('P-256'), newKey('P-256')] as const;
  const link = tapped(tapOf(keys));
  const signal = new AbortController().signal;
  const listener = createSecure(identityOf(keys[1]))(
    { raw: link.node } as unknown as TcpConnection,
    'listener',
    {
      signal,
    },
  );
  const { protocolId, stream } = await proposeInTurn(link.dialler, ['/tls/1.0.0', NOISE_ID]);
  expect(protocolId).toBe(NOISE_ID);
  const own = noiseIdentity(identityOf(keys[0]), generateDhKey(), {
    muxers: [YAMUX_ID],
    proofs: new StaticKeyProofs(),
  });
  await noiseOutbound(stream, own, identityOf(keys[1]).peerId);
  expect((await listener).remoteId).toBe(identityOf(keys[0]).peerId);
});

test('a peer that no node has the key of passes under another identity, and is told by its own', async () => {
  const keys = [newKey('ed25519'), newKey('ed25519')] as const;
  const stranger = newKey('ed25519');
  const tap = tapOf(keys);
  const [near, far] = await secured(tapped(tap), [stranger, keys[1]]);
  expect(near.remoteId).toBe(identityOf(keys[1]).peerId);
  expect([identityOf(stranger).peerId, identityOf(keys[0]).peerId]).not.toContain(far.remoteId);
  expect(await eventsOf(tap)).toMatchObject([
    { kind: 'opened', from: identityOf(stranger).peerId, to: 'node-1' },
  ]);
});

test('a node with another key than is known ends that connection, and the next one passes as it is', async () => {
  const keys = [newKey('ed25519'), newKey('ed25519')] as const;
  const tap = tapOf(keys);
  const link = tapped(tap);
  await expect(secured(link, [keys[0], newKey('ed25519')])).rejects.toThrow();
  expect(link.broken).toMatchObject([{ code: 'IDENTITY_INVALID' }]);
  expect(await eventsOf(tap)).toMatchObject([{ kind: 'end', name: 'failed', to: 'node-1' }]);
  expect(tap.relay('node-1', ['node-0'], () => undefined)).toBeUndefined();
  expect(tap.relay('node-0', ['node-1'], () => undefined)).toBeDefined();
});

test('a stranger passes as it is', () => {
  expect(tapOf([newKey('ed25519'), newKey('ed25519')]).relay('node-1', [], () => undefined)).toBeUndefined();
});

test('an end during the handshake tells nothing, and a broken handshake why', async () => {
  const keys = [newKey('ed25519'), newKey('ed25519')] as const;
  const tap = tapOf(keys);
  const ended = tapped(tap);
  const agreed = proposeInTurn(ended.dialler, [NOISE_ID]);
  ended.node.write(Buffer.from('\x13/multistream/1.0.0\n\x07/noise\n'));
  await agreed;
  ended.relay.closed();
  expect(await eventsOf(tap)).toEqual([]);
  const broken = tapped(tap);
  broken.dialler.write(Buffer.from('\x13/multistream/1.0.0\n\x07/noise\n'));
  broken.node.write(Buffer.from('\x13/multistream/1.0.0\n\x07/noise\n'));
  broken.dialler.write(Buffer.concat([Buffer.of(0, 32), Buffer.alloc(32, 9)]));
  broken.node.write(Buffer.concat([Buffer.of(0, 200), Buffer.alloc(200, 7)]));
  expect(broken.broken).toHaveLength(1);
  expect(await eventsOf(tap)).toMatchObject([{ kind: 'end', name: 'failed' }]);
});

test('a changed message ends the connection, and its conversations are lost', async () => {
  const { tap, link, dialler } = await connected();
  new ProposedStream(dialler.session.open(), ODD).write(Buffer.from('hello'));
  await rest();
  link.dialler.write(Buffer.concat([Buffer.of(0, 40), Buffer.alloc(40, 1)]));
  expect(link.broken).toMatchObject([{ code: 'NOISE_FAILED' }]);
  expect((await kindsOf(tap)).slice(-2)).toEqual([
    `node-0 node-1 ${ODD} end lost`,
    'node-0 node-1 noise end failed',
  ]);
});

test('what is no libp2p passes byte for byte', () => {
  const { relay } = tapped(tapOf([newKey('ed25519'), newKey('ed25519')]));
  const request = Buffer.from('GET / HTTP/1.1\r\n\r\n');
  for (let at = 0; at < request.length; at += 5) {
    const piece = request.subarray(at, at + 5);
    expect(relay.up(piece).equals(piece)).toBe(true);
  }
  const answer = Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n');
  expect(relay.down(answer).equals(answer)).toBe(true);
});
