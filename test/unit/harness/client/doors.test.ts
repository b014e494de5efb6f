import { expect, test } from 'vitest';
import { HarnessError } from '../../../../harness/base/errors.ts';
import { NodeClient } from '../../../../harness/client/node-client.ts';

/** Nothing listens there: a sent request would fail in another way. */
const client = new NodeClient({ node: 'node-0', api: 'http://127.0.0.1:1' });
const HASH = 'ab'.repeat(32);
const ID = new Uint8Array(32);
const OWNER = 'ab'.repeat(20);
const wrong = (value: unknown) => value as never;
const DATA = 'a Uint8Array, a string, a Readable or an async iterable of Uint8Arrays';
const REFERENCE = '64 or 128 hex digits';

const DOORS: readonly (readonly [message: string, call: () => Promise<unknown>])[] = [
  [`bytes.upload: got 5, expected ${DATA}`, () => client.bytes.upload(wrong(5))],
  [`bytes.upload: got undefined, expected ${DATA}`, () => client.bytes.upload(wrong(undefined))],
  [
    `bytes.upload: got a value of type ArrayBuffer, expected ${DATA}`,
    () => client.bytes.upload(wrong(new ArrayBuffer(1))),
  ],
  ["bytes.upload: batch: got 'xyz', expected 64 hex digits", () => client.bytes.upload('', { batch: 'xyz' })],
  ['bytes.upload: tag: got -1, expected a whole number from 0', () => client.bytes.upload('', { tag: -1 })],
  [
    'bytes.upload: redundancyLevel: got 5, expected a whole number from 0 to 4',
    () => client.bytes.upload('', { redundancyLevel: 5 }),
  ],
  [
    "bytes.upload: actHistory: got 'x', expected 64 hex digits",
    () => client.bytes.upload('', { actHistory: 'x' }),
  ],
  ['bytes.upload: timeoutMs: got NaN', () => client.bytes.upload('', { timeoutMs: Number.NaN })],
  [`bytes.download: reference: got 'abc', expected ${REFERENCE}`, () => client.bytes.download('abc')],
  [
    'bytes.download: range.to: got 1, expected a whole number from 2',
    () => client.bytes.download(HASH, { range: { from: 2, to: 1 } }),
  ],
  ['timeoutMs: got -1, expected milliseconds', () => client.bytes.download(HASH, { timeoutMs: -1 })],
  [`bytes.stream: reference: got '', expected ${REFERENCE}`, () => client.bytes.stream('')],
  ["chunks.upload: got 'text', expected a Uint8Array", () => client.chunks.upload(wrong('text'))],
  [
    'chunks.stream: got 3 bytes, expected an iterable of Uint8Arrays',
    () => client.chunks.stream(wrong(new Uint8Array(3))),
  ],
  ['chunks.stream: got null, expected an iterable of Uint8Arrays', () => client.chunks.stream(wrong(null))],
  ['chunks.download: address: got 7', () => client.chunks.download(wrong(7))],
  ['chunks.has: address: got undefined', () => client.chunks.has(wrong(undefined))],
  [`files.upload: got null, expected ${DATA}`, () => client.files.upload(wrong(null))],
  [`files.uploadTar: got an object, expected ${DATA}`, () => client.files.uploadTar(wrong({}))],
  [
    `files.uploadForm: got undefined, expected ${DATA}`,
    () => client.files.uploadForm(wrong({ contentType: '' })),
  ],
  [
    `files.download: reference: got 'index.html', expected ${REFERENCE}`,
    () => client.files.download('index.html'),
  ],
  ['files.open: path: got 4, expected a string', () => client.files.open(HASH, wrong(4))],
  [`files.stream: reference: got an object, expected ${REFERENCE}`, () => client.files.stream(wrong({}))],
  [
    "soc.upload: owner: got 'me', expected 40 hex digits",
    () => client.soc.upload('me', { id: ID, signature: new Uint8Array(65), wrapped: ID }),
  ],
  [
    'soc.upload: signature: got 64 bytes, expected a Uint8Array of 65 bytes',
    () => client.soc.upload(OWNER, { id: ID, signature: new Uint8Array(64), wrapped: ID }),
  ],
  [
    "soc.download: id: got 'id', expected a Uint8Array of 32 bytes",
    () => client.soc.download(OWNER, wrong('id')),
  ],
  [
    "feeds.create: topic: got 'news', expected a Uint8Array of 32 bytes",
    () => client.feeds.create(OWNER, wrong('news')),
  ],
  [
    'feeds.update: index: got 1, expected a bigint',
    () => client.feeds.update(wrong({}), { topic: ID, index: wrong(1), wrapped: ID }),
  ],
  ['feeds.latest: after: got -1n, expected a bigint', () => client.feeds.latest(OWNER, ID, { after: -1n })],
  ["grantees.create: got 'key', expected 66 or 130 hex digits", () => client.grantees.create(['key'])],
  [
    "grantees.create: got 'key', expected an array of public keys",
    () => client.grantees.create(wrong('key')),
  ],
  [
    "grantees.patch: add: got 'key', expected 66 or 130 hex digits",
    () => client.grantees.patch({ reference: HASH + HASH, history: HASH }, { add: ['key'] }),
  ],
  ["grantees.list: reference: got 'abc', expected 128 hex digits", () => client.grantees.list('abc')],
  ['messages.send: targets: got', () => client.messages.send('topic', [], 'text')],
  [
    "messages.send: targets: got 'abc', expected 2 or 4 or 6 hex digits",
    () => client.messages.send('topic', ['abc'], 'text'),
  ],
  [
    'messages.send: payload: got 5, expected a Uint8Array or a string',
    () => client.messages.send('topic', ['00'], wrong(5)),
  ],
  ['messages.listen: topic: got 5', () => client.messages.listen(wrong(5))],
  ["messages.listenTo: address: got 'x'", () => client.messages.listenTo('x')],
  ["stamps.get: batch: got 'xyz', expected 64 hex digits", () => client.stamps.get('xyz')],
  ["stamps.buckets: batch: got 'xyz', expected 64 hex digits", () => client.stamps.buckets('xyz')],
  [
    'stamps.buy: amount: got 5, expected a bigint from 0n',
    () => client.stamps.buy({ amount: wrong(5), depth: 20 }),
  ],
  ['stamps.buy: depth: got NaN', () => client.stamps.buy({ amount: 5n, depth: Number.NaN })],
  ['stamps.topUp: perChunk: got -1n', () => client.stamps.topUp(HASH, -1n)],
  ['stamps.dilute: depth: got -1', () => client.stamps.dilute(HASH, -1)],
  ['tags.get: uid: got NaN, expected a whole number from 0', () => client.tags.get(Number.NaN)],
  ["tags.done: reference: got 'abc'", () => client.tags.done(1, 'abc')],
  ['tags.delete: uid: got undefined', () => client.tags.delete(wrong(undefined))],
  ['pins.add: reference: got ', () => client.pins.add('')],
  ['pins.delete: reference: got ', () => client.pins.delete('')],
  ['pins.check: reference: got ', () => client.pins.check('')],
  ['stewardship.isRetrievable: reference: got ', () => client.stewardship.isRetrievable('')],
  ["stewardship.reupload: batch: got 'b'", () => client.stewardship.reupload(HASH, { batch: 'b' })],
  ['chequebook.deposit: units: got 5, expected a bigint from 0n', () => client.chequebook.deposit(wrong(5))],
  ['chequebook.withdraw: units: got -5n', () => client.chequebook.withdraw(-5n)],
  ["chequebook.cheque: peer: got 'node-1'", () => client.chequebook.cheque('node-1')],
  ["chequebook.cashout: peer: got 'node-1'", () => client.chequebook.cashout('node-1')],
  ["chequebook.cash: peer: got 'node-1'", () => client.chequebook.cash('node-1')],
  ["wallet.withdraw: to: got 'me'", () => client.wallet.withdraw('token', { amount: 1n, to: 'me' })],
  ['stake.deposit: units: got -1n', () => client.stake.deposit(-1n)],
  [
    'redistribution.sample: depth: got -1',
    () => client.redistribution.sample({ depth: -1, anchors: ['', ''] }),
  ],
  ["transactions.get: hash: got 'x'", () => client.transactions.get('x')],
  ["transactions.resend: hash: got 'x'", () => client.transactions.resend('x')],
  ["transactions.cancel: hash: got 'x'", () => client.transactions.cancel('x')],
  [
    "connect: underlay: got 'localhost:1634', expected a multiaddress",
    () => client.connect('localhost:1634'),
  ],
  ["disconnect: overlay: got 'node-1'", () => client.disconnect('node-1')],
  ["pingpong: overlay: got 'node-1', expected 64 hex digits", () => client.pingpong('node-1')],
];

test.each(DOORS)('%s', async (message, call) => {
  const error = await call().then(
    () => new Error('it was taken'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(HarnessError);
  expect(error).toMatchObject({ code: 'ARGUMENT_INVALID' });
  expect((error as Error).message).toContain(message);
});
