import type { Row } from '../../row.ts';
import { refusal } from '../expectation.ts';
import type { Names } from '../names.ts';
import { BATCH, upload } from '../prerequisites.ts';
import { type Question, type Steps, table } from '../question.ts';
import { ROUTES } from '../routes.ts';
import { NOTHING } from '../samples.ts';
import type { Ask, Expected, HttpSubject, RowSession } from '../subject.ts';

const HISTORY_STEP_MS = 1100;

export function keepingRows(names: Names): Row<HttpSubject>[] {
  const level = 'write';
  return [
    ...table('tags', { level }, tags(names)),
    ...table('pins', { level }, pins(names)),
    ...table('grantees', { level }, grantees(names)),
    ...table('stewardship', { level }, stewardship(names)),
  ];
}

const TAG = ROUTES.find(({ method, path }) => method === 'POST' && path === '/tags')?.response ?? '';
const UNKNOWN_TAG = '/tags/4294967295';
const NO_TAG: Expected = { status: 404, message: 'tag not present' };

function tags(names: Names): (Question | Steps)[] {
  const noCache = { 'cache-control': 'no-cache, private, max-age=0' };
  return [
    {
      id: 'POST /tags',
      about: 'a tag is made with all its counters',
      steps: async (session) => {
        const values = { split: 0, seen: 0, stored: 0, sent: 0, synced: 0, address: '' };
        const { text } = await session.ask(
          { method: 'POST', path: '/tags' },
          { status: 201, json: TAG, values, headers: noCache },
        );
        session.forgetTag(text('uid'));
      },
    },
    {
      id: 'GET /tags/{uid}',
      about: 'a tag is read, and not cached',
      steps: async (session) => {
        const values = { uid: Number(await session.text('{tag}')) };
        const expect = { status: 200, json: TAG, values, headers: noCache };
        await session.ask({ path: '/tags/{tag}' }, expect);
      },
    },
    {
      id: 'DELETE /tags/{uid}',
      about: 'a tag that was removed is gone',
      steps: async (session) => {
        await session.ask({ method: 'DELETE', path: '/tags/{tag}' }, { status: 204, empty: true });
        await session.ask({ path: '/tags/{tag}' }, NO_TAG);
      },
    },
    {
      id: 'PATCH /tags/{uid}',
      about: 'a reference is noted',
      steps: async (session) => {
        const body = JSON.stringify({ address: NOTHING });
        await session.ask(
          { method: 'PATCH', path: '/tags/{tag}', body },
          { status: 200, json: '{code:int,message:text}', message: 'ok' },
        );
        await session.ask({ path: '/tags/{tag}' }, { status: 200, values: { address: NOTHING } });
      },
    },
    ...(
      [
        ['{', 'no JSON'],
        ['[]', 'want an object'],
        ['{"address":5}', 'want a text as address'],
      ] as const
    ).map(
      ([body, error]): Question => ({
        id: `PATCH /tags/{uid} ${body}`,
        about: `a body is refused: ${error}`,
        ask: { method: 'PATCH', path: '/tags/{tag}', body },
        expect: unread(names, error, 'error unmarshaling metadata'),
      }),
    ),
    { id: 'GET /tags limit', about: 'so many tags are listed', steps: tagPages },
    {
      id: 'POST /tags long',
      about: 'a body over 1024 bytes is too large',
      ask: { method: 'POST', path: '/tags', body: new Uint8Array(1025) },
      expect: { status: 413, message: 'Request Entity Too Large' },
    },
    {
      id: 'GET /tags/{uid} unknown',
      about: 'a tag that is not there is not found',
      level: 'read',
      ask: { path: UNKNOWN_TAG },
      expect: NO_TAG,
    },
    {
      id: 'DELETE /tags/{uid} unknown',
      about: names.either('is not found', 'is answered like any other'),
      ask: { method: 'DELETE', path: UNKNOWN_TAG },
      expect: names.either<Expected>(NO_TAG, { status: 204, empty: true }),
    },
    {
      id: 'PATCH /tags/{uid} unknown',
      about: 'is not found',
      ask: { method: 'PATCH', path: UNKNOWN_TAG, body: '{}' },
      expect: NO_TAG,
    },
  ];
}

/** An unreadable body. */
function unread(names: Names, error: string, inSwarm: string): Expected {
  return names.either<Expected>(refusal('body', { body: error }), { status: 500, message: inSwarm });
}

async function tagPages(session: RowSession): Promise<void> {
  await session.text('{tag}{tag other}');
  const list = `{tags:${TAG}[]}`;
  const one = await session.ask({ path: '/tags?limit=1' }, { status: 200, json: list });
  const first = { 'tags.0.uid': one.member('tags.0.uid') };
  await session.ask({ path: '/tags?limit=2' }, { status: 200, values: first });
  const next = await session.ask({ path: '/tags?offset=1&limit=1' }, { status: 200, json: list });
  const second = { 'tags.1.uid': next.member('tags.0.uid'), 'tags.length': 2 };
  await session.ask({ path: '/tags?limit=2' }, { status: 200, values: second });
}

const RECORD = '{reference:ref,total:uint,missing:uint,invalid:uint}';

function pins(names: Names): (Question | Steps)[] {
  const pinnable = async (session: RowSession, name: string) => {
    const headers = { 'svc-redundancy-level': '0' };
    const body = { fresh: `pin ${name}`, length: 5000 };
    const reference = await upload(session, { path: '/bytes', headers, body });
    const path = `/pins/${reference}`;
    session.later(`pin of ${reference}`, { method: 'DELETE', path });
    return { reference, path, pin: { method: 'POST', path } as const };
  };
  const unpinned: Expected = { status: 404, message: 'Not Found' };
  return [
    {
      id: 'POST /pins',
      about: 'is 201 the first time, 200 after that',
      steps: async (session) => {
        const { pin } = await pinnable(session, 'twice');
        await session.ask(pin, { status: 201, message: 'Created' });
        await session.ask(pin, { status: 200, message: 'OK' });
      },
    },
    {
      id: 'GET /pins/{reference}',
      about: 'what is pinned is told',
      steps: async (session) => {
        const { reference, path, pin } = await pinnable(session, 'told');
        await session.ask(pin, { status: 201 });
        await session.ask({ path }, { status: 200, json: '{reference:hex32}', values: { reference } });
      },
    },
    {
      id: 'DELETE /pins',
      about: 'what was unpinned is gone',
      steps: async (session) => {
        const { path, pin } = await pinnable(session, 'gone');
        await session.ask(pin, { status: 201 });
        await session.ask({ method: 'DELETE', path }, { status: 200, message: 'OK' });
        await session.ask({ path }, unpinned);
      },
    },
    {
      id: 'GET /pins/check',
      about: names.either('is a list with the record of a pin', 'is a record per line'),
      steps: async (session) => {
        const { reference, pin } = await pinnable(session, 'checked');
        await session.ask(pin, { status: 201 });
        const record = { reference, total: 3, missing: 0, invalid: 0 };
        await session.ask(
          { path: `/pins/check?ref=${reference}` },
          names.either<Expected>(
            { status: 200, json: `${RECORD}[]`, values: { '0': record, length: 1 } },
            { status: 200, json: RECORD, values: record },
          ),
        );
      },
    },
    {
      id: 'POST /pins missing',
      about: 'content that nobody has is not pinned',
      ask: { method: 'POST', path: '/pins/{hex32 no pin}' },
      expect: { status: names.either([404], [404, 500]), message: 'pin collection failed' },
    },
    {
      id: 'GET /pins unpinned',
      about: 'what is not pinned is not found',
      level: 'read',
      ask: { path: `/pins/${NOTHING}` },
      expect: unpinned,
    },
    {
      id: 'DELETE /pins unpinned',
      about: 'what is not pinned is not found',
      ask: { method: 'DELETE', path: `/pins/${NOTHING}` },
      expect: unpinned,
    },
  ];
}

const KEY = '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798';
const OTHER = '02c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5';
const CHANGE = '{ref:hex64,historyref:hex32}';
const HISTORY = 'svc-act-history-address';

function grantees(names: Names): (Question | Steps)[] {
  const post = (body: string): Ask => ({ method: 'POST', path: '/grantee', headers: BATCH, body });
  const list = (session: RowSession) =>
    session.ask(post(JSON.stringify({ grantees: [KEY] })), { status: 201, json: CHANGE });
  return [
    {
      id: 'POST /grantee',
      about: 'a list is made and read',
      steps: async (session) => {
        const { text } = await list(session);
        const expect = { status: 200, json: 'publicKey[]', values: { '0': KEY, length: 1 } };
        await session.ask({ path: `/grantee/${text('ref')}` }, expect);
      },
    },
    {
      id: 'PATCH /grantee',
      about: 'a grantee is added',
      steps: async (session) => {
        const { text } = await session.once('grantees', async (setup) => {
          const made = await list(setup);
          // Histories count in seconds.
          await setup.pause(HISTORY_STEP_MS);
          return made;
        });
        const headers = { ...BATCH, [HISTORY]: text('historyref') };
        const body = JSON.stringify({ add: [OTHER] });
        const changed = await session.ask(
          { method: 'PATCH', path: `/grantee/${text('ref')}`, headers, body },
          { status: 200, json: CHANGE },
        );
        const expect = { status: 200, json: 'publicKey[]', values: { length: 2 } };
        await session.ask({ path: `/grantee/${changed.text('ref')}` }, expect);
      },
    },
    {
      id: 'POST /bytes for grantees',
      about: 'content is read with publisher and history, and not without',
      steps: async (session) => {
        const bytes = { fresh: 'act', length: 500 };
        const made = await session.ask(
          { method: 'POST', path: '/bytes', headers: { ...BATCH, 'svc-act': 'true' }, body: bytes },
          { status: 201, json: '{reference:hex32}', headers: { [HISTORY]: /^[0-9a-f]{64}$/ } },
        );
        const { text } = await session.ask({ path: '/addresses' }, { status: 200 });
        const path = `/bytes/${made.text('reference')}`;
        const headers = {
          'svc-act-publisher': text('publicKey'),
          [HISTORY]: made.headers[names.header(HISTORY)] ?? '',
        };
        await session.ask({ path, headers }, { status: 200, bytes });
        await session.ask({ path }, { status: 404, message: 'Not Found' });
        await session.ask(
          { path, headers: { ...headers, 'svc-act-timestamp': '0' } },
          { status: 400, message: 'invalid timestamp' },
        );
      },
    },
    {
      id: 'POST /grantee empty',
      about: 'a body is needed',
      ask: post(''),
      expect: { status: 400, message: 'could not validate request' },
    },
    ...(
      [
        ['{', 'no JSON'],
        ['[]', 'want an object'],
        ['{"grantees":5}', 'want a list of texts as grantees'],
      ] as const
    ).map(
      ([body, error]): Question => ({
        id: `POST /grantee ${body}`,
        about: `a body is refused: ${error}`,
        ask: post(body),
        expect: unread(names, error, 'error unmarshaling request body'),
      }),
    ),
    {
      id: 'POST /grantee no key',
      about: 'a grantee is a public key',
      ask: post('{"grantees":["zz"]}'),
      expect: { status: 400, message: 'invalid grantee list' },
    },
    {
      id: 'GET /grantee missing',
      about: 'a list that nobody has is not found',
      level: 'read',
      ask: { path: '/grantee/{hex64 no list}' },
      expect: { status: 404, message: 'granteelist not found' },
    },
  ];
}

function stewardship(names: Names): Question[] {
  const put: Ask = { method: 'PUT', path: '/stewardship/{content}' };
  const json = '{isRetrievable:bool}';
  return [
    {
      id: 'GET /stewardship',
      about: 'content of the network can be retrieved',
      needs: 'second',
      isAwaited: true,
      ask: { path: '/stewardship/{content}' },
      expect: { status: 200, json, values: { isRetrievable: true } },
    },
    {
      id: 'GET /stewardship missing',
      about: 'what nobody has cannot be retrieved',
      level: 'read',
      ask: { path: '/stewardship/{hex32 no root}' },
      expect: { status: 200, json, values: { isRetrievable: false } },
    },
    {
      id: 'PUT /stewardship',
      about: 'content is uploaded again with a batch',
      needs: 'second',
      ask: { ...put, headers: BATCH },
      expect: { status: 200, message: 'OK' },
    },
    {
      id: 'PUT /stewardship without batch',
      about: names.either('the batch of the upload is used again', 'a batch is needed'),
      needs: 'second',
      ask: put,
      expect: names.either<Expected>(
        { status: 200, message: 'OK' },
        refusal('header', { 'swarm-postage-batch-id': 'want required:' }),
      ),
    },
    {
      id: 'PUT /stewardship unknown batch',
      about: 'a batch must be known',
      ask: { ...put, path: `/stewardship/${NOTHING}`, headers: { 'svc-postage-batch-id': NOTHING } },
      expect: { status: 404, message: 'batch with id not found' },
    },
  ];
}
