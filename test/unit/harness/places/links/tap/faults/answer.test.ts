import { expect, test } from 'vitest';
import { encodedAnswer } from '../../../../../../../harness/places/links/tap/faults/answer.ts';
import type {
  MessageAnswer,
  MessageRule,
} from '../../../../../../../harness/places/links/tap/faults/rule.ts';
import { expectKnown } from '../../../../../../../harness/places/links/tap/faults/rules.ts';
import { encodeLine } from '../../../../../../../harness/places/links/tap/lines.ts';
import { decodeMessage, encodeFrame } from '../../../../../../../node/p2p/codec/codec.ts';
import type { YamuxStream } from '../../../../../../../node/p2p/libp2p/yamux.ts';
import { HeadersMessage } from '../../../../../../../node/p2p/stream/headers.ts';
import { Ack, Offer } from '../../../../../../../node/protocols/pullsync/wire.ts';
import { Receipt } from '../../../../../../../node/protocols/pushsync/wire.ts';
import { Delivery, RETRIEVAL, Request } from '../../../../../../../node/protocols/retrieval/wire.ts';
import { Snapshot } from '../../../../../../../node/protocols/status/wire.ts';
import { all, eventsOf, multiplexed, newKey, rest, secured, tapOf, tapped } from '../kit.ts';

const RULE: MessageRule = {
  between: [['node-0'], ['node-1']],
  oneWay: false,
  protocol: 'retrieval',
  message: 'request',
  share: 1,
  seed: '7',
  actions: { answer: 'error' },
};
const lines = Buffer.concat([encodeLine('/multistream/1.0.0'), encodeLine(RETRIEVAL.id)]);
const headers = encodeFrame(HeadersMessage, { headers: [] });
const request = encodeFrame(Request, { addr: Buffer.alloc(32, 7) });
const refusal = Buffer.from(encodeFrame(Delivery, { err: 'refused' }));

async function asked(rule: Partial<MessageRule> = {}) {
  const keys = [newKey('ed25519'), newKey('ed25519')] as const;
  const tap = tapOf(keys);
  const link = tapped(tap);
  const [near, far] = await secured(link, keys);
  const [dialler, node] = [multiplexed(near.stream, true), multiplexed(far.stream, false)];
  await tap.beginMessages('r', { ...RULE, ...rule });
  const open = async (): Promise<readonly [YamuxStream, YamuxStream]> => {
    const stream = dialler.session.open();
    stream.write(Buffer.concat([lines, headers, request]));
    await rest();
    const other = node.accepted.at(-1);
    if (other === undefined) throw new TypeError('no stream');
    return [stream, other];
  };
  const streams = () => [dialler.session.streams, node.session.streams];
  return { tap, link, open, streams, effect: () => tap.messageEffect('r') };
}

function taken(stream: YamuxStream): Buffer {
  const parts: Uint8Array[] = [];
  for (let part = stream.take(); part !== undefined; part = stream.take()) parts.push(part);
  return Buffer.concat(parts);
}

test('a request is answered once the peer has said its headers, which then sees a reset', async () => {
  const { tap, link, open, streams, effect } = await asked({ first: 1 });
  const [stream, other] = await open();
  other.write(lines);
  await rest();
  // They have agreed, and no more.
  expect(taken(stream)).toEqual(lines);
  // What is said after the headers comes too late.
  other.write(Buffer.concat([headers, encodeFrame(Delivery, { data: Buffer.alloc(4104) })]));
  expect((await all(stream)).equals(Buffer.concat([headers, refusal]))).toBe(true);
  await expect(all(other)).rejects.toMatchObject({ code: 'STREAM_RESET' });
  stream.closeWrite();
  await rest();
  expect(streams()).toEqual([0, 0]);
  expect(await effect()).toMatchObject({ 'messages answered': 1, 'messages dropped': 0 });
  const told = (await eventsOf(tap)).filter(({ protocol }) => protocol === 'retrieval');
  expect(told).toMatchObject([
    { kind: 'opened' },
    { name: 'request', from: 'node-0', fields: { fault: 'answered' } },
    { name: 'delivery', from: 'node-1', fields: { err: 'refused', fault: 'made up' } },
    { kind: 'end', name: 'closed' },
  ]);
  // The connection goes on, and the second request arrives.
  const [second, another] = await open();
  another.write(Buffer.concat([lines, headers, refusal]));
  another.closeWrite();
  second.closeWrite();
  expect((await all(another)).equals(Buffer.concat([lines, headers, request]))).toBe(true);
  expect((await all(second)).equals(Buffer.concat([lines, headers, refusal]))).toBe(true);
  expect(link.broken).toEqual([]);
});

test.each(['ended', 'reset'])('an opener that has %s meanwhile leaves no stream behind', async (how) => {
  const { tap, open, streams } = await asked();
  const [stream, other] = await open();
  if (how === 'ended') stream.closeWrite();
  else stream.reset(new Error('enough'));
  await rest();
  if (how === 'ended') {
    other.write(Buffer.concat([lines, headers]));
    expect((await all(stream)).equals(Buffer.concat([lines, headers, refusal]))).toBe(true);
  }
  await expect(all(other)).rejects.toMatchObject({ code: 'STREAM_RESET' });
  await rest();
  expect(streams()).toEqual([0, 0]);
  const ends = (await eventsOf(tap)).filter(({ kind }) => kind === 'end');
  expect(ends.map(({ name }) => name)).toEqual([how === 'ended' ? 'closed' : 'reset']);
});

test('an answer that another rule resets is a reset stream for both ends', async () => {
  const { tap, open, streams } = await asked();
  await tap.beginMessages('s', { ...RULE, message: 'delivery', actions: { drop: 'reset' } });
  const [stream, other] = await open();
  other.write(Buffer.concat([lines, headers]));
  for (const end of [stream, other]) {
    await expect(all(end)).rejects.toMatchObject({ code: 'STREAM_RESET' });
  }
  await rest();
  expect(streams()).toEqual([0, 0]);
  expect(await tap.messageEffect('s')).toMatchObject({ 'messages dropped': 1 });
});

test('a request that the peer has answered already arrives, and does not count', async () => {
  const { open, effect } = await asked({ share: 1, first: 1 });
  // Only a stream that is asked later shows it: here the answer comes before the request.
  const keys = [newKey('ed25519'), newKey('ed25519')] as const;
  const tap = tapOf(keys);
  const [near, far] = await secured(tapped(tap), keys);
  const [dialler, node] = [multiplexed(near.stream, true), multiplexed(far.stream, false)];
  await tap.beginMessages('r', RULE);
  const stream = dialler.session.open();
  stream.write(Buffer.concat([lines, headers]));
  await rest();
  const other = node.accepted[0] as YamuxStream;
  other.write(Buffer.concat([lines, headers, encodeFrame(Delivery, { err: 'no more' })]));
  await rest();
  stream.write(request);
  stream.closeWrite();
  expect((await all(other)).equals(Buffer.concat([lines, headers, request]))).toBe(true);
  expect(await tap.messageEffect('r')).toMatchObject({ 'messages answered': 0 });
  await open();
  expect(await effect()).toMatchObject({ 'messages answered': 1 });
});

test('an answer has the fields that are given, as the kinds of the table have them', () => {
  const receipt = { address: `0x${'6f'.repeat(32)}`, storageRadius: 3, err: 'no room' };
  expect(decodeMessage(Receipt, encodedAnswer(receipt, Receipt))).toMatchObject({
    address: new Uint8Array(32).fill(0x6f),
    signature: new Uint8Array(0),
    storageRadius: 3,
    err: 'no room',
  });
  const offer = { topmost: '18446744073709551615', chunks: [{ address: '01', stampHash: '' }] };
  expect(decodeMessage(Offer, encodedAnswer(offer, Offer))).toMatchObject({
    topmost: 2n ** 64n - 1n,
    chunks: [{ address: Uint8Array.of(1) }],
  });
  expect(decodeMessage(Ack, encodedAnswer({ cursors: [1, 2], epoch: 3 }, Ack))).toEqual({
    cursors: [1n, 2n],
    epoch: 3n,
  });
  const snapshot = { isReachable: true, pullsyncRate: 0.5, metrics: { one: 'two' } };
  expect(decodeMessage(Snapshot, encodedAnswer(snapshot, Snapshot))).toMatchObject({
    isReachable: true,
    pullsyncRate: 0.5,
    metrics: new Map([['one', 'two']]),
  });
  expect(encodedAnswer('empty', Delivery)).toHaveLength(0);
});

test.each<[string, string | undefined, MessageAnswer, string]>([
  [
    'hive',
    undefined,
    'empty',
    'hive messages cannot be answered: its stream expects none (messages that can: none)',
  ],
  [
    'handshake',
    'ack',
    'empty',
    'handshake ack cannot be answered: its stream expects none (messages that can: syn)',
  ],
  ['retrieval', 'delivery', 'error', 'retrieval delivery cannot be answered'],
  ['retrieval', 'requst', 'error', "no message 'requst' of retrieval (known: request, delivery)"],
  ['pingpong', 'ping', 'error', "answer: got error, but the answer has no field 'err' (known: response)"],
  ['retrieval', 'request', { dta: '' }, "answer: no field 'dta' (known: data, stamp, err)"],
  ['retrieval', 'request', { data: 'xy' }, 'answer: data: got "xy", expected bytes in hex'],
  ['retrieval', 'request', { err: 7 }, 'answer: err: got 7, expected a text'],
  [
    'pushsync',
    'delivery',
    { storageRadius: -1 },
    'answer: storageRadius: got -1, expected a whole number from 0 to',
  ],
  ['pullsync', 'get', { chunks: [{ adress: '' }] }, "answer: no field 'chunks.0.adress' (known: address"],
  ['pullsync', 'get', { chunks: {} }, 'answer: chunks: got {}, expected a list'],
  ['status', 'get', { isReachable: 'yes' }, 'answer: isReachable: got "yes", expected true or false'],
  ['status', 'get', { pullsyncRate: 'x' }, 'answer: pullsyncRate: got "x", expected a number'],
  ['status', 'get', { metrics: { a: 1 } }, 'answer: metrics: got {"a":1}, expected an object with texts'],
])('%s %s answered with %j is refused by name', (protocol, message, answer, why) => {
  expect(() => expectKnown({ ...RULE, protocol, message, actions: { answer } })).toThrow(why);
});

test('of all messages of a protocol, those are answered that the answer fits', () => {
  const rule = { ...RULE, protocol: 'pullsync', message: undefined, actions: { answer: { topmost: 3 } } };
  expect(() => expectKnown(rule)).not.toThrow();
  expect(() => expectKnown({ ...rule, message: 'want' })).toThrow(
    "answer: no field 'topmost' (known: address",
  );
});
