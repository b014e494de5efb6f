import type { Row } from '../../row.ts';
import { refusal } from '../expectation.ts';
import type { Transcript } from '../messages.ts';
import type { Names } from '../names.ts';
import { BATCH, chunkOf, type SignedChunk, signedByOwner, UPDATES } from '../prerequisites.ts';
import { type Question, type Steps, table } from '../question.ts';
import { NOTHING } from '../samples.ts';
import type { Ask, Expected, HttpSubject } from '../subject.ts';

const REFERENCE = '{reference:hex32}';
const REFUSED_TEXT = 1003;
const NO_BATCH: Expected = { status: 404, message: 'batch with id not found' };
const TOO_LARGE: Expected = { status: 413, message: 'Request Entity Too Large' };

export function chunkRows(names: Names): Row<HttpSubject>[] {
  const level = 'write';
  return [
    ...table('chunks', { level }, singles(names)),
    ...table('streams', { level }, streams(names)),
    ...table('envelopes', { level }, ENVELOPES),
    ...table('single-owner chunks', { level }, OWNED),
    ...table('feeds', { level }, feeds(names)),
  ];
}

const POST: Ask = { method: 'POST', path: '/chunks', headers: BATCH, body: new Uint8Array(100) };
const STORED = { path: '/chunks/{chunk}' } as const;

function singles(names: Names): (Question | Steps)[] {
  return [
    {
      id: 'POST /chunks',
      about: 'a chunk is stored under its address',
      ask: { ...POST, headers: { ...BATCH, 'svc-tag': '{tag}' }, body: chunkOf('posted') },
      expect: {
        status: 201,
        json: REFERENCE,
        values: { reference: '{address posted}' },
        headers: { 'svc-tag': '{tag}' },
      },
    },
    {
      id: 'POST /chunks direct',
      about: 'without a tag a chunk is pushed at once, and no tag is told',
      needs: 'second',
      ask: { ...POST, body: chunkOf('direct chunk') },
      expect: {
        status: 201,
        json: REFERENCE,
        values: { reference: '{address direct chunk}' },
        headers: { 'svc-tag': null },
      },
    },
    {
      id: 'GET /chunks',
      about: 'a chunk comes with its span, as it is stored',
      ask: STORED,
      expect: {
        status: 200,
        bytes: chunkOf('chunk'),
        headers: {
          'content-type': names.either('application/octet-stream', 'binary/octet-stream'),
          'content-length': String(8 + chunkOf('chunk').length),
          etag: null,
        },
      },
    },
    {
      id: 'GET /chunks range',
      about: 'chunks have no ranges',
      ask: { ...STORED, headers: { range: 'bytes=0-1' } },
      expect: { status: 200, bytes: chunkOf('chunk') },
    },
    {
      id: 'HEAD /chunks',
      about: 'a chunk that is here is present',
      // A pushed chunk is gone until pull syncing brings it back.
      isAwaited: true,
      ask: { method: 'HEAD', ...STORED },
      expect: { status: 200, empty: true },
    },
    {
      id: 'GET /chunks debug',
      about: 'presence is told on the debug interface',
      needs: 'debug',
      steps: async (session) => {
        await session.ask({ place: 'debug', ...STORED }, { status: 200, message: 'OK' });
        await session.ask(
          { place: 'debug', path: `/chunks/${NOTHING}` },
          { status: 404, message: 'Not Found' },
        );
      },
    },
    {
      id: 'HEAD /chunks missing',
      about: 'a chunk that is not here is absent',
      level: 'read',
      ask: { method: 'HEAD', path: '/chunks/{hex32 no chunk}' },
      expect: { status: 404, empty: true },
    },
    {
      id: 'GET /chunks missing',
      about: 'a chunk that nobody has is not found',
      level: 'read',
      ask: { path: '/chunks/{hex32 no chunk}' },
      expect: names.either<Expected>(
        { status: 404, message: 'chunk not found' },
        // Network failures are reported, too.
        { status: [404, 500], message: /^(chunk not found|read chunk failed)$/ },
      ),
    },
    {
      id: 'POST /chunks short',
      about: 'a chunk has at least a span',
      ask: { ...POST, body: new Uint8Array(7) },
      expect: { status: 400, message: 'insufficient data length' },
    },
    {
      id: 'POST /chunks long',
      about: 'a body over 4201 bytes is too large',
      ask: { ...POST, body: new Uint8Array(4202) },
      expect: TOO_LARGE,
    },
    {
      id: 'POST /chunks no chunk',
      about: 'what is neither chunk nor single-owner chunk is refused',
      ask: { ...POST, body: new Uint8Array(4150) },
      expect: { status: names.either(400, 500), message: 'create chunk error' },
    },
    {
      id: 'POST /chunks unpaid',
      about: 'a batch or a stamp is needed',
      ask: { ...POST, headers: {} },
      expect: {
        status: 400,
        message: `Either '${names.declared('svc-postage-stamp')}' or '${names.declared('svc-postage-batch-id')}' header must be set in the request`,
      },
    },
    {
      id: 'POST /chunks short stamp',
      about: 'a stamp has 113 bytes',
      ask: { ...POST, headers: { 'svc-postage-stamp': 'abcd' } },
      expect: { status: 400, message: 'Stamp deserialization failure' },
    },
    {
      id: 'POST /chunks unknown batch',
      about: 'a batch must be known',
      ask: { ...POST, headers: { 'svc-postage-batch-id': NOTHING } },
      expect: NO_BATCH,
    },
    {
      id: 'POST /chunks unknown tag',
      about: 'a tag is looked for before the batch',
      ask: { ...POST, headers: { 'svc-tag': '4294967295' } },
      expect: { status: 404, message: 'tag not found' },
    },
  ];
}

const STREAM = { path: '/chunks/stream', expected: 0 } as const;
const TAGGED = { ...BATCH, 'svc-tag': '{tag}' } as const;

function streams(names: Names): (Question | Steps)[] {
  const acknowledgement = names.either(Uint8Array.of(0), new Uint8Array(0));
  const acknowledged =
    (count: number) =>
    ({ received }: Transcript) =>
      received.length === count && received.every((message) => Buffer.compare(message, acknowledgement) === 0)
        ? undefined
        : `messages of [${received.map(({ length }) => length).join(', ')}] bytes, expected ${count} of ${acknowledgement.length}`;
  const refusedAs =
    (status: number, message: string) =>
    ({ refused }: Transcript) => {
      const told = refused === undefined ? '' : Buffer.from(refused.body).toString();
      return refused?.status === status && told.includes(message)
        ? undefined
        : `answered ${refused?.status ?? 'with an open socket'} ${told}, expected ${status} ${message}`;
    };
  return [
    {
      id: 'GET /chunks/stream',
      about: 'each chunk is acknowledged once, in order',
      steps: async (session) => {
        const messages = Array.from({ length: 20 }, (_, i) => session.bytes(chunkOf(`streamed ${i}`)));
        await session.converse({ ...STREAM, headers: TAGGED, messages, expected: 20 }, acknowledged(20));
        await session.until(
          { method: 'HEAD', path: '/chunks/{address streamed 19}' },
          { status: 200, empty: true },
        );
      },
    },
    {
      id: 'GET /chunks/stream text',
      about: 'a text message ends the stream with 1003',
      steps: (session) =>
        session.converse({ ...STREAM, headers: TAGGED, messages: ['hello'] }, ({ closed, closedReason }) =>
          closed === REFUSED_TEXT && closedReason === 'invalid message'
            ? undefined
            : `${closed === undefined ? 'not opened, or not closed' : `closed with ${closed} ${closedReason}`}, expected ${REFUSED_TEXT} invalid message`,
        ),
    },
    {
      id: 'GET /chunks/stream unknown batch',
      about: 'a batch must be known before the socket opens',
      steps: (session) =>
        session.converse(
          { ...STREAM, headers: { 'svc-postage-batch-id': NOTHING } },
          refusedAs(404, 'batch with id not found'),
        ),
    },
    {
      id: 'GET /chunks/stream unknown tag',
      about: 'a tag must be known before the socket opens',
      steps: (session) =>
        session.converse(
          { ...STREAM, headers: { ...BATCH, 'svc-tag': '4294967295' } },
          refusedAs(404, 'tag not found'),
        ),
    },
    {
      id: 'GET /chunks/stream plain',
      about: 'what is no upgrade is refused',
      ask: { path: '/chunks/stream', headers: BATCH },
      expect: { status: 400, text: /upgrade failed/, headers: { 'sec-websocket-version': '13' } },
    },
  ];
}

const ENVELOPE = '{issuer:text,index:hex8,timestamp:hex8,signature:hex65}';

const ENVELOPES: readonly (Question | Steps)[] = [
  {
    id: 'POST /envelope',
    about: 'a stamp comes as its parts, and one chunk keeps its place',
    steps: async (session) => {
      const request = { method: 'POST', path: '/envelope/{hex32 enveloped}', headers: BATCH } as const;
      const expect = { status: 201, json: ENVELOPE };
      const { member } = await session.ask(request, expect);
      const values = { index: member('index'), issuer: member('issuer') };
      await session.ask(request, { ...expect, values });
    },
  },
  {
    id: 'POST /envelope unknown batch',
    about: 'a batch must be known',
    ask: { method: 'POST', path: `/envelope/${NOTHING}`, headers: { 'svc-postage-batch-id': NOTHING } },
    expect: NO_BATCH,
  },
];

/** Offers a changed chunk. */
function offered(
  id: string,
  about: string,
  change: (soc: SignedChunk) => Partial<SignedChunk>,
  expect: Expected | ((soc: SignedChunk) => Expected),
): Steps {
  return {
    id,
    about,
    steps: (session) => {
      const soc = signedByOwner(session, id);
      const { path, signature, body } = { ...soc, ...change(soc) };
      const expected = typeof expect === 'function' ? expect(soc) : expect;
      return session.ask(
        { method: 'POST', path: `${path}?sig=${signature}`, headers: BATCH, body },
        expected,
      );
    },
  };
}

const OWNED: readonly (Question | Steps)[] = [
  {
    needs: 'second',
    ...offered(
      'POST /soc',
      'is stored under owner and id',
      () => ({}),
      ({ address }) => ({ status: 201, json: REFERENCE, values: { reference: address } }),
    ),
  },
  {
    id: 'GET /soc',
    about: 'comes without its span, with its signature',
    isAwaited: true,
    ask: { path: '{soc}' },
    expect: {
      status: 200,
      bytes: { fresh: 'soc stored', length: 500 },
      headers: {
        'svc-soc-signature': '{soc-signature}',
        'content-type': 'application/octet-stream',
        'accept-ranges': 'bytes',
      },
    },
  },
  {
    id: 'GET /soc root chunk',
    about: 'the wrapped chunk comes with its span, without ranges',
    isAwaited: true,
    ask: { path: '{soc}', headers: { 'svc-only-root-chunk': 'true', range: 'bytes=0-1' } },
    expect: {
      status: 200,
      bytes: { fresh: 'soc stored', length: 500, span: true },
      headers: { 'svc-soc-signature': '{soc-signature}', etag: null },
    },
  },
  {
    id: 'GET /soc missing',
    about: 'what nobody has stored is not found',
    level: 'read',
    ask: { path: '/soc/{hex20 nobody}/{hex32 id}' },
    expect: { status: 404, message: 'requested chunk cannot be retrieved' },
  },
  offered('POST /soc signature', 'another signature is refused', () => ({ signature: 'ab'.repeat(65) }), {
    status: 401,
    message: 'invalid chunk',
  }),
  offered(
    'POST /soc owner',
    'an owner has 20 bytes',
    ({ path }) => ({ path: path.replace(/^\/soc\/\w{40}/, '/soc/abcd') }),
    { status: 401, message: 'invalid address' },
  ),
  offered('POST /soc short', 'a body has at least a span', () => ({ body: new Uint8Array(7) }), {
    status: 400,
    message: 'short chunk data',
  }),
  offered(
    'POST /soc long',
    'a body over 4104 bytes is too large',
    () => ({ body: new Uint8Array(4105) }),
    TOO_LARGE,
  ),
];

const NO_FEED = '/feeds/{hex20 nobody}/{hex32 no topic}';
const NO_UPDATE: Expected = { status: 404, message: /^(no update found|lookup at failed)$/ };

function feeds(names: Names): (Question | Steps)[] {
  const index = (i: number) => i.toString(16).padStart(16, '0');
  const update = { fresh: `update ${UPDATES - 1}`, length: 300 };
  return [
    {
      id: 'GET /feeds',
      about: 'the latest update comes with its index, the next one and its signature',
      isAwaited: true,
      ask: { path: '{feed}' },
      expect: {
        status: 200,
        bytes: update,
        headers: {
          'svc-feed-index': index(UPDATES - 1),
          'svc-feed-index-next': index(UPDATES),
          'svc-soc-signature': '{feed-signature}',
          'svc-feed-resolved-version': 'v2',
          'access-control-expose-headers': new RegExp(names.header('svc-feed-index'), 'i'),
        },
      },
    },
    {
      id: 'GET /feeds root chunk',
      about: 'the chunk of the update comes with its span',
      isAwaited: true,
      ask: { path: '{feed}', headers: { 'svc-only-root-chunk': 'true' } },
      expect: {
        status: 200,
        bytes: { ...update, span: true },
        headers: { 'svc-feed-index': index(UPDATES - 1) },
      },
    },
    {
      id: 'POST /feeds',
      about: 'a manifest of the feed is stored, and files are read through it',
      isAwaited: true,
      upload: { path: '{feed}', body: '' },
      ask: { path: '/svc/{upload}/' },
      // Its update is no collection: only the look-up shows.
      expect: { status: 404, json: '{code:int,message:text}', message: 'address not found or incorrect' },
    },
    {
      id: 'GET /feeds empty',
      about: 'a feed without an update is not found',
      level: 'read',
      ask: { path: NO_FEED },
      expect: NO_UPDATE,
    },
    ...names.either<Steps[]>(
      [
        {
          id: 'GET /feeds type',
          about: 'the only type is sequence, in any case',
          level: 'read',
          steps: async (session) => {
            const unknown = { status: 404, message: 'feed type not found' };
            await session.ask({ path: `${NO_FEED}?type=epoch` }, unknown);
            await session.ask({ path: `${NO_FEED}?type=Sequence` }, NO_UPDATE);
          },
        },
      ],
      [],
    ),
    {
      id: 'POST /feeds owner',
      about: 'an owner of zeros is missing',
      ask: { method: 'POST', path: `/feeds/${'00'.repeat(20)}/${NOTHING}`, headers: BATCH },
      expect: refusal('path', { owner: 'want required:' }),
    },
  ];
}
