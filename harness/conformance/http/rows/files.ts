/** Files, collections, tags, pins, stewardship and lists of grantees. */
import { setTimeout as delay } from 'node:timers/promises';
import { type TreeFile, tarOf } from '../../../base/tree.ts';
import type { Row } from '../../row.ts';
import type { Expectation } from '../expectation.ts';
import type { HttpRequest } from '../messages.ts';
import type { Names } from '../names.ts';
import { batchHeader, forgetTag, upload, uploadedBytes } from '../prerequisites.ts';
import { ROUTES } from '../routes.ts';
import { NOTHING } from '../samples.ts';
import { type HttpSubject, httpRow, type RowSession } from '../subject.ts';

const TAR = { 'content-type': 'application/x-tar', 'svc-collection': 'true' };
const HISTORY_STEP_MS = 1100;
const UNKNOWN_TAG = '4294967295';
const TAG = ROUTES.find(({ method, path }) => method === 'POST' && path === '/tags')?.response ?? '';

export function fileRows(names: Names): Row<HttpSubject>[] {
  return [
    ...singleRows(names),
    ...collectionRows(names),
    ...tagRows(names),
    ...pinRows(names),
    ...accessRows(names),
  ];
}

const rowIn =
  (group: string) =>
  (id: string, about: string, steps: (session: RowSession) => Promise<unknown>): Row<HttpSubject> =>
    httpRow({ id, group, about, level: 'write', steps });

function textFile(session: RowSession): Promise<string> {
  return session.once('file', (setup) =>
    upload(setup, {
      path: '/svc?name=a%20b.txt',
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      body: 'hello',
    }),
  );
}

function singleRows(names: Names): Row<HttpSubject>[] {
  const row = rowIn('files');
  const served: NonNullable<Expectation['headers']> = {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': '5',
    'content-disposition': 'inline; filename="a b.txt"',
    etag: /^"[0-9a-f]{64}"$/,
  };
  const bad = (id: string, about: string, request: Partial<HttpRequest>, expected: Expectation) =>
    row(id, about, async (session) => {
      const headers = { ...(await batchHeader(session)), ...request.headers };
      await session.ask({ method: 'POST', path: '/svc', ...request, headers }, expected);
    });
  return [
    row('POST /svc', 'a file is answered with its reference, tag and ETag', async (session) => {
      const headers = { ...(await batchHeader(session)), 'content-type': 'text/plain' };
      const answer = await session.ask(
        { method: 'POST', path: '/svc?name=x.txt', headers, body: session.content('file', 100) },
        {
          status: 201,
          json: '{reference:hex32}',
          headers: { 'svc-tag': /^[1-9]\d*$/, etag: /^"[0-9a-f]{64}"$/ },
        },
      );
      forgetTag(session, answer.headers[names.header('svc-tag')]);
    }),
    row('GET /svc/ file', 'a file comes with its name and type', async (session) => {
      const reference = await textFile(session);
      await session.ask(
        { path: `/svc/${reference}/` },
        { status: 200, text: 'hello', headers: { ...served, 'accept-ranges': 'bytes' } },
      );
    }),
    row('HEAD /svc/ file', 'HEAD tells the same', async (session) => {
      const reference = await textFile(session);
      await session.ask(
        { method: 'HEAD', path: `/svc/${reference}/` },
        { status: 200, empty: true, headers: served },
      );
    }),
    row('GET /svc/ by name', 'a file is read by its name', async (session) => {
      await session.ask(
        { path: `/svc/${await textFile(session)}/a%20b.txt` },
        { status: 200, text: 'hello' },
      );
    }),
    row('GET /svc/ range', 'files have ranges', async (session) => {
      const request = { path: `/svc/${await textFile(session)}/`, headers: { range: 'bytes=1-3' } };
      await session.ask(request, { status: 206, text: 'ell', headers: { 'content-range': 'bytes 1-3/5' } });
    }),
    row(
      'GET /svc without slash',
      names.either('is served at once', 'is sent to the path with a slash'),
      async (session) => {
        const reference = await textFile(session);
        const moved = { status: 308, headers: { location: /\/$/ } };
        const here = { status: 200, text: 'hello', headers: { vary: /accept/i } };
        await session.ask({ path: `/svc/${reference}` }, names.either<Expectation>(here, moved));
      },
    ),
    row('GET /svc without slash, query', 'a redirect keeps the query', async (session) => {
      const request = { path: `/svc/${await textFile(session)}?a=b`, headers: { accept: 'text/html' } };
      await session.ask(request, { status: 308, headers: { location: /\/\?a=b$/ } });
    }),
    row('GET /svc/ unknown path', 'a path that is not in the collection is not found', async (session) => {
      await session.ask(
        { path: `/svc/${await textFile(session)}/other` },
        { status: 404, message: 'path address not found' },
      );
    }),
    row('GET /svc/ of bytes', 'bytes are no collection', async (session) => {
      const { reference } = await uploadedBytes(session, 'content', 10_000);
      await session.ask(
        { path: `/svc/${reference}/` },
        { status: 404, message: 'address not found or incorrect' },
      );
    }),
    httpRow({
      id: 'GET /svc/ missing',
      group: 'files',
      about: 'a reference that nobody has is not found',
      level: 'read',
      steps: (session) =>
        session.ask(
          { path: `/svc/${session.hex('no file')}/` },
          { status: 404, message: 'address not found or incorrect' },
        ),
    }),
    bad(
      'POST /svc name',
      'a name does not begin with a slash',
      { path: '/svc?name=/a', headers: { 'content-type': 'text/plain' }, body: 'x' },
      {
        status: 400,
        message: 'invalid query params',
        reasons: [{ field: 'name', error: 'want startsnotwith:/' }],
      },
    ),
    bad(
      'POST /svc collection type',
      'a collection comes as tar or as parts',
      { headers: { 'svc-collection': 'true', 'content-type': 'text/plain' }, body: 'x' },
      {
        status: 400,
        message: 'invalid content-type',
      },
    ),
    bad(
      'POST /svc empty tar',
      'a collection has a file',
      { headers: TAR, body: new Uint8Array(1024) },
      {
        status: 400,
        message: 'no files in root directory',
      },
    ),
    bad(
      'POST /svc unknown batch',
      'a batch must be known',
      { headers: { 'content-type': 'text/plain', 'svc-postage-batch-id': NOTHING }, body: 'x' },
      {
        status: 404,
        message: 'batch with id not found',
      },
    ),
  ];
}

const SITE: readonly TreeFile[] = [
  { path: 'index.html', data: Buffer.from('<h1>index</h1>') },
  { path: 'error.html', data: Buffer.from('<h1>error</h1>') },
  { path: 'docs/a.json', data: Buffer.from('{"a":1}') },
  { path: 'docs/index.html', data: Buffer.from('<h1>docs</h1>') },
];

function collectionRows(names: Names): Row<HttpSubject>[] {
  const row = rowIn('collections');
  const site = (session: RowSession) =>
    session.once('site', async (setup) => {
      const headers = { ...TAR, 'svc-index-document': 'index.html', 'svc-error-document': 'error.html' };
      return upload(setup, { path: '/svc', headers, body: await tarOf(SITE) });
    });
  const read = (id: string, about: string, path: string, expected: Expectation) =>
    row(id, about, async (session) => session.ask({ path: `/svc/${await site(session)}/${path}` }, expected));
  return [
    row(
      'POST /svc collection',
      names.either('a collection has an ETag', 'a collection has no ETag'),
      async (session) => {
        const headers = { ...(await batchHeader(session)), ...TAR };
        const etag = names.either<RegExp | null>(/^"[0-9a-f]{64}"$/, null);
        const answer = await session.ask(
          {
            method: 'POST',
            path: '/svc',
            headers,
            body: await tarOf([{ path: 'x', data: session.content('x', 10) }]),
          },
          { status: 201, json: '{reference:hex32}', headers: { etag, 'svc-tag': /^[1-9]\d*$/ } },
        );
        forgetTag(session, answer.headers[names.header('svc-tag')]);
      },
    ),
    read('index document', 'the empty path is the index document', '', {
      status: 200,
      text: '<h1>index</h1>',
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-disposition': 'inline; filename="index.html"',
      },
    }),
    read('error document', 'an unknown path is the error document, with 200', 'nothing', {
      status: 200,
      text: '<h1>error</h1>',
    }),
    read('type by extension', 'files of a tar have the type of their extension', 'docs/a.json', {
      status: 200,
      text: '{"a":1}',
      headers: { 'content-type': 'application/json' },
    }),
    read('folder with slash', 'a folder is its index document', 'docs/', {
      status: 200,
      text: '<h1>docs</h1>',
    }),
    read('folder without slash', 'a folder is sent to its path with a slash', 'docs', {
      status: 308,
      headers: { location: /\/docs\/$/ },
    }),
    row('multipart', 'parts are files under their names', async (session) => {
      const part = (name: string, text: string) =>
        `--b\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: text/plain\r\n\r\n${text}\r\n`;
      const body = `${part('one/1.txt', 'first')}${part('2.txt', 'second')}--b--\r\n`;
      const reference = await upload(session, {
        path: '/svc',
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
        body,
      });
      await session.ask(
        { path: `/svc/${reference}/one/1.txt` },
        { status: 200, text: 'first', headers: { 'content-type': 'text/plain' } },
      );
      await session.ask({ path: `/svc/${reference}/2.txt` }, { status: 200, text: 'second' });
      await session.ask(
        { path: `/svc/${reference}/` },
        { status: 404, message: 'address not found or incorrect' },
      );
    }),
    row('collection second', 'a collection is read through another node', async (session) => {
      session.needs('second');
      await session.until(
        { place: 'second', path: `/svc/${await site(session)}/docs/a.json` },
        { status: 200, text: '{"a":1}' },
      );
    }),
  ];
}

function tagRows(names: Names): Row<HttpSubject>[] {
  const row = rowIn('tags');
  const tag = async (session: RowSession) => {
    const answer = await session.ask({ method: 'POST', path: '/tags' }, { status: 201 });
    forgetTag(session, answer.text('uid'));
    return answer.text('uid');
  };
  const noCache = { 'cache-control': 'no-cache, private, max-age=0' };
  const unread = (error: string) =>
    names.either<Expectation>(
      { status: 400, message: 'invalid body params', reasons: [{ field: 'body', error }] },
      { status: 500, message: 'error unmarshaling metadata' },
    );
  return [
    row('POST /tags', 'a tag is made with all its counters', async (session) => {
      const zero = { split: 0, seen: 0, stored: 0, sent: 0, synced: 0, address: '' };
      const answer = await session.ask(
        { method: 'POST', path: '/tags' },
        { status: 201, json: TAG, values: zero, headers: noCache },
      );
      forgetTag(session, answer.text('uid'));
    }),
    row('GET /tags/{uid}', 'a tag is read, and not cached', async (session) => {
      const uid = await tag(session);
      await session.ask(
        { path: `/tags/${uid}` },
        { status: 200, json: TAG, values: { uid: Number(uid) }, headers: noCache },
      );
    }),
    row('DELETE /tags/{uid}', 'a tag that was removed is gone', async (session) => {
      const { text } = await session.ask({ method: 'POST', path: '/tags' }, { status: 201 });
      await session.ask({ method: 'DELETE', path: `/tags/${text('uid')}` }, { status: 204, empty: true });
      await session.ask({ path: `/tags/${text('uid')}` }, { status: 404, message: 'tag not present' });
    }),
    row('PATCH /tags/{uid}', 'a reference is noted', async (session) => {
      const uid = await tag(session);
      const body = JSON.stringify({ address: NOTHING });
      await session.ask(
        { method: 'PATCH', path: `/tags/${uid}`, body },
        { status: 200, json: '{code:int,message:text}', message: 'ok' },
      );
      await session.ask({ path: `/tags/${uid}` }, { status: 200, values: { address: NOTHING } });
    }),
    ...[
      ['{', 'no JSON'],
      ['[]', 'want an object'],
      ['{"address":5}', 'want a text as address'],
    ].map(([body = '', error = '']) =>
      row(`PATCH /tags/{uid} ${body}`, `a body is refused: ${error}`, async (session) => {
        await session.ask({ method: 'PATCH', path: `/tags/${await tag(session)}`, body }, unread(error));
      }),
    ),
    row('GET /tags limit', 'so many tags are listed', async (session) => {
      await tag(session);
      await tag(session);
      const one = await session.ask({ path: '/tags?limit=1' }, { status: 200, json: `{tags:${TAG}[]}` });
      const first = one.member('tags') as readonly { uid: number }[];
      await session.ask({ path: '/tags?limit=2' }, { status: 200, values: { 'tags.0.uid': first[0]?.uid } });
      const next = await session.ask(
        { path: '/tags?offset=1&limit=1' },
        { status: 200, json: `{tags:${TAG}[]}` },
      );
      await session.ask(
        { path: '/tags?limit=2' },
        { status: 200, values: { 'tags.1.uid': next.member('tags.0.uid'), 'tags.length': 2 } },
      );
    }),
    row('POST /tags long', 'a body over 1024 bytes is too large', (session) =>
      session.ask(
        { method: 'POST', path: '/tags', body: new Uint8Array(1025) },
        { status: 413, message: 'Request Entity Too Large' },
      ),
    ),
    httpRow({
      id: 'GET /tags/{uid} unknown',
      group: 'tags',
      about: 'a tag that is not there is not found',
      level: 'read',
      steps: (session) =>
        session.ask({ path: `/tags/${UNKNOWN_TAG}` }, { status: 404, message: 'tag not present' }),
    }),
    row('DELETE /tags/{uid} unknown', names.either('is not found', 'is answered like any other'), (session) =>
      session.ask(
        { method: 'DELETE', path: `/tags/${UNKNOWN_TAG}` },
        names.either<Expectation>({ status: 404, message: 'tag not present' }, { status: 204, empty: true }),
      ),
    ),
    row('PATCH /tags/{uid} unknown', 'is not found', (session) =>
      session.ask(
        { method: 'PATCH', path: `/tags/${UNKNOWN_TAG}`, body: '{}' },
        { status: 404, message: 'tag not present' },
      ),
    ),
  ];
}

function pinRows(names: Names): Row<HttpSubject>[] {
  const row = rowIn('pins');
  const content = async (session: RowSession, name: string) => {
    const headers = { 'svc-redundancy-level': '0' };
    const body = session.content(`pin ${name}`, 5000);
    const reference = await upload(session, { path: '/bytes', headers, body });
    session.later(`pin of ${reference}`, { method: 'DELETE', path: `/pins/${reference}` });
    return reference;
  };
  const missing = (method: 'GET' | 'DELETE', level: 'read' | 'write') =>
    httpRow({
      id: `${method} /pins unpinned`,
      group: 'pins',
      about: 'what is not pinned is not found',
      level,
      steps: (session) =>
        session.ask({ method, path: `/pins/${NOTHING}` }, { status: 404, message: 'Not Found' }),
    });
  return [
    row('POST /pins', 'is 201 the first time, 200 after that', async (session) => {
      const path = `/pins/${await content(session, 'twice')}`;
      await session.ask({ method: 'POST', path }, { status: 201, message: 'Created' });
      await session.ask({ method: 'POST', path }, { status: 200, message: 'OK' });
    }),
    row('GET /pins/{reference}', 'what is pinned is told', async (session) => {
      const reference = await content(session, 'told');
      await session.ask({ method: 'POST', path: `/pins/${reference}` }, { status: 201 });
      await session.ask(
        { path: `/pins/${reference}` },
        { status: 200, json: '{reference:hex32}', values: { reference } },
      );
    }),
    row('DELETE /pins', 'what was unpinned is gone', async (session) => {
      const path = `/pins/${await content(session, 'gone')}`;
      await session.ask({ method: 'POST', path }, { status: 201 });
      await session.ask({ method: 'DELETE', path }, { status: 200, message: 'OK' });
      await session.ask({ path }, { status: 404, message: 'Not Found' });
    }),
    row(
      'GET /pins/check',
      names.either('is a list with the record of a pin', 'is a record per line'),
      async (session) => {
        const reference = await content(session, 'checked');
        await session.ask({ method: 'POST', path: `/pins/${reference}` }, { status: 201 });
        const record = { reference, total: 3, missing: 0, invalid: 0 };
        const shape = '{reference:ref,total:uint,missing:uint,invalid:uint}';
        await session.ask(
          { path: `/pins/check?ref=${reference}` },
          names.either<Expectation>(
            { status: 200, json: `${shape}[]`, values: { '0': record, length: 1 } },
            { status: 200, json: shape, values: record },
          ),
        );
      },
    ),
    row('POST /pins missing', 'content that nobody has is not pinned', (session) =>
      session.ask(
        { method: 'POST', path: `/pins/${session.hex('no pin')}` },
        { status: names.either<number[]>([404], [404, 500]), message: 'pin collection failed' },
      ),
    ),
    missing('GET', 'read'),
    missing('DELETE', 'write'),
  ];
}

function accessRows(names: Names): Row<HttpSubject>[] {
  const grantees = rowIn('grantees');
  const stewardship = rowIn('stewardship');
  const KEY = '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798';
  const OTHER = '02c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5';
  const CHANGE = '{ref:hex64,historyref:hex32}';
  const list = async (session: RowSession) => {
    const headers = await batchHeader(session);
    const body = JSON.stringify({ grantees: [KEY] });
    const answer = await session.ask(
      { method: 'POST', path: '/grantee', headers, body },
      { status: 201, json: CHANGE },
    );
    return { reference: answer.text('ref'), history: answer.text('historyref') };
  };
  const bad = (id: string, about: string, body: string, expected: Expectation) =>
    grantees(id, about, async (session) =>
      session.ask({ method: 'POST', path: '/grantee', headers: await batchHeader(session), body }, expected),
    );
  return [
    grantees('POST /grantee', 'a list is made and read', async (session) => {
      const { reference } = await list(session);
      await session.ask(
        { path: `/grantee/${reference}` },
        { status: 200, json: 'publicKey[]', values: { '0': KEY, length: 1 } },
      );
    }),
    grantees('PATCH /grantee', 'a grantee is added', async (session) => {
      const { reference, history } = await session.once('grantees', async (setup) => {
        const made = await list(setup);
        // Histories count in seconds.
        await delay(HISTORY_STEP_MS, undefined, { signal: setup.signal });
        return made;
      });
      const headers = { ...(await batchHeader(session)), 'svc-act-history-address': history };
      const answer = await session.ask(
        { method: 'PATCH', path: `/grantee/${reference}`, headers, body: JSON.stringify({ add: [OTHER] }) },
        { status: 200, json: CHANGE },
      );
      await session.ask(
        { path: `/grantee/${answer.text('ref')}` },
        { status: 200, json: 'publicKey[]', values: { length: 2 } },
      );
    }),
    grantees(
      'POST /bytes for grantees',
      'content is read with publisher and history, and not without',
      async (session) => {
        const data = session.content('act', 500);
        const headers = { ...(await batchHeader(session)), 'svc-act': 'true' };
        const made = await session.ask(
          { method: 'POST', path: '/bytes', headers, body: data },
          {
            status: 201,
            json: '{reference:hex32}',
            headers: { 'svc-act-history-address': /^[0-9a-f]{64}$/ },
          },
        );
        forgetTag(session, made.headers[names.header('svc-tag')]);
        const history = made.headers[names.header('svc-act-history-address')] ?? '';
        const { text } = await session.ask({ path: '/addresses' }, { status: 200 });
        const path = `/bytes/${made.text('reference')}`;
        const keys = { 'svc-act-publisher': text('publicKey'), 'svc-act-history-address': history };
        await session.ask({ path, headers: keys }, { status: 200, bytes: data });
        await session.ask({ path }, { status: 404, message: 'Not Found' });
        await session.ask(
          { path, headers: { ...keys, 'svc-act-timestamp': '0' } },
          { status: 400, message: 'invalid timestamp' },
        );
      },
    ),
    bad('POST /grantee empty', 'a body is needed', '', {
      status: 400,
      message: 'could not validate request',
    }),
    ...[
      ['{', 'no JSON'],
      ['[]', 'want an object'],
      ['{"grantees":5}', 'want a list of texts as grantees'],
    ].map(([body = '', error = '']) =>
      bad(
        `POST /grantee ${body}`,
        `a body is refused: ${error}`,
        body,
        names.either<Expectation>(
          { status: 400, message: 'invalid body params', reasons: [{ field: 'body', error }] },
          { status: 500, message: 'error unmarshaling request body' },
        ),
      ),
    ),
    bad('POST /grantee no key', 'a grantee is a public key', '{"grantees":["zz"]}', {
      status: 400,
      message: 'invalid grantee list',
    }),
    httpRow({
      id: 'GET /grantee missing',
      group: 'grantees',
      about: 'a list that nobody has is not found',
      level: 'read',
      steps: (session) =>
        session.ask(
          { path: `/grantee/${session.hex('no list', 64)}` },
          { status: 404, message: 'granteelist not found' },
        ),
    }),
    stewardship('GET /stewardship', 'content of the network can be retrieved', async (session) => {
      session.needs('second');
      const { reference } = await uploadedBytes(session, 'content', 10_000);
      await session.until(
        { path: `/stewardship/${reference}` },
        { status: 200, json: '{isRetrievable:bool}', values: { isRetrievable: true } },
      );
    }),
    httpRow({
      id: 'GET /stewardship missing',
      group: 'stewardship',
      about: 'what nobody has cannot be retrieved',
      level: 'read',
      steps: (session) =>
        session.ask(
          { path: `/stewardship/${session.hex('no root')}` },
          { status: 200, json: '{isRetrievable:bool}', values: { isRetrievable: false } },
        ),
    }),
    stewardship('PUT /stewardship', 'content is uploaded again with a batch', async (session) => {
      session.needs('second');
      const { reference } = await uploadedBytes(session, 'content', 10_000);
      const request = {
        method: 'PUT',
        path: `/stewardship/${reference}`,
        headers: await batchHeader(session),
      } as const;
      await session.ask(request, { status: 200, message: 'OK' });
    }),
    stewardship(
      'PUT /stewardship without batch',
      names.either('the batch of the upload is used again', 'a batch is needed'),
      async (session) => {
        session.needs('second');
        const { reference } = await uploadedBytes(session, 'content', 10_000);
        const reasons = [{ field: 'swarm-postage-batch-id', error: 'want required:' }];
        await session.ask(
          { method: 'PUT', path: `/stewardship/${reference}` },
          names.either<Expectation>(
            { status: 200, message: 'OK' },
            { status: 400, message: 'invalid header params', reasons },
          ),
        );
      },
    ),
    stewardship('PUT /stewardship unknown batch', 'a batch must be known', (session) =>
      session.ask(
        { method: 'PUT', path: `/stewardship/${NOTHING}`, headers: { 'svc-postage-batch-id': NOTHING } },
        { status: 404, message: 'batch with id not found' },
      ),
    ),
  ];
}
