import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type {
  MessageActions,
  MessageRule,
} from '../../../../../../../harness/places/links/tap/faults/rule.ts';
import { SWAP_MAX_MS } from '../../../../../../../harness/places/links/tap/faults/way.ts';
import { encodeLine } from '../../../../../../../harness/places/links/tap/lines.ts';
import type { Tap } from '../../../../../../../harness/places/links/tap/tap.ts';
import { encodeFrame } from '../../../../../../../node/p2p/codec/codec.ts';
import type { YamuxStream } from '../../../../../../../node/p2p/libp2p/yamux.ts';
import { HeadersMessage } from '../../../../../../../node/p2p/stream/headers.ts';
import { HIVE, Peers } from '../../../../../../../node/protocols/hive/wire.ts';
import { all, eventsOf, multiplexed, newKey, rest, secured, tapOf, tapped } from '../kit.ts';

const ID = Object.values(HIVE)[0]?.id ?? '';
const ODD = '/odd/1.0.0';
const MIB = 2 ** 20;
const RULE: MessageRule = {
  between: [['node-0'], ['node-1']],
  oneWay: false,
  protocol: 'hive',
  message: 'peers',
  share: 1,
  seed: '7',
  actions: {},
};
const opening = Buffer.concat([
  encodeLine('/multistream/1.0.0'),
  encodeLine(ID),
  encodeFrame(HeadersMessage, { headers: [] }),
]);

/** Its size tells it apart. */
const peers = (size: number) => encodeFrame(Peers, { peers: [{ underlay: Buffer.alloc(size, 1) }] as never });

/** A multiplexer at either end. */
async function connected(actions: MessageActions, rule: Partial<MessageRule> = {}, pieceOf?: () => number) {
  const keys = [newKey('ed25519'), newKey('ed25519')] as const;
  const tap = tapOf(keys);
  const link = tapped(tap, pieceOf);
  const [near, far] = await secured(link, keys);
  const [dialler, node] = [multiplexed(near.stream, true), multiplexed(far.stream, false)];
  await tap.beginMessages('r', { ...RULE, ...rule, actions });
  /** Both ends have agreed and said their headers. */
  const opened = async (open = dialler, accept = node): Promise<readonly [YamuxStream, YamuxStream]> => {
    const stream = open.session.open();
    stream.write(opening);
    await rest();
    const other = accept.accepted.at(-1);
    if (other === undefined) throw new TypeError('no stream');
    other.write(opening);
    await rest();
    expect(taken(other)).toEqual(opening);
    expect(taken(stream)).toEqual(opening);
    return [stream, other];
  };
  return { tap, link, dialler, node, opened, effect: () => tap.messageEffect('r') };
}

function taken(stream: YamuxStream): Buffer {
  const parts: Uint8Array[] = [];
  for (let part = stream.take(); part !== undefined; part = stream.take()) parts.push(part);
  return Buffer.concat(parts);
}

test('a dropped message and all that follows it on its stream do not arrive, and other streams go on', async () => {
  const { tap, opened, effect, dialler, node } = await connected({ drop: 'hang' }, { first: 1 });
  const [stream, other] = await opened();
  stream.write(peers(10));
  stream.write(peers(11));
  stream.closeWrite();
  await rest();
  expect(taken(other)).toHaveLength(0);
  // The other direction is open, and its end passes.
  other.write(peers(12));
  other.closeWrite();
  await rest();
  expect((await all(stream)).equals(peers(12))).toBe(true);
  const [second, another] = await opened();
  second.write(peers(13));
  second.closeWrite();
  expect((await all(another)).equals(peers(13))).toBe(true);
  expect(await effect()).toMatchObject({ 'messages dropped': 1 });
  expect((await eventsOf(tap)).filter(({ fields }) => fields['fault'] === 'dropped')).toHaveLength(1);
  another.closeWrite();
  other.reset(new Error('enough'));
  await rest();
  expect([dialler.session.streams, node.session.streams]).toEqual([0, 0]);
});

test('a message is dropped by a reset of its stream, at both ends', async () => {
  const { tap, opened, effect } = await connected({ drop: 'reset' }, { first: 1 });
  const [stream, other] = await opened();
  stream.write(peers(10));
  await rest();
  await expect(all(stream)).rejects.toMatchObject({ code: 'STREAM_RESET' });
  await expect(all(other)).rejects.toMatchObject({ code: 'STREAM_RESET' });
  expect(await effect()).toMatchObject({ 'messages dropped': 1 });
  const told = (await eventsOf(tap)).map(({ kind, name }) => `${kind} ${name}`);
  expect(told.slice(-2)).toEqual(['message peers', 'end reset']);
  const [second, another] = await opened();
  second.write(peers(11));
  second.closeWrite();
  expect((await all(another)).equals(peers(11))).toBe(true);
});

test('a delayed message arrives late, what follows waits for it, and so does the half-close', async () => {
  const { opened, effect } = await connected({ delayMs: [150, 200] }, { first: 1 });
  const [stream, other] = await opened();
  const startedAt = performance.now();
  stream.write(peers(10));
  stream.write(peers(11));
  stream.closeWrite();
  // Meanwhile the other direction passes.
  other.write(peers(12));
  await rest();
  expect(taken(stream).equals(peers(12))).toBe(true);
  expect(taken(other)).toHaveLength(0);
  expect((await all(other)).equals(Buffer.concat([peers(10), peers(11)]))).toBe(true);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(149);
  expect(performance.now() - startedAt).toBeLessThan(5000);
  other.closeWrite();
  expect(await all(stream)).toHaveLength(0);
  expect(await effect()).toMatchObject({ 'messages delayed': 1 });
});

test.each(['its sender', 'its receiver'])(
  'a reset by %s does not wait for a delayed message',
  async (who) => {
    const { opened, dialler, node } = await connected({ delayMs: [60_000, 60_000] });
    const [stream, other] = await opened();
    stream.write(peers(10));
    await rest();
    const [resets, notices] = who === 'its sender' ? [stream, other] : [other, stream];
    resets.reset(new Error('enough'));
    await expect(all(notices)).rejects.toMatchObject({ code: 'STREAM_RESET' });
    await rest();
    expect([dialler.session.streams, node.session.streams]).toEqual([0, 0]);
  },
);

test('a duplicated message arrives twice, beyond the window of its receiver, and the sender sends on', async () => {
  const { opened, effect, link } = await connected({ duplicate: true });
  const [stream, other] = await opened();
  const sizes = Array.from({ length: 20 }, (_, index) => 50_000 + index);
  const expected = Buffer.concat(sizes.flatMap((size) => [peers(size), peers(size)]));
  for (const size of sizes) stream.write(peers(size));
  stream.closeWrite();
  await rest();
  // Twice the window would have broken the connection.
  const [got] = await Promise.all([all(other), rest()]);
  expect(got.equals(expected)).toBe(true);
  expect(link.broken).toEqual([]);
  expect(await effect()).toMatchObject({ 'messages duplicated': 20 });
});

test('a reordered message arrives after the next one, and one without a next one before the end', async () => {
  const { opened, effect } = await connected({ reorder: true }, { first: 1 });
  const [stream, other] = await opened();
  for (const size of [10, 11, 12]) stream.write(peers(size));
  stream.closeWrite();
  expect((await all(other)).equals(Buffer.concat([11, 10, 12].map(peers)))).toBe(true);
  expect(await effect()).toMatchObject({ 'messages reordered': 1 });
  const lonely = await connected({ reorder: true });
  const [single, receiver] = await lonely.opened();
  single.write(peers(10));
  await rest();
  expect(taken(receiver)).toHaveLength(0);
  single.closeWrite();
  expect((await all(receiver)).equals(peers(10))).toBe(true);
  expect(await lonely.effect()).toMatchObject({ 'messages reordered': 0 });
});

test('a message that is reordered and duplicated arrives twice after the next one', async () => {
  const { opened, effect } = await connected({ reorder: true, duplicate: true }, { first: 1 });
  const [stream, other] = await opened();
  stream.write(peers(10));
  stream.write(peers(11));
  stream.closeWrite();
  expect((await all(other)).equals(Buffer.concat([peers(11), peers(10), peers(10)]))).toBe(true);
  expect(await effect()).toMatchObject({ 'messages duplicated': 1, 'messages reordered': 1 });
});

test('a message waits only so long for the next one', async () => {
  const { opened } = await connected({ reorder: true });
  const [stream, other] = await opened();
  const startedAt = performance.now();
  stream.write(peers(10));
  expect(Buffer.from((await other.read()) ?? [])).toEqual(Buffer.from(peers(10)));
  expect(performance.now() - startedAt).toBeGreaterThan(SWAP_MAX_MS - 50);
}, 20_000);

test('a message is sent again later in a stream of its own, and its sender hears nothing of it', async () => {
  const { tap, opened, effect, dialler, node, link } = await connected({ replayMs: 50 }, { first: 1 });
  const [stream, other] = await opened();
  for (const size of [10, 11]) stream.write(peers(size));
  stream.closeWrite();
  expect((await all(other)).equals(Buffer.concat([peers(10), peers(11)]))).toBe(true);
  other.closeWrite();
  await expect.poll(() => node.accepted.length).toBe(2);
  const again = node.accepted[1] as YamuxStream;
  // All that came before it is said again, and nothing that came after it.
  expect((await all(again)).equals(Buffer.concat([opening, peers(10)]))).toBe(true);
  again.write(opening);
  again.closeWrite();
  await rest();
  expect([dialler.session.streams, node.session.streams, dialler.accepted.length]).toEqual([0, 0, 0]);
  expect(await effect()).toMatchObject({ 'messages replayed': 1 });
  const told = (await eventsOf(tap)).filter(({ protocol }) => protocol === 'hive');
  expect(told.filter(({ fields }) => fields['fault'] === 'replayed')).toMatchObject([
    { name: 'peers', from: 'node-0', to: 'node-1', stream: expect.not.stringMatching(told[0]?.stream ?? '') },
  ]);
  expect(told.filter(({ kind }) => kind === 'end').map(({ name }) => name)).toEqual(['closed', 'closed']);
  // The connection goes on, either way.
  for (const ends of [[dialler, node] as const, [node, dialler] as const]) {
    const [second, another] = await opened(...ends);
    second.write(peers(12));
    second.closeWrite();
    expect((await all(another)).equals(peers(12))).toBe(true);
  }
  expect(link.broken).toEqual([]);
});

async function keptOf(tap: Tap): Promise<number> {
  return (await eventsOf(tap)).filter(({ fields }) => fields['fault'] === 'kept for a replay').length;
}

test('a stream whose beginning was not kept is not replayed, and uses nothing up', async () => {
  const { tap, opened, node } = await connected({ delayMs: [0, 0] }, { message: undefined });
  const [stream, other] = await opened();
  await tap.beginMessages('again', { ...RULE, first: 1, actions: { replayMs: 20 } });
  stream.write(peers(10));
  stream.closeWrite();
  expect((await all(other)).equals(peers(10))).toBe(true);
  expect(await keptOf(tap)).toBe(0);
  const [second, another] = await opened();
  second.write(peers(11));
  second.closeWrite();
  expect((await all(another)).equals(peers(11))).toBe(true);
  await expect.poll(() => node.accepted.length).toBe(3);
  expect((await all(node.accepted[2] as YamuxStream)).equals(Buffer.concat([opening, peers(11)]))).toBe(true);
  expect(await tap.messageEffect('again')).toMatchObject({ 'messages replayed': 1 });
});

test('what is too much to be said again is not replayed, and uses nothing up', async () => {
  const { tap, opened } = await connected({ replayMs: 60_000 }, { first: 6 });
  const [stream, other] = await opened();
  for (let count = 0; count < 6; count++) stream.write(peers(50_000));
  stream.closeWrite();
  await Promise.all([all(other), rest()]);
  // The sixth is beyond 256 KiB.
  expect(await keptOf(tap)).toBe(5);
  const [second, another] = await opened();
  for (const size of [10, 11]) second.write(peers(size));
  second.closeWrite();
  await all(another);
  expect(await keptOf(tap)).toBe(6);
});

test('a reset of a replayed stream does not reach the end in whose name it was opened', async () => {
  const { opened, node, dialler, effect } = await connected(
    { replayMs: 20 },
    { between: [['node-1'], ['node-0']] },
  );
  const [stream, other] = await opened(node, dialler);
  stream.write(peers(10));
  stream.closeWrite();
  expect((await all(other)).equals(peers(10))).toBe(true);
  other.closeWrite();
  await expect.poll(() => dialler.accepted.length).toBe(2);
  dialler.accepted[1]?.reset(new Error('said before'));
  await rest();
  expect(await effect()).toMatchObject({ 'messages replayed': 1 });
  expect([dialler.session.streams, node.session.streams, node.accepted.length]).toEqual([0, 0, 0]);
});

test('a corrupted message has its length, and one bit that is different', async () => {
  const { opened, effect } = await connected({ corrupt: 'peers' });
  const [stream, other] = await opened();
  stream.write(peers(1000));
  stream.closeWrite();
  const got = await all(other);
  const sent = Buffer.from(peers(1000));
  expect(got).toHaveLength(sent.length);
  expect(got.filter((byte, index) => byte !== sent[index])).toHaveLength(1);
  expect(await effect()).toMatchObject({ 'messages corrupted': 1 });
});

test('streams of the node that was dialled are changed, too, and one direction can be spared', async () => {
  const { opened, dialler, node, effect } = await connected({ drop: 'hang' }, { oneWay: true });
  const [stream, other] = await opened(node, dialler);
  stream.write(peers(10));
  stream.closeWrite();
  expect((await all(other)).equals(peers(10))).toBe(true);
  expect(await effect()).toMatchObject({ 'messages dropped': 0 });
});

test('beside a rule, a mebibyte of another protocol passes both ways in odd pieces, with its half-closes', async () => {
  let size = 1;
  const { link, dialler, node } = await connected(
    { drop: 'hang' },
    {},
    () => (size = (size * 7919) % 70_001),
  );
  const bytes = randomBytes(MIB);
  const head = Buffer.concat([encodeLine('/multistream/1.0.0'), encodeLine(ODD)]);
  const stream = dialler.session.open();
  stream.write(Buffer.concat([head, bytes]));
  stream.closeWrite();
  await rest();
  const other = node.accepted[0];
  if (other === undefined) throw new TypeError('no stream');
  other.write(Buffer.concat([head, bytes]));
  const [there] = await Promise.all([all(other), rest()]);
  expect(there.equals(Buffer.concat([head, bytes]))).toBe(true);
  other.closeWrite();
  expect((await all(stream)).equals(Buffer.concat([head, bytes]))).toBe(true);
  expect(link.broken).toEqual([]);
  await rest();
  expect([dialler.session.streams, node.session.streams]).toEqual([0, 0]);
});

test('a mebibyte that is no message of its protocol passes', async () => {
  const { opened, effect } = await connected({ drop: 'hang' });
  const [stream, other] = await opened();
  const bytes = Buffer.concat([Buffer.from('ffffff7f', 'hex'), randomBytes(MIB)]);
  stream.write(bytes);
  stream.closeWrite();
  expect((await all(other)).equals(bytes)).toBe(true);
  expect(await effect()).toMatchObject({ 'messages dropped': 0 });
});

test('a backlog that waits is no longer than the window of its stream, and is counted until it goes on', async () => {
  const { opened, link } = await connected({ delayMs: [300, 300] });
  const [stream, other] = await opened();
  const messages = Array.from({ length: 20 }, (_, index) => peers(50_000 + index));
  for (const message of messages) stream.write(message);
  stream.closeWrite();
  await rest();
  expect(link.relay.held('up')).toBeGreaterThan(200_000);
  expect(link.relay.held('up')).toBeLessThanOrEqual(262_144);
  expect((await all(other)).equals(Buffer.concat(messages))).toBe(true);
  expect(link.relay.held('up')).toBe(0);
});

test('streams that were open before, and those after its end, pass as they are', async () => {
  const { tap, opened, effect, dialler, node } = await connected({ drop: 'hang' });
  await tap.endMessages('r');
  const [before, other] = await opened();
  await tap.beginMessages('again', { ...RULE, actions: { drop: 'hang' } });
  before.write(peers(10));
  before.closeWrite();
  expect((await all(other)).equals(peers(10))).toBe(true);
  const [during, hangs] = await opened();
  during.write(peers(11));
  await sleep(20);
  expect(taken(hangs)).toHaveLength(0);
  during.reset(new Error('enough'));
  await tap.endMessages('again');
  const [after, another] = await opened();
  after.write(peers(12));
  after.closeWrite();
  expect((await all(another)).equals(peers(12))).toBe(true);
  for (const one of [other, another]) one.closeWrite();
  await rest();
  expect([dialler.session.streams, node.session.streams]).toEqual([0, 0]);
  expect(await effect()).toMatchObject({ 'messages dropped': 0 });
});

test('a stream is cut some time after a message, which arrives, and other streams go on', async () => {
  const { tap, opened, effect, dialler, node } = await connected({ cutMs: 20 }, { first: 1 });
  const [stream, other] = await opened();
  const arriving = other.read();
  stream.write(peers(10));
  expect(Buffer.from((await arriving) ?? []).equals(peers(10))).toBe(true);
  await expect(other.read()).rejects.toThrow('reset');
  await expect.poll(() => [dialler.session.streams, node.session.streams]).toEqual([0, 0]);
  expect(await effect()).toMatchObject({ 'streams cut': 1 });
  const told = (await eventsOf(tap)).filter(({ protocol }) => protocol === 'hive');
  expect(told.at(-1)).toMatchObject({ kind: 'end', name: 'reset' });
  const [second, another] = await opened();
  second.write(peers(11));
  second.closeWrite();
  expect((await all(another)).equals(peers(11))).toBe(true);
  another.closeWrite();
});

test('a stream that ends before it would be cut ends as it does, and does not count', async () => {
  const { opened, effect, dialler, node } = await connected({ cutMs: 60_000 });
  const [stream, other] = await opened();
  stream.write(peers(10));
  stream.closeWrite();
  expect((await all(other)).equals(peers(10))).toBe(true);
  other.closeWrite();
  await expect.poll(() => [dialler.session.streams, node.session.streams]).toEqual([0, 0]);
  expect(await effect()).toMatchObject({ 'streams cut': 0 });
});
