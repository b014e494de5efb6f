/** Raw bytes: uploads with every header, downloads, ranges and conditions. */
import type { Row } from '../../row.ts';
import type { Expectation } from '../expectation.ts';
import type { Names } from '../names.ts';
import { batchHeader, forgetTag, upload, uploadedBytes } from '../prerequisites.ts';
import { NOTHING } from '../samples.ts';
import { type HttpSubject, httpRow, type RowSession } from '../subject.ts';

const REFERENCE = '{reference:ref}';
const SIZE = 10_000;
const ANY_DATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;

export function bytesRows(names: Names): Row<HttpSubject>[] {
  return [
    ...uploadRows(names),
    ...downloadRows(),
    ...rangeRows(),
    ...conditionRows(),
    ...refusedUploads(names),
  ];
}

function row(id: string, about: string, steps: (session: RowSession) => Promise<unknown>): Row<HttpSubject> {
  return httpRow({ id, group: 'bytes', about, level: 'write', steps });
}

function uploadRows(names: Names): Row<HttpSubject>[] {
  return [
    row('POST /bytes answer', 'an upload is answered with its reference and its tag', async (session) => {
      const answer = await session.ask(
        {
          method: 'POST',
          path: '/bytes',
          headers: await batchHeader(session),
          body: session.content('answer', 5000),
        },
        {
          status: 201,
          json: '{reference:hex32}',
          headers: {
            'svc-tag': /^[1-9]\d*$/,
            'access-control-expose-headers': new RegExp(names.header('svc-tag'), 'i'),
          },
        },
      );
      forgetTag(session, answer.headers[names.header('svc-tag')]);
    }),
    ...[0, 1, 4096, 4097, 100_000].map((length) =>
      row(`${length} bytes`, `${length} bytes come out as they went in`, async (session) => {
        const data = session.content(`size ${length}`, length);
        const reference = await upload(session, { path: '/bytes', headers: {}, body: data });
        await session.ask(
          { path: `/bytes/${reference}` },
          { status: 200, bytes: data, headers: { 'content-length': String(length) } },
        );
      }),
    ),
    row('same bytes', 'the same bytes have the same reference', async (session) => {
      const { reference, data } = await uploadedBytes(session, 'content', SIZE);
      const request = {
        method: 'POST',
        path: '/bytes',
        headers: { ...(await batchHeader(session)), 'svc-redundancy-level': '0' },
        body: data,
      } as const;
      const answer = await session.ask(request, { status: 201, json: REFERENCE, values: { reference } });
      forgetTag(session, answer.headers[names.header('svc-tag')]);
    }),
    row(
      'POST /bytes encrypted',
      'svc-encrypt gives a reference of 64 bytes, which is read',
      async (session) => {
        const data = session.content('encrypted', SIZE);
        const headers = { ...(await batchHeader(session)), 'svc-encrypt': 'true' };
        const request = { method: 'POST', path: '/bytes', headers, body: data } as const;
        const answer = await session.ask(request, { status: 201, json: '{reference:hex64}' });
        forgetTag(session, answer.headers[names.header('svc-tag')]);
        await session.ask({ path: `/bytes/${answer.text('reference')}` }, { status: 200, bytes: data });
      },
    ),
    ...['0', '1', '2', '3', '4'].map((level) =>
      row(`POST /bytes level ${level}`, `content of redundancy level ${level} is read`, async (session) => {
        const data = session.content(`level ${level}`, 20_000);
        const headers = { 'svc-redundancy-level': level };
        const reference = await upload(session, { path: '/bytes', headers, body: data });
        await session.ask({ path: `/bytes/${reference}` }, { status: 200, bytes: data });
      }),
    ),
    row('default level', `content without a level has level ${names.either('0', '1')}`, async (session) => {
      const data = session.content('default level', SIZE);
      const reference = await upload(session, {
        path: '/bytes',
        headers: { 'svc-redundancy-level': names.either('0', '1') },
        body: data,
      });
      const request = {
        method: 'POST',
        path: '/bytes',
        headers: await batchHeader(session),
        body: data,
      } as const;
      const answer = await session.ask(request, { status: 201, values: { reference } });
      forgetTag(session, answer.headers[names.header('svc-tag')]);
    }),
    row('POST /bytes direct', 'a direct upload has no tag', async (session) => {
      await connected(session);
      const headers = { ...(await batchHeader(session)), 'svc-deferred-upload': 'false' };
      await session.ask(
        { method: 'POST', path: '/bytes', headers, body: session.content('direct', 5000) },
        { status: 201, json: REFERENCE, headers: { 'svc-tag': null } },
      );
    }),
    row('POST /bytes pinned', 'svc-pin pins what is uploaded', async (session) => {
      const body = session.content('pinned', 5000);
      const reference = await upload(session, { path: '/bytes', headers: { 'svc-pin': 'true' }, body });
      session.later(`pin of ${reference}`, { method: 'DELETE', path: `/pins/${reference}` });
      await session.ask({ path: `/pins/${reference}` }, { status: 200, values: { reference } });
    }),
    row('POST /bytes tagged', 'an upload with a tag counts on it', async (session) => {
      const { text } = await session.ask({ method: 'POST', path: '/tags' }, { status: 201 });
      const uid = text('uid');
      forgetTag(session, uid);
      const headers = { ...(await batchHeader(session)), 'svc-tag': uid, 'svc-redundancy-level': '0' };
      const body = session.content('tagged', 5000);
      const answer = await session.ask(
        { method: 'POST', path: '/bytes', headers, body },
        { status: 201, json: REFERENCE, headers: { 'svc-tag': uid } },
      );
      await session.ask(
        { path: `/tags/${uid}` },
        { status: 200, values: { split: 3, address: answer.text('reference') } },
      );
    }),
    ...(names.isSwarm
      ? []
      : [
          row('names of the other dialect', 'headers of the other family are read', async (session) => {
            const { 'svc-postage-batch-id': batch = '' } = await batchHeader(session);
            const headers = { 'swarm-postage-batch-id': batch };
            const body = session.content('other names', 100);
            const answer = await session.ask(
              { method: 'POST', path: '/bytes', headers, body },
              { status: 201, json: REFERENCE },
            );
            forgetTag(session, answer.headers['svc-tag']);
          }),
        ]),
  ];
}

/** @throws NotApplicable when no peer could take a chunk */
async function connected(session: RowSession): Promise<void> {
  session.needs('second');
  await session.ask({ path: '/peers' }, { status: 200, json: '{peers:any}' });
}

function downloadRows(): Row<HttpSubject>[] {
  const stored = (session: RowSession) => uploadedBytes(session, 'content', SIZE);
  return [
    row(
      'GET /bytes headers',
      'a download tells type, length, ranges, reference and time',
      async (session) => {
        const { reference, data } = await stored(session);
        await session.ask(
          { path: `/bytes/${reference}` },
          {
            status: 200,
            bytes: data,
            headers: {
              'content-type': 'application/octet-stream',
              'content-length': String(SIZE),
              'accept-ranges': 'bytes',
              etag: `"${reference}"`,
              'last-modified': ANY_DATE,
              'access-control-expose-headers': /content-disposition/i,
            },
          },
        );
      },
    ),
    row('HEAD /bytes headers', 'HEAD tells what GET does', async (session) => {
      const { reference } = await stored(session);
      await session.ask(
        { method: 'HEAD', path: `/bytes/${reference}` },
        {
          status: 200,
          empty: true,
          headers: {
            'content-type': 'application/octet-stream',
            'content-length': String(SIZE),
            'accept-ranges': 'bytes',
            etag: `"${reference}"`,
            'last-modified': ANY_DATE,
          },
        },
      );
    }),
    row('HEAD /bytes level 1', 'HEAD tells the length of content with parities', async (session) => {
      const body = session.content('level 1 length', SIZE);
      const reference = await upload(session, {
        path: '/bytes',
        headers: { 'svc-redundancy-level': '1' },
        body,
      });
      await session.ask(
        { method: 'HEAD', path: `/bytes/${reference}` },
        { status: 200, empty: true, headers: { 'content-length': String(SIZE) } },
      );
    }),
    row('GET /v1/bytes', 'content is served below /v1', async (session) => {
      const { reference, data } = await stored(session);
      await session.ask({ path: `/v1/bytes/${reference}` }, { status: 200, bytes: data });
    }),
    ...[
      { 'svc-cache': 'false' },
      { 'svc-redundancy-strategy': '0' },
      { 'svc-redundancy-strategy': '3' },
      { 'svc-redundancy-fallback-mode': 'false' },
      { 'svc-chunk-retrieval-timeout': '20s' },
      { 'svc-chunk-retrieval-timeout': '1m30s' },
      { 'svc-lookahead-buffer-size': '0' },
      { 'svc-lookahead-buffer-size': '4096' },
    ].map((headers) =>
      row(
        `GET /bytes ${Object.entries(headers).join('')}`,
        `${JSON.stringify(headers)} changes nothing of content`,
        async (session) => {
          const { reference, data } = await stored(session);
          await session.ask({ path: `/bytes/${reference}`, headers }, { status: 200, bytes: data });
        },
      ),
    ),
    row('GET /bytes timeout', 'a time-out that is no duration is refused', async (session) => {
      const { reference } = await stored(session);
      const headers = { 'svc-chunk-retrieval-timeout': 'x' };
      await session.ask(
        { path: `/bytes/${reference}`, headers },
        { status: 400, message: 'could not parse headers' },
      );
    }),
    row('GET /bytes second', 'content is read through another node', async (session) => {
      session.needs('second');
      const { reference, data } = await stored(session);
      await session.until({ place: 'second', path: `/bytes/${reference}` }, { status: 200, bytes: data });
    }),
    httpRow({
      id: 'GET /bytes missing',
      group: 'bytes',
      about: 'content that nobody has is not found',
      level: 'read',
      steps: (session) =>
        session.ask({ path: `/bytes/${session.hex('missing')}` }, { status: 404, message: 'Not Found' }),
    }),
    httpRow({
      id: 'HEAD /bytes missing',
      group: 'bytes',
      about: 'HEAD of content that nobody has is not found',
      level: 'read',
      steps: (session) =>
        session.ask(
          { method: 'HEAD', path: `/bytes/${session.hex('missing')}` },
          { status: 404, empty: true },
        ),
    }),
  ];
}

function rangeRows(): Row<HttpSubject>[] {
  const part =
    (from: number, to: number) =>
    (data: Uint8Array): Expectation => ({
      status: 206,
      bytes: data.subarray(from, to),
      headers: { 'content-range': `bytes ${from}-${to - 1}/${SIZE}`, 'content-length': String(to - from) },
    });
  const whole = (data: Uint8Array): Expectation => ({
    status: 200,
    bytes: data,
    headers: { 'content-range': null },
  });
  const refused =
    (text: string, range: string | null): ((data: Uint8Array) => Expectation) =>
    () => ({
      status: 416,
      text: `${text}\n`,
      headers: { 'content-type': 'text/plain; charset=utf-8', 'content-range': range, etag: null },
    });
  const past = refused('invalid range: failed to overlap', `bytes */${SIZE}`);
  const table: readonly (readonly [
    range: string,
    about: string,
    expected: (data: Uint8Array) => Expectation,
  ])[] = [
    ['bytes=0-0', 'the first byte', part(0, 1)],
    ['bytes=100-4999', 'bytes of two chunks', part(100, 5000)],
    ['bytes=9990-', 'an open end', part(9990, SIZE)],
    ['bytes=-10', 'the last ten', part(SIZE - 10, SIZE)],
    ['bytes=-20000', 'more than there is from the end', part(0, SIZE)],
    ['bytes=9000-20000', 'an end past the last byte', part(9000, SIZE)],
    ['bytes= 5 - 9 ', 'spaces around numbers', part(5, 10)],
    ['bytes=0-4,20000-', 'one of two that can be satisfied', part(0, 5)],
    ['bytes=', 'no range at all', whole],
    ['bytes=0-9999,0-9999', 'more bytes than there are', whole],
    ['bytes=5-2', 'an end before its start', refused('invalid range', null)],
    ['bytes=x-5', 'no number', refused('invalid range', null)],
    ['lines=0-5', 'another unit', refused('invalid range', null)],
    [`bytes=${SIZE}-`, 'a start past the end', past],
  ];
  return [
    ...table.map(([range, about, expected]) =>
      row(`range ${range}`, about, async (session) => {
        const { reference, data } = await uploadedBytes(session, 'content', SIZE);
        await session.ask({ path: `/bytes/${reference}`, headers: { range } }, expected(data));
      }),
    ),
    row('range bytes=0-4,10-14', 'two ranges come as two parts', async (session) => {
      const { reference } = await uploadedBytes(session, 'content', SIZE);
      await session.ask(
        { path: `/bytes/${reference}`, headers: { range: 'bytes=0-4,10-14' } },
        {
          status: 206,
          headers: { 'content-type': /^multipart\/byteranges; boundary=/ },
          text: /content-range: bytes 0-4\/10000[^]*content-range: bytes 10-14\/10000/i,
        },
      );
    }),
    row('range of nothing', 'a range of empty content is the whole', async (session) => {
      const reference = await upload(session, { path: '/bytes', headers: {}, body: new Uint8Array(0) });
      await session.ask(
        { path: `/bytes/${reference}`, headers: { range: 'bytes=5-' } },
        { status: 200, bytes: new Uint8Array(0) },
      );
    }),
    row('range of HEAD', 'HEAD tells the headers of a range', async (session) => {
      const { reference } = await uploadedBytes(session, 'content', SIZE);
      const request = {
        method: 'HEAD',
        path: `/bytes/${reference}`,
        headers: { range: 'bytes=0-5' },
      } as const;
      const headers = { 'content-range': `bytes 0-5/${SIZE}`, 'content-length': '6' };
      await session.ask(request, { status: 206, empty: true, headers });
    }),
  ];
}

function conditionRows(): Row<HttpSubject>[] {
  const other = `"${NOTHING}"`;
  const whole = (data: Uint8Array): Expectation => ({ status: 200, bytes: data });
  const unchanged = (): Expectation => ({
    status: 304,
    empty: true,
    headers: { 'content-type': null, 'last-modified': null },
  });
  const failed = (): Expectation => ({ status: 412, empty: true });
  type Condition = readonly [
    id: string,
    headers: (etag: string) => Record<string, string>,
    expected: (data: Uint8Array) => Expectation,
  ];
  const table: readonly Condition[] = [
    ['if-none-match the reference', (etag) => ({ 'if-none-match': etag }), unchanged],
    ['if-none-match a list', (etag) => ({ 'if-none-match': `${other}, ${etag}` }), unchanged],
    ['if-none-match weak', (etag) => ({ 'if-none-match': `W/${etag}` }), unchanged],
    ['if-none-match *', () => ({ 'if-none-match': '*' }), unchanged],
    ['if-none-match another', () => ({ 'if-none-match': other }), whole],
    ['if-match the reference', (etag) => ({ 'if-match': etag }), whole],
    ['if-match *', () => ({ 'if-match': '*' }), whole],
    [
      'if-unmodified-since the future',
      () => ({ 'if-unmodified-since': 'Fri, 01 Jan 2100 00:00:00 GMT' }),
      whole,
    ],
    ['if-modified-since the past', () => ({ 'if-modified-since': 'Sat, 01 Jan 2000 00:00:00 GMT' }), whole],
    ['if-match another', () => ({ 'if-match': other }), failed],
    ['if-match weak', (etag) => ({ 'if-match': `W/${etag}` }), failed],
    [
      'if-unmodified-since the past',
      () => ({ 'if-unmodified-since': 'Sat, 01 Jan 2000 00:00:00 GMT' }),
      failed,
    ],
    ['if-range another', () => ({ 'if-range': other, range: 'bytes=0-4' }), whole],
    [
      'if-range the reference',
      (etag) => ({ 'if-range': etag, range: 'bytes=0-4' }),
      (data) => ({ status: 206, bytes: data.subarray(0, 5) }),
    ],
  ];
  return table.map(([id, headers, expected]) =>
    row(id, `a download with ${id}`, async (session) => {
      const { reference, data } = await uploadedBytes(session, 'content', SIZE);
      await session.ask({ path: `/bytes/${reference}`, headers: headers(`"${reference}"`) }, expected(data));
    }),
  );
}

/** The order in which an upload's headers are checked. */
function refusedUploads(names: Names): Row<HttpSubject>[] {
  const batch = 'svc-postage-batch-id';
  const post = (id: string, about: string, headers: Record<string, string>, expected: Expectation) =>
    row(id, about, (session) =>
      session.ask({ method: 'POST', path: '/bytes', headers, body: 'x' }, expected),
    );
  return [
    post(
      'unknown batch',
      'a batch that the node does not have is not found',
      { [batch]: NOTHING },
      {
        status: 404,
        message: 'batch with id not found',
      },
    ),
    post(
      'short batch',
      'an id of another length is none',
      { [batch]: 'abcd' },
      names.either<Expectation>(
        {
          status: 400,
          message: 'invalid header params',
          reasons: [{ field: batch, error: 'want len:32' }],
        },
        { status: 404, message: 'batch with id not found' },
      ),
    ),
    post(
      'unknown tag',
      'a tag is looked for before the batch',
      { [batch]: NOTHING, 'svc-tag': '4294967295' },
      {
        status: 404,
        message: 'tag not found',
      },
    ),
    post(
      'no batch, unknown tag',
      'a missing header is told before an unknown tag',
      { 'svc-tag': '4294967295' },
      {
        status: 400,
        message: 'invalid header params',
        reasons: [{ field: names.header(batch), error: 'want required:' }],
      },
    ),
    post(
      'two that cannot be read',
      'all headers that cannot be read are told together',
      { [batch]: NOTHING, 'svc-tag': 'x', 'svc-pin': 'y' },
      {
        status: 400,
        message: 'invalid header params',
        reasons: [
          { field: names.declared('svc-tag'), error: 'invalid syntax' },
          { field: names.declared('svc-pin'), error: 'invalid syntax' },
        ],
      },
    ),
    post(
      'one that cannot be read, one missing',
      'what is missing is told when all else can be read',
      { 'svc-tag': 'x' },
      {
        status: 400,
        message: 'invalid header params',
        reasons: [{ field: names.declared('svc-tag'), error: 'invalid syntax' }],
      },
    ),
  ];
}
