/** Versions, headers, frames: `p2p-protocols.md` 1.3 and 2. */

import { encodeFrame, encodeMessage } from '../../../../node/p2p/codec/codec.ts';
import { MESSAGE_SIZE_MAX } from '../../../../node/p2p/stream/framing.ts';
import { HeadersMessage } from '../../../../node/p2p/stream/headers.ts';
import { PINGPONG, Ping, Pong } from '../../../../node/protocols/pingpong/wire.ts';
import { Get, Snapshot, STATUS } from '../../../../node/protocols/status/wire.ts';
import { must } from '../../row.ts';
import { ANSWER_MS, type Conversation } from '../conversation.ts';
import { type Desk, table, type WireEntry } from '../subject.ts';

/** For a peer's headers. */
const HEADERS_MS = 10_000;
/** Field tag and length of a greeting of this length. */
const GREETING_PREFIX = 4;

/** Known to the node in other versions. */
const VERSIONS: readonly { readonly id: string; readonly taken: boolean; readonly about: string }[] = [
  { id: '/swarm/status/1.1.2/status', taken: true, about: 'an older patch' },
  { id: '/swarm/status/1.1.9/status', taken: true, about: 'a newer patch' },
  { id: '/swarm/retrieval/1.3.0/retrieval', taken: true, about: 'a lower minor version' },
  { id: '/swarm/pullsync/1.3.0/cursors', taken: true, about: 'a lower minor version' },
  { id: '/swarm/pushsync/1.2.0/pushsync', taken: true, about: 'a lower minor version' },
  { id: '/swarm/retrieval/1.99.0/retrieval', taken: false, about: 'a higher minor version' },
  { id: '/swarm/retrieval/2.0.0/retrieval', taken: false, about: 'another major version' },
  { id: '/swarm/retrieval/1.4.0/other', taken: false, about: 'another stream' },
  { id: '/swarm/nothing/1.0.0/nothing', taken: false, about: 'a protocol that does not exist' },
];

export const STREAM_ROWS = table({ group: 'streams', level: 'read' }, [
  ...VERSIONS.map(
    ({ id, taken, about }): WireEntry => ({
      id: `version ${id.replace('/swarm/', '')}`,
      about: `${taken ? 'takes' : 'refuses'} ${about}`,
      async check(desk) {
        const conversation = await (await desk.friend()).tryOpen(id);
        conversation?.reset();
        must((conversation !== undefined) === taken, `${id} was ${taken ? 'refused' : 'taken'}`);
      },
    }),
  ),
  {
    id: 'headers first',
    about: 'answers headers with headers before anything else is said',
    async check(desk) {
      const conversation = await (await desk.friend()).open(PINGPONG.id);
      conversation.send(HeadersMessage, {}, 'Headers');
      const { headers } = await conversation.receive(HeadersMessage, 'Headers');
      must(headers.length === 0, `${headers.length} headers, expected none for pingpong`);
      await ponged(conversation, 'after the headers');
    },
  },
  {
    id: 'headers unknown',
    about: 'passes over headers that it does not know, and those without a value',
    async check(desk) {
      const conversation = await (await desk.friend()).open(PINGPONG.id);
      const value = new Uint8Array(300).fill(7);
      const headers = [
        { key: 'unheard-of', value },
        { key: 'unheard-of', value: new Uint8Array(0) },
        { key: 'tracing-span-context', value: new Uint8Array(0) },
      ];
      conversation.send(HeadersMessage, { headers }, 'Headers');
      await conversation.receive(HeadersMessage, 'Headers');
      await ponged(conversation, 'after the headers');
    },
  },
  {
    id: 'headers silence',
    background: 'silent headers',
    limitMs: HEADERS_MS + 3 * ANSWER_MS,
    about: `resets a stream on which no headers come for ${HEADERS_MS / 1000} s`,
    check: (desk) => desk.waited('silent headers'),
  },
  {
    id: 'message in pieces',
    about: 'reads a message that comes byte by byte',
    async check(desk) {
      const conversation = await (await desk.friend()).converse(PINGPONG.id);
      for (const byte of encodeFrame(Ping, { greeting: 'pieces' }))
        conversation.sendBytes(Uint8Array.of(byte), 'byte');
      await answered(conversation, 'pieces');
    },
  },
  {
    id: 'message of unknown fields',
    about: 'passes over fields that it does not know',
    async check(desk) {
      const conversation = await (await desk.friend()).converse(PINGPONG.id);
      const Extended = { greeting: [1, 'string'], later: [77, 'bytes'], count: [78, 'uint64'] } as const;
      conversation.send(Extended, { greeting: 'more', later: new Uint8Array(20), count: 5n }, 'Ping');
      await answered(conversation, 'more');
    },
  },
  {
    id: 'message of 128 KiB',
    about: `reads a message of ${MESSAGE_SIZE_MAX} bytes`,
    async check(desk) {
      const conversation = await (await desk.friend()).converse(PINGPONG.id);
      const greeting = 'a'.repeat(MESSAGE_SIZE_MAX - GREETING_PREFIX);
      must(encodeMessage(Ping, { greeting }).length === MESSAGE_SIZE_MAX, 'the checker has miscounted');
      conversation.send(Ping, { greeting }, 'Ping');
      const { response } = await conversation.receive(Pong, 'Pong');
      must(response.includes(greeting), `response: ${response.length} characters, expected the greeting`);
      conversation.end();
    },
  },
  {
    id: 'message above 128 KiB',
    about: `ends a stream on which a message of more than ${MESSAGE_SIZE_MAX} bytes comes`,
    async check(desk) {
      const conversation = await (await desk.fresh()).converse(PINGPONG.id);
      conversation.send(Ping, { greeting: 'a'.repeat(MESSAGE_SIZE_MAX - GREETING_PREFIX + 1) }, 'Ping');
      await conversation.expectNoAnswer(`a message of ${MESSAGE_SIZE_MAX + 1} bytes`);
    },
  },
  {
    id: 'many streams at once',
    about: 'serves streams beside each other',
    async check(desk) {
      const friend = await desk.friend();
      const talks = await Promise.all(Array.from({ length: 6 }, () => friend.converse(STATUS.id)));
      for (const conversation of talks.toReversed()) {
        conversation.send(Get, {}, 'Get');
        await conversation.receive(Snapshot, 'Snapshot');
        conversation.end();
      }
    },
  },
]);

export async function silentHeaders(desk: Desk): Promise<void> {
  const conversation = await (await desk.fresh()).open(PINGPONG.id);
  await conversation.expectGivenUp(HEADERS_MS + ANSWER_MS);
}

async function ponged(conversation: Conversation, greeting: string): Promise<void> {
  conversation.send(Ping, { greeting }, 'Ping');
  await answered(conversation, greeting);
  await conversation.expectEnd();
}

async function answered(conversation: Conversation, greeting: string): Promise<void> {
  const { response } = await conversation.receive(Pong, 'Pong');
  must(response.includes(greeting), `response: ${response}, expected the greeting`);
  conversation.end();
}
