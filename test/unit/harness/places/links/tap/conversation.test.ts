import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeCac } from '../../../../../../formats/chunk/cac.ts';
import { Conversation } from '../../../../../../harness/places/links/tap/conversation.ts';
import { PROTOCOL_NAMES, type TapEvent } from '../../../../../../harness/places/links/tap/events.ts';
import { encodeLine } from '../../../../../../harness/places/links/tap/lines.ts';
import { PROTOCOLS, protocolOf } from '../../../../../../harness/places/links/tap/protocols.ts';
import { encodeFrame } from '../../../../../../node/p2p/codec/codec.ts';
import { IDENTIFY_ID, Identify } from '../../../../../../node/p2p/libp2p/identify.ts';
import { HeadersMessage } from '../../../../../../node/p2p/stream/headers.ts';
import { PINGPONG, Ping, Pong } from '../../../../../../node/protocols/pingpong/wire.ts';
import { Delivery, PUSHSYNC, Receipt } from '../../../../../../node/protocols/pushsync/wire.ts';
import {
  RETRIEVAL,
  Request,
  Delivery as Retrieved,
} from '../../../../../../node/protocols/retrieval/wire.ts';

const ROOT = join(import.meta.dirname, '../../../../../..');
const NODE_FOLDERS = ['node/protocols', 'node/p2p'];

function conversation() {
  const events: TapEvent[] = [];
  const talk = new Conversation({
    stream: 'c0/1',
    opener: 'a',
    acceptor: 'b',
    names: { ofOverlay: (hex) => hex },
    now: () => 0,
    emit: (event) => events.push(event),
  });
  const told = () => events.map(({ from, kind, name }) => [from, kind, name].join(' ').trim());
  return { talk, events, told };
}

function agreed(id: string) {
  const { talk, ...rest } = conversation();
  const headers = encodeFrame(HeadersMessage, { headers: [] });
  const say = (isOpener: boolean, ...parts: readonly Uint8Array[]) =>
    talk.take(isOpener, Buffer.concat(parts));
  say(true, encodeLine('/multistream/1.0.0'), encodeLine(id), headers);
  say(false, encodeLine('/multistream/1.0.0'), encodeLine(id), headers);
  return { talk, say, ...rest };
}

function idsIn(value: unknown): string[] {
  if (typeof value === 'string') return /^\/(swarm|ipfs)\/[\w./-]+$/.test(value) ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(idsIn) : [];
}

test('every protocol that a node speaks has its messages here', async () => {
  const files = NODE_FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /(^|\/)(wire|identify)\.ts$/.test(file))
      .map((file) => join(ROOT, folder, file)),
  );
  const modules = await Promise.all(files.map((file) => import(file) as Promise<object>));
  const ids = [...new Set(modules.flatMap((module) => idsIn({ ...module })))];
  expect(ids).toContain('/swarm/pushsync/1.3.1/pushsync');
  expect(ids.length).toBeGreaterThanOrEqual(14);
  expect(ids.filter((id) => protocolOf(id) === undefined)).toEqual([]);
  expect(new Set(['noise', ...PROTOCOLS.map(({ name }) => name)])).toEqual(new Set(PROTOCOL_NAMES));
});

test('a chunk that is pushed, and its receipt, are told with address, size and batch', () => {
  const { talk, say, events, told } = agreed(PUSHSYNC.id);
  const address = Buffer.alloc(32, 1);
  const stamp = Buffer.alloc(113, 2);
  say(true, encodeFrame(Delivery, { address, data: Buffer.alloc(4104), stamp }));
  say(
    false,
    encodeFrame(Receipt, {
      address,
      signature: Buffer.alloc(65, 3),
      nonce: Buffer.alloc(32, 4),
      err: '',
      storageRadius: 2,
    }),
  );
  expect(talk.ended(true)).toBe(false);
  expect(talk.ended(false)).toBe(true);
  expect(told()).toEqual(['a opened', 'a message delivery', 'b message receipt', 'b end closed']);
  expect(events[1]?.fields).toEqual({
    address: '01'.repeat(32),
    data: '4104 B',
    invalid: true,
    stamp: `batch ${'02'.repeat(32)}`,
  });
  expect(events[2]?.fields).toMatchObject({ storageRadius: 2 });
});

test.each([
  ['the chunk', (address: Uint8Array) => address, undefined],
  ['another chunk than the one asked for', () => Buffer.alloc(32, 5), true],
])('what is delivered is %s', (_what, asked, invalid) => {
  const { say, events } = agreed(RETRIEVAL.id);
  const { address, data } = makeCac(5n, Buffer.from('hello'));
  say(true, encodeFrame(Request, { addr: asked(address) }));
  say(false, encodeFrame(Retrieved, { data, stamp: new Uint8Array(), err: '' }));
  expect(events.at(-1)?.fields['invalid']).toBe(invalid);
});

test('messages that arrive a byte at a time are the same ones', () => {
  const { say, told } = agreed(PINGPONG.id);
  const ping = encodeFrame(Ping, { greeting: 'hello' });
  const pong = encodeFrame(Pong, { response: 'hello' });
  for (const byte of ping) say(true, Uint8Array.of(byte));
  for (const byte of pong) say(false, Uint8Array.of(byte));
  expect(told()).toEqual(['a opened', 'a message ping', 'b message pong']);
});

test('a protocol that no table knows is shown as bytes, by its whole id', () => {
  const { say, events } = agreed('/odd/1.0.0');
  say(true, Buffer.from('hello'));
  expect(events.at(-1)).toMatchObject({
    protocol: '/odd/1.0.0',
    name: 'bytes',
    fields: { bytes: `${Buffer.from('hello').toString('hex')} (5 B)` },
  });
});

test('a broken message is told with the reason, and the next one is read', () => {
  const { say, events, told } = agreed(PINGPONG.id);
  say(true, Buffer.of(3, 0x0a, 0x7f, 1), encodeFrame(Ping, { greeting: 'hello' }));
  expect(told()).toEqual(['a opened', 'a message undecodable', 'a message ping']);
  expect(events[1]?.fields['reason']).toEqual(expect.stringMatching(/\w/));
});

test('a message of a mebibyte is not kept: it is told, and what follows is no message', () => {
  const { say, told, events } = agreed(PINGPONG.id);
  const message = encodeFrame(Ping, { greeting: 'a'.repeat(2 ** 20) });
  for (let at = 0; at < message.length; at += 60_000) say(true, message.subarray(at, at + 60_000));
  expect(told().slice(0, 2)).toEqual(['a opened', 'a message undecodable']);
  expect(new Set(told().slice(2))).toEqual(new Set(['a message bytes']));
  const shown = events.slice(1).reduce((sum, { fields }) => sum + JSON.stringify(fields).length, 0);
  expect(shown).toBeLessThan(10_000);
});

test('a refused proposal and the next one are two conversations', () => {
  const { talk, told, events } = conversation();
  talk.take(true, Buffer.concat([encodeLine('/multistream/1.0.0'), encodeLine('/odd/1.0.0')]));
  talk.take(false, Buffer.concat([encodeLine('/multistream/1.0.0'), encodeLine('na')]));
  talk.take(true, encodeLine(PINGPONG.id));
  talk.take(false, encodeLine(PINGPONG.id));
  expect(told()).toEqual(['a opened', 'b end refused', 'a opened']);
  expect(events.at(-1)?.protocol).toBe('pingpong');
});

test('a stream ends once, also after its proposal was refused', () => {
  const { talk, told } = conversation();
  talk.take(true, Buffer.concat([encodeLine('/multistream/1.0.0'), encodeLine('/odd/1.0.0')]));
  talk.take(false, Buffer.concat([encodeLine('/multistream/1.0.0'), encodeLine('na')]));
  talk.ended(true);
  talk.ended(false);
  expect(told()).toEqual(['a opened', 'b end refused']);
});

test('headers that a peer makes up take little room, whatever their names', () => {
  const { talk, events } = conversation();
  const names = ['constructor', 'x'.repeat(5_000), ...Array.from({ length: 5_000 }, (_, n) => `h${n}`)];
  const headers = names.map((key) => ({ key, value: Buffer.alloc(10, 1) }));
  talk.take(true, Buffer.concat([encodeLine('/multistream/1.0.0'), encodeLine(PINGPONG.id)]));
  talk.take(true, Buffer.from(encodeFrame(HeadersMessage, { headers })));
  const fields = events.at(-1)?.fields ?? {};
  expect(fields['constructor']).toBe('01'.repeat(10));
  expect(fields['…']).toBe(`and ${names.length - 32} more`);
  expect(JSON.stringify(fields).length).toBeLessThan(5_000);
});

test('a sound message with a value that cannot be shown is that message', () => {
  const { talk, events } = conversation();
  const empty = new Uint8Array(0);
  const said = {
    publicKey: empty,
    observedAddr: empty,
    protocols: [],
    protocolVersion: '',
    agentVersion: 'odd',
  };
  talk.take(true, Buffer.concat([encodeLine('/multistream/1.0.0'), encodeLine(IDENTIFY_ID)]));
  talk.take(false, Buffer.concat([encodeLine('/multistream/1.0.0'), encodeLine(IDENTIFY_ID)]));
  talk.take(false, Buffer.from(encodeFrame(Identify, { ...said, listenAddrs: [Uint8Array.of(0xff, 0x7f)] })));
  expect(events.at(-1)).toMatchObject({
    name: 'identify',
    fields: { listenAddrs: ['ff7f'], agentVersion: 'odd' },
  });
});
