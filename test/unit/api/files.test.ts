import { pack } from 'tar-stream';
import { describe, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { ChunkNotFoundError } from '../../../formats/chunk/chunk.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { encodeNode } from '../../../node/manifest/codec.ts';
import { BATCH } from './fake-postage.ts';
import { type Kit, startKit } from './kit.ts';

const ZEROS = '0'.repeat(64);
const BOUNDARY = 'cut';
const MULTIPART = `multipart/form-data; boundary=${BOUNDARY}`;

function post(kit: Kit, headers: Record<string, string>, payload: Buffer | string, query = '') {
  return kit.api.main.post(`/svc${query}`, payload, { 'svc-postage-batch-id': BATCH, ...headers });
}

async function tar(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const archive = pack();
  for (const [name, text] of Object.entries(files)) archive.entry({ name }, text);
  archive.finalize();
  return Buffer.concat(await Array.fromAsync(archive as AsyncIterable<Buffer>));
}

function multipart(parts: readonly { head: string; text: string }[]): string {
  return `${parts.map(({ head, text }) => `--${BOUNDARY}\r\n${head}\r\n\r\n${text}\r\n`).join('')}--${BOUNDARY}--\r\n`;
}

const SITE = {
  'index.html': '<html>home</html>',
  'error.html': '<html>error</html>',
  'docs/index.html': '<html>docs</html>',
  'docs/readme.txt': 'read me',
  'img/logo.png': 'not really',
};
const SITE_HEADERS = {
  'content-type': 'application/x-tar',
  'svc-collection': 'true',
  'svc-index-document': 'index.html',
  'svc-error-document': 'error.html',
};

async function site(headers: Record<string, string> = SITE_HEADERS): Promise<Kit & { root: string }> {
  const kit = await startKit();
  const answer = await post(kit, headers, await tar(SITE));
  expect(answer.statusCode).toBe(201);
  return { ...kit, root: `/svc/${answer.json().reference}` };
}

test.each([
  ['svc', 4096, 201],
  ['svc', 4097, 400],
  ['swarm', 4097, 201],
  ['swarm', 16_000, 201],
] as const)('in the %s dialect, a path of %i bytes is answered %i', async (dialect, length, status) => {
  const kit = await startKit({ dialect });
  const name = 'n'.repeat(length);
  const asPart = multipart([{ head: `Content-Disposition: form-data; name="${name}"`, text: 'x' }]);
  const answers = [
    await post(kit, { 'content-type': 'text/plain' }, 'x', `?name=${name}`),
    await post(kit, { 'content-type': MULTIPART }, asPart),
  ];
  for (const answer of answers) {
    expect(answer.statusCode).toBe(status);
    if (status === 400)
      expect(answer.json().reasons).toEqual([`path: path of ${length} bytes, expected at most 4096`]);
    else
      expect(
        await kit.api.main.get(`/${kit.dialect.segment}/${answer.json().reference}/${name}`),
      ).toMatchObject({ statusCode: 200, payload: 'x' });
  }
});

describe('a single file', () => {
  test('is served by its name and as the content of the root', async () => {
    const kit = await startKit();
    const answer = await post(kit, { 'content-type': 'text/plain; charset=utf-8' }, 'hello', '?name=a.txt');
    expect(answer.statusCode).toBe(201);
    const { reference } = answer.json();
    expect(answer.headers.etag).toBe(`"${reference}"`);
    expect(answer.headers['svc-tag']).toBe('1');
    expect(answer.headers['access-control-expose-headers']).toBe('svc-tag');
    for (const path of ['', '/', '/a.txt']) {
      const down = await kit.api.main.get(`/svc/${reference}${path}`);
      expect([down.statusCode, down.body]).toEqual([200, 'hello']);
      expect(down.headers['content-type']).toBe('text/plain; charset=utf-8');
      expect(down.headers['content-disposition']).toBe('inline; filename="a.txt"');
    }
  });

  test('without a name is named after the reference of its content', async () => {
    const kit = await startKit();
    const { reference } = (await post(kit, { 'content-type': 'text/plain' }, 'hello')).json();
    const { headers } = await kit.api.main.get(`/svc/${reference}/`);
    expect(headers['content-disposition']).toMatch(/^inline; filename="[0-9a-f]{64}"$/);
  });

  test('a tar without the collection header is one file', async () => {
    const kit = await startKit();
    const archive = await tar({ 'a.txt': 'a' });
    const { reference } = (
      await post(kit, { 'content-type': 'application/x-tar' }, archive, '?name=a.tar')
    ).json();
    const down = await kit.api.main.get(`/svc/${reference}/a.tar`);
    expect(down.rawPayload.equals(archive)).toBe(true);
  });

  test('a name beyond Latin-1 is sent in UTF-8, and no name breaks the header', async () => {
    const kit = await startKit();
    const name = encodeURIComponent('pr\u20acis\n"x".txt');
    const { reference } = (
      await post(kit, { 'content-type': 'text/plain' }, 'hello', `?name=${name}`)
    ).json();
    const { headers } = await kit.api.main.get(`/svc/${reference}/`);
    expect(Buffer.from(String(headers['content-disposition']), 'latin1').toString('utf8')).toBe(
      String.raw`inline; filename="pr€is \"x\".txt"`,
    );
  });

  test('a query parameter without a value is not a name', async () => {
    expect(
      (await post(await startKit(), { 'content-type': 'text/plain' }, 'x', '?name%3Dfile')).statusCode,
    ).toBe(201);
  });

  test.each([
    [
      { 'content-type': 'text/' },
      '',
      'invalid header params',
      'Content-Type: mime: expected token after slash',
    ],
    [{ 'content-type': 'text/plain' }, '?name=/x', 'invalid query params', 'name: want startsnotwith:/'],
    [
      { 'content-type': 'text/plain', 'svc-collection': 'x' },
      '',
      'invalid header params',
      'Svc-Collection: invalid syntax',
    ],
  ] as [Record<string, string>, string, string, string][])(
    '%j %s is refused',
    async (headers, query, message, reason) => {
      const answer = await post(await startKit(), headers, 'x', query);
      expect(answer.json()).toEqual({ code: 400, message, reasons: [reason] });
    },
  );

  // Of Bee 2.8.1: only a missing type is derived from the content.
  test.each([
    [undefined, 'hello', 'text/plain; charset=utf-8'],
    ['', '%PDF-1.7', 'application/pdf'],
    [undefined, '<html>', 'text/html; charset=utf-8'],
    [undefined, '', 'text/plain; charset=utf-8'],
    ['text/', 'hello', 'text/'],
    ['a/b/c', '<html>', 'a/b/c'],
    ['multipart/form-data; boundary', 'hello', 'multipart/form-data; boundary'],
    ['x/y; a="Größe"', 'hello', 'x/y; a="Größe"'],
  ])('swarm: of type %j with content %j is served as %s', async (type, body, served) => {
    await expectServed('swarm', { type, body, served });
  });

  test.each([
    [undefined, 'hello', 'text/plain; charset=utf-8'],
    ['', '%PDF-1.7', 'application/pdf'],
    [undefined, '', 'text/plain; charset=utf-8'],
    ['application/octet-stream', '<html>', 'application/octet-stream'],
  ])('svc: of type %j with content %j is served as %s', async (type, body, served) => {
    await expectServed('svc', { type, body, served });
  });

  async function expectServed(
    dialect: 'svc' | 'swarm',
    { type, body, served }: { type: string | undefined; body: string; served: string },
  ) {
    const kit = await startKit({ dialect });
    const sent = type === undefined ? {} : { 'content-type': Buffer.from(type).toString('latin1') };
    const answer = await post(kit, sent, body, '?name=a');
    expect(answer.statusCode, answer.body).toBe(201);
    const file = await kit.api.main.get(`/bzz/${answer.json().reference}/a`);
    expect(Buffer.from(String(file.headers['content-type']), 'latin1').toString()).toBe(served);
    expect(file.body).toBe(body);
  }

  test.each([
    ['svc', 'svc-postage-batch-id: want required:'],
    ['swarm', { field: 'swarm-postage-batch-id', error: 'want required:' }],
  ] as const)('%s: a missing batch is reported alone', async (dialect, reason) => {
    const { api } = await startKit({ dialect });
    expect((await api.main.post('/svc')).json().reasons).toEqual([reason]);
  });

  test.each([
    [{ putError: new Error('disk full') }, 500, 'could not store file'],
    [{ stampsLeft: 1 }, 402, 'batch is overissued'],
    [{ doneError: new Error('disk full') }, 500, 'done split failed'],
  ] as const)('%o: %i %s, rolled back', async (spoilt, code, message) => {
    const kit = await startKit();
    Object.assign(kit.knobs, spoilt);
    expect((await post(kit, { 'content-type': 'text/plain' }, 'x')).json()).toEqual({ code, message });
    expect(kit.knobs.sessions).toEqual([{ tagUid: 1, state: 'cleaned' }]);
  });
});

describe('a collection', () => {
  test('of a tar serves every file with its type and name', async () => {
    const { api, root } = await site();
    for (const [path, text] of Object.entries(SITE)) {
      const { statusCode, body } = await api.main.get(`${root}/${path}`);
      expect([statusCode, body]).toEqual([200, text]);
    }
    const { headers } = await api.main.get(`${root}/docs/index.html`);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['content-disposition']).toBe('inline; filename="index.html"');
  });

  test('has an ETag in the svc dialect only', async () => {
    for (const [dialect, expected] of [
      ['svc', true],
      ['swarm', false],
    ] as const) {
      const kit = await startKit({ dialect });
      const { headers } = await post(kit, SITE_HEADERS, await tar(SITE));
      expect('etag' in headers).toBe(expected);
    }
  });

  test('of multipart parts accepts names of files, or of fields with their folders', async () => {
    const kit = await startKit();
    const body = multipart([
      {
        head: 'Content-Disposition: form-data; name="file"; filename="dir/a.txt"\r\nContent-Type: text/x-a',
        text: 'A',
      },
      { head: 'Content-Disposition: form-data; name="dir/b.txt"\r\nContent-Type: text/x-b', text: 'B' },
    ]);
    const answer = await post(kit, { 'content-type': MULTIPART, 'svc-index-document': 'a.txt' }, body);
    expect(answer.statusCode).toBe(201);
    const root = `/svc/${answer.json().reference}`;
    const a = await kit.api.main.get(`${root}/a.txt`);
    expect([a.body, a.headers['content-type']]).toEqual(['A', 'text/x-a']);
    const b = await kit.api.main.get(`${root}/dir/b.txt`);
    expect([b.body, b.headers['content-type']]).toEqual(['B', 'text/x-b']);
    expect((await kit.api.main.get(`${root}/`)).body).toBe('A');
  });

  test.each([
    ['application/x-tar', '', 400, 'could not validate request'],
    ['text/plain', 'x', 400, 'invalid content-type'],
    ['application/json', '{}', 400, 'invalid content-type'],
    [MULTIPART, `--${BOUNDARY}--\r\n`, 400, 'no files in root directory'],
    ['application/x-tar', '\0'.repeat(1024), 400, 'no files in root directory'],
  ])('%s with body %j: %i %s', async (type, body, code, message) => {
    const kit = await startKit();
    const answer = await post(kit, { 'content-type': type, 'svc-collection': 'true' }, body);
    expect(answer.json()).toEqual({ code, message });
    expect(kit.knobs.sessions).toEqual([{ tagUid: 1, state: 'cleaned' }]);
    expect(kit.services.store.uploads.totals().pending).toBe(0);
  });

  test.each([undefined, ''])(
    'swarm: type %j: 400 invalid content-type, with a body or without',
    async (type) => {
      const headers = { 'svc-collection': 'true', ...(type === undefined ? {} : { 'content-type': type }) };
      for (const body of ['x', '']) {
        const answer = await post(await startKit({ dialect: 'swarm' }), headers, body);
        expect(answer.json()).toEqual({ code: 400, message: 'invalid content-type' });
      }
    },
  );

  test('swarm: a type that cannot be parsed is not a collection: 400 invalid content-type', async () => {
    const headers = { 'content-type': 'a/b/c', 'svc-collection': 'true' };
    const answer = await post(await startKit({ dialect: 'swarm' }), headers, 'x');
    expect(answer.json()).toEqual({ code: 400, message: 'invalid content-type' });
  });

  test('documents may have any name, as header values are UTF-8', async () => {
    const kit = await startKit();
    const raw = (text: string) => Buffer.from(text).toString('latin1');
    const documents = { 'svc-index-document': raw('größe.html'), 'svc-error-document': raw('größer.html') };
    const files = await tar({ 'größe.html': 'index', 'größer.html': 'error' });
    const { reference } = (await post(kit, { ...SITE_HEADERS, ...documents }, files)).json();
    const read = async (path: string) => (await kit.api.main.get(`/svc/${reference}/${path}`)).body;
    expect([await read(''), await read('nowhere')]).toEqual(['index', 'error']);
  });

  test('an index document in a folder is refused', async () => {
    const headers = { ...SITE_HEADERS, 'svc-index-document': 'docs/index.html' };
    const answer = await post(await startKit(), headers, await tar(SITE));
    expect(answer.json()).toEqual({
      code: 400,
      message: 'could not store directory',
      reasons: ['svc-index-document: index document contains a separator'],
    });
  });

  test('a full bucket answers 402', async () => {
    const kit = await startKit();
    kit.knobs.stampsLeft = 3;
    expect((await post(kit, SITE_HEADERS, await tar(SITE))).json()).toEqual({
      code: 402,
      message: 'batch is overissued',
    });
  });
});

describe('serving', () => {
  test.each([
    ['/', 200, SITE['index.html']],
    ['//', 301, ''],
    ['/docs/', 200, SITE['docs/index.html']],
    ['/nowhere', 200, SITE['error.html']],
    ['/nowhere/', 200, SITE['error.html']],
    ['/img/', 200, SITE['error.html']],
  ])('%s answers %i', async (path, status, text) => {
    const { api, root } = await site();
    const { statusCode, body } = await api.main.get(root + path);
    expect([statusCode, body]).toEqual([status, text]);
  });

  test('a folder is redirected to its form with a slash, query kept', async () => {
    const { api, root } = await site();
    for (const method of ['GET', 'HEAD'] as const) {
      const answer = await api.main.inject({ method, url: `/v1${root}/docs?x=1` });
      expect([answer.statusCode, answer.headers.location]).toEqual([308, `/v1${root}/docs/?x=1`]);
    }
  });

  test.each([
    ['', 'address not found or incorrect'],
    ['/', 'address not found or incorrect'],
    ['/nowhere', 'path address not found'],
    ['/img/', 'path address not found'],
  ])('without documents %j is 404 %s', async (path, message) => {
    const { api, root } = await site({ 'content-type': 'application/x-tar', 'svc-collection': 'true' });
    expect((await api.main.get(root + path)).json()).toEqual({ code: 404, message });
  });

  test.each([
    ['', 'address not found or incorrect'],
    ['/', 'address not found or incorrect'],
    ['/a', 'Not Found'],
  ])('an invalid or missing manifest is 404: %j %s', async (path, message) => {
    const kit = await startKit();
    const headers = { 'svc-postage-batch-id': BATCH };
    const bytes = await kit.api.main.post('/bytes', 'x'.repeat(200), headers);
    for (const reference of [ZEROS, bytes.json().reference]) {
      expect((await kit.api.main.get(`/svc/${reference}${path}`)).json()).toEqual({
        code: 404,
        message,
      });
    }
  });

  test('the type of an unknown file is detected by its first bytes', async () => {
    const kit = await startKit();
    const answer = await post(
      kit,
      SITE_HEADERS,
      await tar({ 'index.html': 'x', page: '<html>page</html>', data: '\u0001\u0002' }),
    );
    const root = `/svc/${answer.json().reference}`;
    const typeOf = async (method: 'GET' | 'HEAD', path: string) =>
      (await kit.api.main.inject({ method, url: `${root}/${path}` })).headers['content-type'];
    expect(await typeOf('GET', 'page')).toBe('text/html; charset=utf-8');
    expect(await typeOf('GET', 'data')).toBe('application/octet-stream');
    expect(await typeOf('HEAD', 'page')).toBe('text/html; charset=utf-8');
  });

  test('swarm: the empty type of a manifest entry is served as it is', async () => {
    const kit = await startKit({ dialect: 'swarm' });
    const answer = await post(kit, SITE_HEADERS, await tar({ 'index.html': 'x', page: '<html>page</html>' }));
    for (const method of ['GET', 'HEAD'] as const) {
      const { statusCode, headers } = await kit.api.main.inject({
        method,
        url: `/bzz/${answer.json().reference}/page`,
      });
      expect([statusCode, headers['content-type']]).toEqual([200, '']);
    }
  });
});

describe('the root without a slash', () => {
  const BROWSER = 'text/html,application/xhtml+xml;q=0.9';

  test('svc: served at once, redirected for a browser, and both vary by Accept', async () => {
    const { api, root } = await site();
    const plain = await api.main.get(root);
    expect([plain.statusCode, plain.body, plain.headers.vary]).toEqual([200, SITE['index.html'], 'Accept']);
    const browser = await api.main.get(`${root}?x=1`, { accept: BROWSER });
    expect([browser.statusCode, browser.headers.location, browser.headers.vary]).toEqual([
      308,
      `${root}/?x=1`,
      'Accept',
    ]);
    const head = await api.main.head(root);
    expect([head.statusCode, head.headers['content-length']]).toEqual([
      200,
      String(SITE['index.html'].length),
    ]);
  });

  test('swarm: always redirected, before any parameter is checked', async () => {
    const { api } = await startKit({ dialect: 'swarm' });
    for (const method of ['GET', 'HEAD'] as const) {
      const answer = await api.main.inject({ method, url: '/bzz/what?x', headers: { 'swarm-cache': 'x' } });
      expect([answer.statusCode, answer.headers.location]).toEqual([308, '/bzz/what/?x']);
    }
  });
});

describe.each(['svc', 'swarm'] as const)('GET /manifest in the dialect %s', (dialect) => {
  const prefix = dialect === 'svc' ? 'svc' : 'swarm';
  const segment = dialect === 'svc' ? 'svc' : 'bzz';

  async function uploaded() {
    const kit = await startKit({ dialect });
    const headers = Object.fromEntries(
      Object.entries({ ...SITE_HEADERS, 'svc-postage-batch-id': BATCH }).map(([name, value]) => [
        name.replace(/^svc-/, `${prefix}-`),
        value,
      ]),
    );
    const answer = await kit.api.main.post(`/${segment}`, await tar(SITE), headers);
    expect(answer.statusCode).toBe(201);
    const { reference } = answer.json();
    return { kit, reference, get: (rest: string) => kit.api.main.get(`/manifest/${reference}/${rest}`) };
  }

  test('tells files with references and metadata, which lead to their content', async () => {
    const { kit, get } = await uploaded();
    const answer = await get('');
    const { entries, ...rest } = answer.json();
    expect(answer.statusCode).toBe(200);
    expect(rest).toEqual({ commonPrefixes: [], truncated: false, nextMarker: '' });
    expect(entries.map(({ path }: { path: string }) => path)).toEqual(Object.keys(SITE).sort());
    const [readme] = (await get('docs/r')).json().entries;
    expect(readme.metadata).toEqual({ 'Content-Type': 'text/plain; charset=utf-8', Filename: 'readme.txt' });
    expect((await kit.api.main.get(`/bytes/${readme.reference}`)).body).toBe('read me');
  });

  test('puts folders together, page by page', async () => {
    const { get } = await uploaded();
    const seen: string[] = [];
    let after = '';
    for (let pages = 1; ; pages++) {
      const { entries, commonPrefixes, truncated, nextMarker } = (
        await get(`?delimiter=/&limit=1&after=${encodeURIComponent(after)}`)
      ).json();
      seen.push(...commonPrefixes, ...entries.map(({ path }: { path: string }) => path));
      expect(truncated).toBe(pages < 4);
      if (!truncated) break;
      after = nextMarker;
    }
    expect(seen).toEqual(['docs/', 'error.html', 'img/', 'index.html']);
  });

  test('refuses what is no collection, and too large a page', async () => {
    const { kit, get } = await uploaded();
    expect((await get('?limit=10001')).json()).toMatchObject({
      code: 400,
      reasons: [dialect === 'svc' ? 'limit: want max:10000' : { field: 'limit', error: 'want max:10000' }],
    });
    expect((await get('?limit=0')).json().entries).toHaveLength(5);
    const missing = await kit.api.main.get(`/manifest/${'ab'.repeat(32)}/`);
    expect([missing.statusCode, missing.json().message]).toEqual([404, 'address not found or incorrect']);
  });

  test('says which part of a collection is missing', async () => {
    const { kit } = await uploaded();
    const gone = new Uint8Array(32).fill(0xdd);
    const zeros = new Uint8Array(32);
    const forks = [{ prefix: 'gone', flags: 6, reference: gone, metadata: undefined }];
    const node = encodeNode({ obfuscationKey: zeros, referenceSize: 32, entry: zeros, forks });
    const manifest = makeCac(BigInt(node.length), node);
    kit.knobs.network.set(toHex(manifest.address), manifest);
    const answer = (await kit.api.main.get(`/manifest/${toHex(manifest.address)}/`)).json();
    const error = `chunk ${toHex(gone)} not found`;
    const reason = dialect === 'svc' ? `manifest: ${error}` : { field: 'manifest', error };
    expect(answer).toEqual({ code: 404, message: 'Not Found', reasons: [reason] });
  });

  test('is for eight at once, and for others later', async () => {
    const { kit, get } = await uploaded();
    const { promise, reject } = Promise.withResolvers<never>();
    kit.knobs.network.get = () => promise as never;
    const waiting = Array.from({ length: 8 }, () => kit.api.main.get(`/manifest/${'ab'.repeat(32)}/`));
    const refused = await get('');
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '1']);
    expect(refused.json().message).toBe('too many listings at once, try again later');
    reject(new ChunkNotFoundError('ab'));
    for (const { statusCode } of await Promise.all(waiting)) expect(statusCode).toBe(404);
    expect((await get('')).statusCode).toBe(200);
  });
});
