import { pack } from 'tar-stream';
import { describe, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { httpDate } from '../../../node/api/values/http-date.ts';
import { updateId } from '../../../node/feeds/feed.ts';
import { storeCollection } from '../../../node/files/collection/collection.ts';
import { tarEntries } from '../../../node/files/collection/tar.ts';
import vectors from '../../vectors/feeds.json' with { type: 'json' };
import { BATCH, NO_BATCH, YOUNG_BATCH_ID } from './fake-postage.ts';
import { type Kit, NOW_MS, startKit } from './kit.ts';
import { OWNER, socOf } from './soc-kit.ts';

const PAID = { 'svc-postage-batch-id': BATCH };
const owner = toHex(OWNER.address);
const topic = 'aabbcc';
const url = `/feeds/${owner}/${topic}`;

function publish(kit: Kit, ...chunks: readonly Chunk[]): void {
  for (const chunk of chunks) kit.knobs.network.set(toHex(chunk.address), chunk);
}

function update(kit: Kit, index: number, content: string | Chunk): string {
  const made = socOf(content, updateId(Buffer.from(topic, 'hex'), BigInt(index)));
  publish(kit, made.chunk);
  return made.signature;
}

function pointer(reference: Uint8Array): Chunk {
  return makeCac(40n, Buffer.concat([Buffer.alloc(8), reference]));
}

function get(kit: Kit, path = url, headers: Record<string, string> = {}) {
  return kit.api.main.get(path, headers);
}

describe('POST /feeds/{owner}/{topic}', () => {
  const post = (kit: Kit, path: string, headers: Record<string, string> = PAID) =>
    kit.api.main.inject({ method: 'POST', url: path, headers });

  test('stores the manifest of the vector under a tag of its own, which is not returned', async () => {
    const vector = vectors.cases.find(({ name }) => name === 'feed manifest');
    const { input, expected } = vector as unknown as Record<'input' | 'expected', Record<string, string>>;
    const kit = await startKit();
    const answer = await post(kit, `/feeds/${input['owner']}/${input['topic']}`);
    expect([answer.statusCode, answer.json()]).toEqual([201, { reference: expected['reference'] }]);
    expect(answer.headers['svc-tag']).toBeUndefined();
    expect(kit.services.store.tags.get(1)).toMatchObject({ split: 2 });
    expect(kit.knobs.pushed).toEqual([]);
  });

  test('the owner is read with a prefix and in any case; another length is 401', async () => {
    const kit = await startKit();
    const reference = (await post(kit, url)).json();
    for (const same of [`0x${owner}`, owner.toUpperCase()])
      expect((await post(kit, `/feeds/${same}/${topic}`)).json()).toEqual(reference);
    for (const other of ['beef', owner.slice(2), `ff${owner}`]) {
      const refused = { code: 401, message: 'invalid address' };
      expect((await post(kit, `/feeds/${other}/${topic}`)).json()).toEqual(refused);
      expect((await get(kit, `/feeds/${other}/${topic}`)).json()).toEqual(refused);
    }
    expect(kit.knobs.pushed).toEqual([]);
  });

  test('swarm: the owner is cut or padded to its size', async () => {
    const kit = await startKit({ dialect: 'swarm' });
    const reference = (await post(kit, url)).json();
    for (const same of [`0x${owner}`, owner.toUpperCase(), `ff${owner}`]) {
      expect((await post(kit, `/feeds/${same}/${topic}`)).json()).toEqual(reference);
    }
    const filled = (await post(kit, `/feeds/${'00'.repeat(18)}beef/${topic}`)).json();
    expect((await post(kit, `/feeds/beef/${topic}`)).json()).toEqual(filled);
  });

  test('pushes at once when asked to', async () => {
    const kit = await startKit();
    const answer = await post(kit, url, { ...PAID, 'svc-deferred-upload': 'false' });
    expect(answer.statusCode).toBe(201);
    expect(kit.knobs.pushed).toHaveLength(2);
  });

  test.each([
    [url, {}, 400, 'invalid header params'],
    [`/feeds/${'00'.repeat(20)}/${topic}`, PAID, 400, 'invalid path params'],
    [`/feeds/zz/${topic}`, PAID, 400, 'invalid path params'],
    [`/feeds/${owner}/abc`, PAID, 400, 'invalid path params'],
    [url, { 'svc-postage-batch-id': NO_BATCH }, 404, 'batch with id not found'],
    [url, { 'svc-postage-batch-id': toHex(YOUNG_BATCH_ID) }, 422, 'batch not usable yet or does not exist'],
    [`${url}?type=epoch`, PAID, 404, 'feed type not found'],
  ] as [string, Record<string, string>, number, string][])(
    '%s %j: %i %s',
    async (path, headers, code, message) => {
      expect((await post(await startKit(), path, headers)).json()).toMatchObject({ code, message });
    },
  );

  test('a full bucket answers 402, a failing store 500, and nothing is left', async () => {
    const kit = await startKit();
    kit.knobs.stampsLeft = 1;
    expect((await post(kit, url)).json()).toEqual({ code: 402, message: 'batch is overissued' });
    kit.knobs.stampsLeft = 10;
    kit.knobs.putError = new Error('disk full');
    expect((await post(kit, url)).json()).toEqual({ code: 500, message: 'store manifest failed' });
    expect(kit.knobs.sessions.map(({ state }) => state)).toEqual(['cleaned', 'cleaned']);
  });

  test('a body over the limit is refused', async () => {
    const request = { method: 'POST', url, headers: PAID, payload: Buffer.alloc(4105) } as const;
    expect((await (await startKit()).api.main.inject(request)).statusCode).toBe(413);
  });
});

/** Update `i` says that it was made at second `i * 10 + 10`, and contains `content i`. */
function datedFeed(kit: Kit, length: number): void {
  for (let i = 0; i < length; i++) {
    const text = Buffer.from(`content ${i}`);
    const content = makeCac(BigInt(text.length), text);
    publish(kit, content);
    const time = Buffer.alloc(8);
    time.writeBigUInt64BE(BigInt(i * 10 + 10));
    update(kit, i, makeCac(40n, Buffer.concat([time, content.address])));
  }
}

describe('GET /feeds/{owner}/{topic}?at', () => {
  test.each([
    ['at=10', 'content 0', '0000000000000000', '0000000000000001'],
    ['at=19', 'content 0', '0000000000000000', '0000000000000001'],
    ['at=120', 'content 11', '000000000000000b', '000000000000000c'],
    ['at=139&after=3', 'content 12', '000000000000000c', '000000000000000d'],
    ['at=99999', 'content 20', '0000000000000014', '0000000000000015'],
    ['at=0', 'content 20', '0000000000000014', '0000000000000015'],
  ])('%s finds the latest update of that time', async (query, body, index, next) => {
    const kit = await startKit();
    datedFeed(kit, 21);
    const answer = await get(kit, `${url}?${query}`);
    expect([answer.statusCode, answer.body]).toEqual([200, body]);
    expect(answer.headers).toMatchObject({ 'svc-feed-index': index, 'svc-feed-index-next': next });
  });

  test.each(['at=9', 'at=-5', 'at=39&after=3'])('%s: every update is later', async (query) => {
    const kit = await startKit();
    datedFeed(kit, 5);
    expect((await get(kit, `${url}?${query}`)).json()).toEqual({ code: 404, message: 'no update found' });
  });

  test('an update that says no time is refused by its number, unless the time is not past', async () => {
    const kit = await startKit();
    update(kit, 0, 'content without a time');
    expect((await get(kit, `${url}?at=100`)).json()).toEqual({
      code: 400,
      message: 'invalid query params',
      reasons: [
        'at: update 0 of this feed does not say when it was made: leave the time out for the latest one',
      ],
    });
    const now = await get(kit, `${url}?at=${Math.ceil(NOW_MS / 1000)}`);
    expect([now.statusCode, now.body]).toEqual([200, 'content without a time']);
  });

  test('swarm: the time is not looked at, as on a Bee', async () => {
    const kit = await startKit({ dialect: 'swarm' });
    datedFeed(kit, 3);
    expect((await get(kit, `${url}?at=10`)).body).toBe('content 2');
  });

  test('a lost update on the way of the search is an error', async () => {
    const kit = await startKit();
    datedFeed(kit, 21);
    kit.knobs.network.delete(toHex(socOf('', updateId(Buffer.from(topic, 'hex'), 10n)).chunk.address));
    expect((await get(kit, `${url}?at=35`)).json()).toEqual({ code: 404, message: 'lookup at failed' });
  });
});

describe('GET /feeds/{owner}/{topic}', () => {
  test.each(['svc', 'swarm'] as const)(
    'returns the latest update, its index, and the next index (%s)',
    async (dialect) => {
      const kit = await startKit({ dialect });
      const signatures = Array.from({ length: 17 }, (_, i) => update(kit, i, `update ${i}`));
      const answer = await get(kit);
      expect([answer.statusCode, answer.body]).toEqual([200, 'update 16']);
      expect(answer.headers).toMatchObject({
        'content-type': 'application/octet-stream',
        'accept-ranges': 'bytes',
        etag: `"${toHex(makeCac(9n, Buffer.from('update 16')).address)}"`,
        [`${dialect}-feed-index`]: '0000000000000010',
        [`${dialect}-feed-index-next`]: '0000000000000011',
        [`${dialect}-soc-signature`]: signatures[16],
        [`${dialect}-feed-resolved-version`]: 'v2',
        'access-control-expose-headers': [
          `${dialect}-feed-index`,
          `${dialect}-feed-index-next`,
          `${dialect}-soc-signature`,
          'content-disposition',
        ],
      });
    },
  );

  test('an update that points elsewhere returns what it points to', async () => {
    const kit = await startKit();
    const content = makeCac(7n, Buffer.from('content'));
    publish(kit, content);
    update(kit, 0, pointer(content.address));
    const answer = await get(kit);
    expect([answer.body, answer.headers['svc-feed-resolved-version']]).toEqual(['content', 'v1']);
    expect(answer.headers.etag).toBe(`"${toHex(content.address)}"`);
    const root = await get(kit, url, { 'svc-only-root-chunk': 'true' });
    expect(root.rawPayload).toEqual(Buffer.from(content.data));
  });

  test('an update that only looks like a pointer is content itself', async () => {
    const kit = await startKit();
    update(kit, 0, pointer(new Uint8Array(32).fill(7)));
    const answer = await get(kit);
    expect([answer.statusCode, answer.rawPayload.length]).toEqual([200, 40]);
    expect(answer.headers['svc-feed-resolved-version']).toBe('v2');
  });

  test('with only-root-chunk span and payload of the wrapped chunk, with the headers of the update', async () => {
    const kit = await startKit();
    update(kit, 0, 'first');
    const answer = await get(kit, url, { 'svc-only-root-chunk': 'true' });
    expect(answer.rawPayload).toEqual(Buffer.from(makeCac(5n, Buffer.from('first')).data));
    expect(answer.headers).toMatchObject({ 'content-length': '13', 'svc-feed-index': '0'.repeat(16) });
    expect(answer.headers.etag).toBeUndefined();
  });

  test('the search starts at the requested index', async () => {
    const kit = await startKit();
    for (const index of [5, 6]) update(kit, index, `update ${index}`);
    expect((await get(kit)).json()).toEqual({ code: 404, message: 'no update found' });
    expect((await get(kit, `${url}?after=5`)).body).toBe('update 6');
    expect((await get(kit, `${url}?after=7&at=1700000000`)).json()).toMatchObject({ code: 404 });
    expect((await get(kit, `${url}?after=18446744073709551615`)).statusCode).toBe(404);
  });

  test('a part of the content', async () => {
    const kit = await startKit();
    update(kit, 0, 'first');
    const answer = await get(kit, url, { range: 'bytes=1-2' });
    expect([answer.statusCode, answer.body]).toEqual([206, 'ir']);
    expect(answer.headers['svc-feed-index-next']).toBe('0000000000000001');
  });

  test.each([
    [`${url}?after=x`, 400, 'invalid query params'],
    [`${url}?at=x`, 400, 'invalid query params'],
    [`${url}?type=epoch`, 404, 'feed type not found'],
    [`/feeds/${'00'.repeat(20)}/${topic}`, 400, 'invalid path params'],
    [`/feeds/${owner}/xx`, 400, 'invalid path params'],
  ])('%s: %i %s', async (path, code, message) => {
    expect((await get(await startKit(), path)).json()).toMatchObject({ code, message });
  });

  test('the type is read in any case, and not at all in the other dialect', async () => {
    const kit = await startKit();
    update(kit, 0, 'first');
    expect((await get(kit, `${url}?type=SEQUENCE`)).body).toBe('first');
    const swarm = await startKit({ dialect: 'swarm' });
    update(swarm, 0, 'first');
    expect((await get(swarm, `${url}?type=epoch`)).body).toBe('first');
  });

  test('a failing search differs from a feed without updates', async () => {
    const kit = await startKit();
    kit.knobs.networkError = () => new Error('no peer found');
    expect((await get(kit)).json()).toEqual({ code: 404, message: 'lookup at failed' });
  });
});

describe('a feed manifest, browsed', () => {
  async function tar(files: Readonly<Record<string, string>>): Promise<Buffer> {
    const archive = pack();
    for (const [name, text] of Object.entries(files)) archive.entry({ name }, text);
    archive.finalize();
    return Buffer.concat(await Array.fromAsync(archive as AsyncIterable<Buffer>));
  }

  /** @returns its root chunk */
  async function website(kit: Kit, files: Readonly<Record<string, string>>): Promise<Chunk> {
    let root: Chunk | undefined;
    const put = async (chunk: Chunk) => {
      root = chunk;
      publish(kit, chunk);
    };
    const archive = await tar(files);
    const body = (async function* () {
      yield archive;
    })();
    const options = { indexDocument: 'index.html', errorDocument: 'error.html' };
    await storeCollection(tarEntries(body), { put }, options);
    if (root === undefined) throw new Error('there is no root');
    return root;
  }

  async function feed(kit: Kit): Promise<string> {
    const answer = await kit.api.main.inject({
      method: 'POST',
      url,
      headers: { [`${kit.dialect.name}-postage-batch-id`]: BATCH },
    });
    return `/svc/${answer.json().reference}`;
  }

  const SITE = { 'index.html': '<p>one</p>', 'docs/a.txt': 'text', 'error.html': '<p>nothing</p>' };

  test.each(['v1', 'v2'])('serves every path of the latest website (%s)', async (version) => {
    const kit = await startKit();
    const root = await feed(kit);
    for (const [index, text] of ['one', 'two'].entries()) {
      const site = await website(kit, { ...SITE, 'index.html': text });
      update(kit, index, version === 'v1' ? pointer(site.address) : site);
      // An update of the second kind brings its root along.
      if (version === 'v2') kit.knobs.network.delete(toHex(site.address));
      for (const [path, body] of [
        ['/', text],
        ['/docs/a.txt', 'text'],
        ['/nowhere', '<p>nothing</p>'],
      ] as const) {
        const answer = await get(kit, `${root}${path}`);
        expect([answer.statusCode, answer.body]).toEqual([200, body]);
        expect(answer.headers).toMatchObject({
          'svc-feed-index': `000000000000000${index}`,
          'svc-feed-resolved-version': version,
          'access-control-expose-headers': ['svc-feed-index', 'content-disposition'],
        });
        expect([answer.headers.etag, answer.headers['svc-feed-index-next']]).toEqual([undefined, undefined]);
      }
      expect((await get(kit, `${root}/docs`)).statusCode).toBe(308);
      const head = await kit.api.main.head(`${root}/docs/a.txt`);
      expect(head.headers).toMatchObject({
        'content-length': '4',
        'svc-feed-index': `000000000000000${index}`,
        'svc-feed-resolved-version': version,
      });
      expect(head.headers.etag).toBeUndefined();
    }
  });

  test('content that may change matches no list of ETags, and is always modified', async () => {
    const kit = await startKit({ dialect: 'swarm' });
    const root = await feed(kit);
    update(kit, 0, await website(kit, SITE));
    const { etag } = (await get(kit, `${root}/docs/a.txt`)).headers;
    expect(etag).toBeUndefined();
    expect((await get(kit, `${root}/docs/a.txt`, { 'if-match': '"x"' })).statusCode).toBe(412);
    const answer = await get(kit, `${root}/docs/a.txt`, { 'if-none-match': '"x"' });
    expect([answer.statusCode, answer.headers['swarm-feed-index']]).toEqual([200, '0'.repeat(16)]);
  });

  test('a 304 has the date, as there is no ETag', async () => {
    const kit = await startKit();
    const root = await feed(kit);
    update(kit, 0, await website(kit, SITE));
    const { statusCode, headers } = await get(kit, `${root}/docs/a.txt`, { 'if-none-match': '*' });
    expect([statusCode, headers['last-modified'], headers.etag]).toEqual([304, httpDate(NOW_MS), undefined]);
  });

  test('without an update, with one that is not a manifest, or with a failing search: 404', async () => {
    const kit = await startKit();
    const root = await feed(kit);
    expect((await get(kit, `${root}/`)).json()).toEqual({ code: 404, message: 'no update found' });
    update(kit, 0, 'bytes that are no manifest');
    expect((await get(kit, `${root}/`)).json().message).toBe('address not found or incorrect');
    expect((await get(kit, `${root}/a`)).json().message).toBe('Not Found');
    kit.knobs.network.clear();
    kit.knobs.networkError = () => new Error('no peer found');
    const other = await kit.api.main.inject({ method: 'POST', url: `/feeds/${owner}/dd`, headers: PAID });
    expect((await get(kit, `/svc/${other.json().reference}/`)).json()).toEqual({
      code: 404,
      message: 'feed not found',
    });
  });

  test('an update that is a feed manifest itself is not followed any further', async () => {
    const kit = await startKit();
    const root = await feed(kit);
    const own = (await kit.api.main.inject({ method: 'POST', url, headers: PAID })).json().reference;
    update(kit, 0, pointer(Buffer.from(own, 'hex')));
    expect((await get(kit, `${root}/`)).json()).toEqual({
      code: 404,
      message: 'address not found or incorrect',
    });
  });
});
