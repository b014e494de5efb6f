/** Single chunks, streams of chunks, stamps of chunks, and single-owner chunks with the feeds that they make. */
import { makeCac } from '../../../../formats/chunk/cac.ts';
import { toHex } from '../../../../formats/crypto/hex.ts';
import type { Row } from '../../row.ts';
import type { Expectation } from '../expectation.ts';
import type { HttpRequest, Transcript } from '../messages.ts';
import type { Names } from '../names.ts';
import {
  batchHeader,
  forgetTag,
  type SignedChunk,
  signedByOwner,
  storedFeed,
  storedSoc,
  UPDATES,
  upload,
} from '../prerequisites.ts';
import { NOTHING } from '../samples.ts';
import { type HttpSubject, httpRow, type RowSession } from '../subject.ts';

const REFERENCE = '{reference:hex32}';
const REFUSED_TEXT = 1003;

export function chunkRows(names: Names): Row<HttpSubject>[] {
  return [...singleRows(names), ...streamRows(names), ...envelopeRows(), ...ownerRows(), ...feedRows(names)];
}

const rowIn =
  (group: string) =>
  (id: string, about: string, steps: (session: RowSession) => Promise<unknown>): Row<HttpSubject> =>
    httpRow({ id, group, about, level: 'write', steps });

function chunkOf(session: RowSession, name: string, length = 1000): { address: string; data: Uint8Array } {
  const { address, data } = makeCac(BigInt(length), session.content(name, length));
  return { address: toHex(address), data };
}

/** A chunk that the node has stored, with a tag: so that it waits for no other node. */
function storedChunk(session: RowSession): Promise<{ address: string; data: Uint8Array }> {
  return session.once('chunk', async (setup) => {
    const tag = await setup.ask({ method: 'POST', path: '/tags' }, { status: 201 });
    forgetTag(setup, tag.text('uid'));
    const { address, data } = chunkOf(setup, 'chunk');
    await upload(setup, { path: '/chunks', headers: { 'svc-tag': tag.text('uid') }, body: data });
    return { address, data };
  });
}

function singleRows(names: Names): Row<HttpSubject>[] {
  const row = rowIn('chunks');
  const refused = (id: string, about: string, request: Partial<HttpRequest>, expected: Expectation) =>
    row(id, about, async (session) => {
      const headers = request.headers ?? (await batchHeader(session));
      await session.ask(
        { method: 'POST', path: '/chunks', body: new Uint8Array(100), ...request, headers },
        expected,
      );
    });
  return [
    row('POST /chunks', 'a chunk is stored under its address', async (session) => {
      const tag = await session.ask({ method: 'POST', path: '/tags' }, { status: 201 });
      forgetTag(session, tag.text('uid'));
      const { address, data } = chunkOf(session, 'posted');
      await session.ask(
        {
          method: 'POST',
          path: '/chunks',
          headers: { ...(await batchHeader(session)), 'svc-tag': tag.text('uid') },
          body: data,
        },
        {
          status: 201,
          json: REFERENCE,
          values: { reference: address },
          headers: { 'svc-tag': tag.text('uid') },
        },
      );
    }),
    row(
      'POST /chunks direct',
      'without a tag a chunk is pushed at once, and no tag is told',
      async (session) => {
        session.needs('second');
        const { address, data } = chunkOf(session, 'direct chunk');
        const headers = await batchHeader(session);
        await session.ask(
          { method: 'POST', path: '/chunks', headers, body: data },
          { status: 201, json: REFERENCE, values: { reference: address }, headers: { 'svc-tag': null } },
        );
      },
    ),
    row('GET /chunks', 'a chunk comes with its span, as it is stored', async (session) => {
      const { address, data } = await storedChunk(session);
      await session.ask(
        { path: `/chunks/${address}` },
        {
          status: 200,
          bytes: data,
          headers: {
            'content-type': names.either('application/octet-stream', 'binary/octet-stream'),
            'content-length': String(data.length),
            etag: null,
          },
        },
      );
    }),
    row('GET /chunks range', 'chunks have no ranges', async (session) => {
      const { address, data } = await storedChunk(session);
      await session.ask(
        { path: `/chunks/${address}`, headers: { range: 'bytes=0-1' } },
        { status: 200, bytes: data },
      );
    }),
    row('HEAD /chunks', 'a chunk that is here is present', async (session) => {
      const { address } = await storedChunk(session);
      // Once pushed, it is gone until pull syncing brings it back.
      await session.until({ method: 'HEAD', path: `/chunks/${address}` }, { status: 200, empty: true });
    }),
    row('GET /chunks debug', 'presence is told on the debug interface', async (session) => {
      session.needs('debug');
      const { address } = await storedChunk(session);
      await session.ask({ place: 'debug', path: `/chunks/${address}` }, { status: 200, message: 'OK' });
      await session.ask(
        { place: 'debug', path: `/chunks/${NOTHING}` },
        { status: 404, message: 'Not Found' },
      );
    }),
    httpRow({
      id: 'HEAD /chunks missing',
      group: 'chunks',
      about: 'a chunk that is not here is absent',
      level: 'read',
      steps: (session) =>
        session.ask(
          { method: 'HEAD', path: `/chunks/${session.hex('no chunk')}` },
          { status: 404, empty: true },
        ),
    }),
    httpRow({
      id: 'GET /chunks missing',
      group: 'chunks',
      about: 'a chunk that nobody has is not found',
      level: 'read',
      steps: (session) =>
        session.ask(
          { path: `/chunks/${session.hex('no chunk')}` },
          names.either<Expectation>(
            { status: 404, message: 'chunk not found' },
            // Network failures are reported, too.
            { status: [404, 500], message: /^(chunk not found|read chunk failed)$/ },
          ),
        ),
    }),
    refused(
      'POST /chunks short',
      'a chunk has at least a span',
      { body: new Uint8Array(7) },
      {
        status: 400,
        message: 'insufficient data length',
      },
    ),
    refused(
      'POST /chunks long',
      'a body over 4201 bytes is too large',
      { body: new Uint8Array(4202) },
      {
        status: 413,
        message: 'Request Entity Too Large',
      },
    ),
    refused(
      'POST /chunks no chunk',
      'what is neither chunk nor single-owner chunk is refused',
      { body: new Uint8Array(4150) },
      {
        status: names.either(400, 500),
        message: 'create chunk error',
      },
    ),
    refused(
      'POST /chunks unpaid',
      'a batch or a stamp is needed',
      { headers: {} },
      {
        status: 400,
        message: names.either(
          "Either 'Svc-Postage-Stamp' or 'Svc-Postage-Batch-Id' header must be set in the request",
          "Either 'Swarm-Postage-Stamp' or 'Swarm-Postage-Batch-Id' header must be set in the request",
        ),
      },
    ),
    refused(
      'POST /chunks short stamp',
      'a stamp has 113 bytes',
      { headers: { 'svc-postage-stamp': 'abcd' } },
      {
        status: 400,
        message: 'Stamp deserialization failure',
      },
    ),
    refused(
      'POST /chunks unknown batch',
      'a batch must be known',
      { headers: { 'svc-postage-batch-id': NOTHING } },
      {
        status: 404,
        message: 'batch with id not found',
      },
    ),
    refused(
      'POST /chunks unknown tag',
      'a tag is looked for before the batch',
      { headers: { 'svc-tag': '4294967295' } },
      {
        status: 404,
        message: 'tag not found',
      },
    ),
  ];
}

function streamRows(names: Names): Row<HttpSubject>[] {
  const row = rowIn('streams');
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
  const tagged = async (session: RowSession) => {
    const tag = await session.ask({ method: 'POST', path: '/tags' }, { status: 201 });
    forgetTag(session, tag.text('uid'));
    return { ...(await batchHeader(session)), 'svc-tag': tag.text('uid') };
  };
  return [
    row('GET /chunks/stream', 'each chunk is acknowledged once, in order', async (session) => {
      const headers = await tagged(session);
      const messages = Array.from({ length: 20 }, (_, i) => chunkOf(session, `streamed ${i}`).data);
      await session.converse({ path: '/chunks/stream', headers, messages, expected: 20 }, acknowledged(20));
      const { address } = chunkOf(session, 'streamed 19');
      await session.until({ method: 'HEAD', path: `/chunks/${address}` }, { status: 200, empty: true });
    }),
    row('GET /chunks/stream text', 'a text message ends the stream with 1003', async (session) => {
      const headers = await tagged(session);
      await session.converse(
        { path: '/chunks/stream', headers, messages: ['hello'], expected: 0 },
        ({ closed, closedReason }) =>
          closed === REFUSED_TEXT && closedReason === 'invalid message'
            ? undefined
            : `${closed === undefined ? 'not opened, or not closed' : `closed with ${closed} ${closedReason}`}, expected ${REFUSED_TEXT} invalid message`,
      );
    }),
    row('GET /chunks/stream unknown batch', 'a batch must be known before the socket opens', (session) =>
      session.converse(
        { path: '/chunks/stream', headers: { 'svc-postage-batch-id': NOTHING }, expected: 0 },
        refusedAs(404, 'batch with id not found'),
      ),
    ),
    row('GET /chunks/stream unknown tag', 'a tag must be known before the socket opens', async (session) => {
      const headers = { ...(await batchHeader(session)), 'svc-tag': '4294967295' };
      await session.converse(
        { path: '/chunks/stream', headers, expected: 0 },
        refusedAs(404, 'tag not found'),
      );
    }),
    row('GET /chunks/stream plain', 'what is no upgrade is refused', async (session) => {
      const request = { path: '/chunks/stream', headers: await batchHeader(session) };
      await session.ask(request, {
        status: 400,
        text: /upgrade failed/,
        headers: { 'sec-websocket-version': '13' },
      });
    }),
  ];
}

function envelopeRows(): Row<HttpSubject>[] {
  const row = rowIn('envelopes');
  const SHAPE = '{issuer:text,index:hex8,timestamp:hex8,signature:hex65}';
  return [
    row('POST /envelope', 'a stamp comes as its parts, and one chunk keeps its place', async (session) => {
      const request = {
        method: 'POST',
        path: `/envelope/${session.hex('enveloped')}`,
        headers: await batchHeader(session),
      } as const;
      const { member } = await session.ask(request, { status: 201, json: SHAPE });
      await session.ask(request, {
        status: 201,
        json: SHAPE,
        values: { index: member('index'), issuer: member('issuer') },
      });
    }),
    row('POST /envelope unknown batch', 'a batch must be known', (session) =>
      session.ask(
        { method: 'POST', path: `/envelope/${NOTHING}`, headers: { 'svc-postage-batch-id': NOTHING } },
        { status: 404, message: 'batch with id not found' },
      ),
    ),
  ];
}

function ownerRows(): Row<HttpSubject>[] {
  const row = rowIn('single-owner chunks');
  const refused = (
    id: string,
    about: string,
    change: (soc: SignedChunk) => Partial<SignedChunk>,
    expected: Expectation,
  ) =>
    row(id, about, async (session) => {
      const soc = signedByOwner(session, id);
      const { path, signature, body } = { ...soc, ...change(soc) };
      const headers = await batchHeader(session);
      await session.ask({ method: 'POST', path: `${path}?sig=${signature}`, headers, body }, expected);
    });
  return [
    row('POST /soc', 'is stored under owner and id', async (session) => {
      session.needs('second');
      const soc = signedByOwner(session, 'posted');
      await session.ask(
        {
          method: 'POST',
          path: `${soc.path}?sig=${soc.signature}`,
          headers: await batchHeader(session),
          body: soc.body,
        },
        { status: 201, json: REFERENCE, values: { reference: soc.address } },
      );
    }),
    row('GET /soc', 'comes without its span, with its signature', async (session) => {
      const { path, body, signature } = await storedSoc(session);
      await session.until(
        { path },
        {
          status: 200,
          bytes: body.subarray(8),
          headers: {
            'svc-soc-signature': signature,
            'content-type': 'application/octet-stream',
            'accept-ranges': 'bytes',
          },
        },
      );
    }),
    row('GET /soc root chunk', 'the wrapped chunk comes with its span, without ranges', async (session) => {
      const { path, body, signature } = await storedSoc(session);
      await session.until(
        { path, headers: { 'svc-only-root-chunk': 'true', range: 'bytes=0-1' } },
        { status: 200, bytes: body, headers: { 'svc-soc-signature': signature, etag: null } },
      );
    }),
    httpRow({
      id: 'GET /soc missing',
      group: 'single-owner chunks',
      about: 'what nobody has stored is not found',
      level: 'read',
      steps: (session) =>
        session.ask(
          { path: `/soc/${session.hex('nobody', 20)}/${session.hex('id')}` },
          { status: 404, message: 'requested chunk cannot be retrieved' },
        ),
    }),
    refused('POST /soc signature', 'another signature is refused', () => ({ signature: 'ab'.repeat(65) }), {
      status: 401,
      message: 'invalid chunk',
    }),
    refused(
      'POST /soc owner',
      'an owner has 20 bytes',
      ({ path }) => ({ path: path.replace(/^\/soc\/\w{40}/, '/soc/abcd') }),
      {
        status: 401,
        message: 'invalid address',
      },
    ),
    refused('POST /soc short', 'a body has at least a span', () => ({ body: new Uint8Array(7) }), {
      status: 400,
      message: 'short chunk data',
    }),
    refused('POST /soc long', 'a body over 4104 bytes is too large', () => ({ body: new Uint8Array(4105) }), {
      status: 413,
      message: 'Request Entity Too Large',
    }),
  ];
}

function feedRows(names: Names): Row<HttpSubject>[] {
  const row = rowIn('feeds');
  const index = (i: number) => i.toString(16).padStart(16, '0');
  return [
    row(
      'GET /feeds',
      'the latest update comes with its index, the next one and its signature',
      async (session) => {
        const { path, updates } = await storedFeed(session);
        const last = updates[UPDATES - 1];
        await session.until(
          { path },
          {
            status: 200,
            bytes: last?.body.subarray(8) ?? new Uint8Array(0),
            headers: {
              'svc-feed-index': index(UPDATES - 1),
              'svc-feed-index-next': index(UPDATES),
              'svc-soc-signature': last?.signature ?? '',
              'svc-feed-resolved-version': 'v2',
              'access-control-expose-headers': new RegExp(names.header('svc-feed-index'), 'i'),
            },
          },
        );
      },
    ),
    row('GET /feeds root chunk', 'the chunk of the update comes with its span', async (session) => {
      const { path, updates } = await storedFeed(session);
      await session.until(
        { path, headers: { 'svc-only-root-chunk': 'true' } },
        {
          status: 200,
          bytes: updates[UPDATES - 1]?.body ?? new Uint8Array(0),
          headers: { 'svc-feed-index': index(UPDATES - 1) },
        },
      );
    }),
    row('POST /feeds', 'a manifest of the feed is stored, and files are read through it', async (session) => {
      const { path } = await storedFeed(session);
      const reference = await upload(session, { path, headers: {}, body: '' });
      // Its update is no collection, so that only the look-up can be observed.
      await session.until(
        { path: `/svc/${reference}/` },
        { status: 404, json: '{code:int,message:text}', message: 'address not found or incorrect' },
      );
    }),
    httpRow({
      id: 'GET /feeds empty',
      group: 'feeds',
      about: 'a feed without an update is not found',
      level: 'read',
      steps: (session) =>
        session.ask(
          { path: `/feeds/${session.hex('nobody', 20)}/${session.hex('no topic')}` },
          { status: 404, message: /^(no update found|lookup at failed)$/ },
        ),
    }),
    ...(names.isSwarm
      ? []
      : [
          httpRow({
            id: 'GET /feeds type',
            group: 'feeds',
            about: 'the only type is sequence, in any case',
            level: 'read',
            steps: async (session) => {
              const path = `/feeds/${session.hex('nobody', 20)}/${session.hex('no topic')}`;
              await session.ask(
                { path: `${path}?type=epoch` },
                { status: 404, message: 'feed type not found' },
              );
              await session.ask(
                { path: `${path}?type=Sequence` },
                { status: 404, message: /^(no update found|lookup at failed)$/ },
              );
            },
          }),
        ]),
    row('POST /feeds owner', 'an owner of zeros is missing', async (session) => {
      const path = `/feeds/${'00'.repeat(20)}/${NOTHING}`;
      const reasons = [{ field: 'owner', error: 'want required:' }];
      await session.ask(
        { method: 'POST', path, headers: await batchHeader(session) },
        { status: 400, message: 'invalid path params', reasons },
      );
    }),
  ];
}
