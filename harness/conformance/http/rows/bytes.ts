import type { Row } from '../../row.ts';
import { refusal } from '../expectation.ts';
import type { Names } from '../names.ts';
import { BATCH, CONTENT } from '../prerequisites.ts';
import { type Question, type Steps, table } from '../question.ts';
import { NOTHING } from '../samples.ts';
import type { Ask, Expected, Fresh, HttpSubject } from '../subject.ts';

const REFERENCE = '{reference:ref}';
const SIZE = CONTENT.length;
const ANY_DATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;
const STORED = { path: '/bytes/{content}' } as const;
const NO_PARITIES = { 'svc-redundancy-level': '0' } as const;

export function bytesRows(names: Names): Row<HttpSubject>[] {
  return table('bytes', { level: 'write' }, [
    ...uploads(names),
    ...DOWNLOADS,
    ...RANGES,
    ...CONDITIONS,
    ...refusedUploads(names),
  ]);
}

function post(headers: Readonly<Record<string, string>>, body: Fresh): Ask {
  return { method: 'POST', path: '/bytes', headers: { ...BATCH, ...headers }, body };
}

function readBack(id: string, about: string, body: Fresh, headers: Record<string, string>): Question {
  return {
    id,
    about,
    upload: { path: '/bytes', headers, body },
    ask: { path: '/bytes/{upload}' },
    expect: { status: 200, bytes: body },
  };
}

function uploads(names: Names): (Question | Steps)[] {
  const defaultLevel = names.either('0', '1');
  const unlevelled = { fresh: 'default level', length: SIZE };
  return [
    {
      id: 'POST /bytes answer',
      about: 'an upload is answered with its reference and its tag',
      ask: post({}, { fresh: 'answer', length: 5000 }),
      expect: {
        status: 201,
        json: '{reference:hex32}',
        headers: {
          'svc-tag': /^[1-9]\d*$/,
          'access-control-expose-headers': new RegExp(names.header('svc-tag'), 'i'),
        },
      },
    },
    ...[0, 1, 4096, 4097, 100_000].map((length): Question => {
      const about = `${length} bytes come out as they went in`;
      const row = readBack(`${length} bytes`, about, { fresh: `size ${length}`, length }, {});
      return { ...row, expect: { ...row.expect, headers: { 'content-length': String(length) } } };
    }),
    {
      id: 'same bytes',
      about: 'the same bytes have the same reference',
      ask: post(NO_PARITIES, CONTENT),
      expect: { status: 201, json: REFERENCE, values: { reference: '{content}' } },
    },
    {
      id: 'POST /bytes encrypted',
      about: 'svc-encrypt gives a reference of 64 bytes, which is read',
      steps: async (session) => {
        const bytes = { fresh: 'encrypted', length: SIZE };
        const { text } = await session.ask(post({ 'svc-encrypt': 'true' }, bytes), {
          status: 201,
          json: '{reference:hex64}',
        });
        await session.ask({ path: `/bytes/${text('reference')}` }, { status: 200, bytes });
      },
    },
    ...['0', '1', '2', '3', '4'].map((level) =>
      readBack(
        `POST /bytes level ${level}`,
        `content of redundancy level ${level} is read`,
        { fresh: `level ${level}`, length: 20_000 },
        { 'svc-redundancy-level': level },
      ),
    ),
    {
      id: 'default level',
      about: `content without a level has level ${defaultLevel}`,
      upload: { path: '/bytes', headers: { 'svc-redundancy-level': defaultLevel }, body: unlevelled },
      ask: post({}, unlevelled),
      expect: { status: 201, values: { reference: '{upload}' } },
    },
    {
      id: 'POST /bytes direct',
      about: 'a direct upload has no tag',
      needs: 'second',
      steps: async (session) => {
        // Some peer has to take the chunks.
        await session.ask({ path: '/peers' }, { status: 200, json: '{peers:any}' });
        await session.ask(post({ 'svc-deferred-upload': 'false' }, { fresh: 'direct', length: 5000 }), {
          status: 201,
          json: REFERENCE,
          headers: { 'svc-tag': null },
        });
      },
    },
    {
      id: 'POST /bytes pinned',
      about: 'svc-pin pins what is uploaded',
      steps: async (session) => {
        const body = { fresh: 'pinned', length: 5000 };
        const { text } = await session.ask(post({ 'svc-pin': 'true' }, body), {
          status: 201,
          json: REFERENCE,
        });
        const reference = text('reference');
        session.later(`pin of ${reference}`, { method: 'DELETE', path: `/pins/${reference}` });
        await session.ask({ path: `/pins/${reference}` }, { status: 200, values: { reference } });
      },
    },
    {
      id: 'POST /bytes tagged',
      about: 'an upload with a tag counts on it',
      steps: async (session) => {
        const headers = { 'svc-tag': '{tag}' };
        const body = { fresh: 'tagged', length: 5000 };
        const { text } = await session.ask(post({ ...NO_PARITIES, ...headers }, body), {
          status: 201,
          json: REFERENCE,
          headers,
        });
        const values = { split: 3, address: text('reference') };
        await session.ask({ path: '/tags/{tag}' }, { status: 200, values });
      },
    },
    ...names.either<Question[]>(
      [
        {
          id: 'names of the other dialect',
          about: 'headers of the other family are read',
          ask: {
            method: 'POST',
            path: '/bytes',
            headers: { 'swarm-postage-batch-id': '{batch}' },
            body: { fresh: 'other names', length: 100 },
          },
          expect: { status: 201, json: REFERENCE },
        },
      ],
      [],
    ),
  ];
}

const HEADERS = {
  'content-type': 'application/octet-stream',
  'content-length': String(SIZE),
  'accept-ranges': 'bytes',
  etag: '"{content}"',
  'last-modified': ANY_DATE,
} as const;

const DOWNLOADS: readonly Question[] = [
  {
    id: 'GET /bytes headers',
    about: 'a download tells type, length, ranges, reference and time',
    ask: STORED,
    expect: {
      status: 200,
      bytes: CONTENT,
      headers: { ...HEADERS, 'access-control-expose-headers': /content-disposition/i },
    },
  },
  {
    id: 'HEAD /bytes headers',
    about: 'HEAD tells what GET does',
    ask: { method: 'HEAD', ...STORED },
    expect: { status: 200, empty: true, headers: HEADERS },
  },
  {
    id: 'HEAD /bytes level 1',
    about: 'HEAD tells the length of content with parities',
    upload: {
      path: '/bytes',
      headers: { 'svc-redundancy-level': '1' },
      body: { fresh: 'level 1 length', length: SIZE },
    },
    ask: { method: 'HEAD', path: '/bytes/{upload}' },
    expect: { status: 200, empty: true, headers: { 'content-length': String(SIZE) } },
  },
  {
    id: 'GET /v1/bytes',
    about: 'content is served below /v1',
    ask: { path: '/v1/bytes/{content}' },
    expect: { status: 200, bytes: CONTENT },
  },
  ...[
    { 'svc-cache': 'false' },
    { 'svc-redundancy-strategy': '0' },
    { 'svc-redundancy-strategy': '3' },
    { 'svc-redundancy-fallback-mode': 'false' },
    { 'svc-chunk-retrieval-timeout': '20s' },
    { 'svc-chunk-retrieval-timeout': '1m30s' },
    { 'svc-lookahead-buffer-size': '0' },
    { 'svc-lookahead-buffer-size': '4096' },
  ].map(
    (headers): Question => ({
      id: `GET /bytes ${Object.entries(headers).join('')}`,
      about: `${JSON.stringify(headers)} changes nothing of content`,
      ask: { ...STORED, headers },
      expect: { status: 200, bytes: CONTENT },
    }),
  ),
  {
    id: 'GET /bytes timeout',
    about: 'a time-out that is no duration is refused',
    ask: { ...STORED, headers: { 'svc-chunk-retrieval-timeout': 'x' } },
    expect: { status: 400, message: 'could not parse headers' },
  },
  {
    id: 'GET /bytes second',
    about: 'content is read through another node',
    needs: 'second',
    isAwaited: true,
    ask: { place: 'second', ...STORED },
    expect: { status: 200, bytes: CONTENT },
  },
  {
    id: 'GET /bytes missing',
    about: 'content that nobody has is not found',
    level: 'read',
    ask: { path: '/bytes/{hex32 missing}' },
    expect: { status: 404, message: 'Not Found' },
  },
  {
    id: 'HEAD /bytes missing',
    about: 'HEAD of content that nobody has is not found',
    level: 'read',
    ask: { method: 'HEAD', path: '/bytes/{hex32 missing}' },
    expect: { status: 404, empty: true },
  },
];

const WHOLE: Expected = { status: 200, bytes: CONTENT };
/** @param to excluded */
const part = (from: number, to: number): Expected => ({
  status: 206,
  bytes: { ...CONTENT, from, to },
  headers: { 'content-range': `bytes ${from}-${to - 1}/${SIZE}`, 'content-length': String(to - from) },
});
const noRange = (text: string, range: string | null): Expected => ({
  status: 416,
  text: `${text}\n`,
  headers: { 'content-type': 'text/plain; charset=utf-8', 'content-range': range, etag: null },
});
const UNRANGED: Expected = { ...WHOLE, headers: { 'content-range': null } };

const RANGES: readonly Question[] = [
  ...(
    [
      ['bytes=0-0', 'the first byte', part(0, 1)],
      ['bytes=100-4999', 'bytes of two chunks', part(100, 5000)],
      ['bytes=9990-', 'an open end', part(9990, SIZE)],
      ['bytes=-10', 'the last ten', part(SIZE - 10, SIZE)],
      ['bytes=-20000', 'more than there is from the end', part(0, SIZE)],
      ['bytes=9000-20000', 'an end past the last byte', part(9000, SIZE)],
      ['bytes= 5 - 9 ', 'spaces around numbers', part(5, 10)],
      ['bytes=0-4,20000-', 'one of two that can be satisfied', part(0, 5)],
      ['bytes=', 'no range at all', UNRANGED],
      ['bytes=0-9999,0-9999', 'more bytes than there are', UNRANGED],
      ['bytes=5-2', 'an end before its start', noRange('invalid range', null)],
      ['bytes=x-5', 'no number', noRange('invalid range', null)],
      ['lines=0-5', 'another unit', noRange('invalid range', null)],
      [
        `bytes=${SIZE}-`,
        'a start past the end',
        noRange('invalid range: failed to overlap', `bytes */${SIZE}`),
      ],
    ] as const
  ).map(
    ([range, about, expect]): Question => ({
      id: `range ${range}`,
      about,
      ask: { ...STORED, headers: { range } },
      expect,
    }),
  ),
  {
    id: 'range bytes=0-4,10-14',
    about: 'two ranges come as two parts',
    ask: { ...STORED, headers: { range: 'bytes=0-4,10-14' } },
    expect: {
      status: 206,
      headers: { 'content-type': /^multipart\/byteranges; boundary=/ },
      text: /content-range: bytes 0-4\/10000[^]*content-range: bytes 10-14\/10000/i,
    },
  },
  {
    id: 'range of nothing',
    about: 'a range of empty content is the whole',
    upload: { path: '/bytes', body: new Uint8Array(0) },
    ask: { path: '/bytes/{upload}', headers: { range: 'bytes=5-' } },
    expect: { status: 200, bytes: new Uint8Array(0) },
  },
  {
    id: 'range of HEAD',
    about: 'HEAD tells the headers of a range',
    ask: { method: 'HEAD', ...STORED, headers: { range: 'bytes=0-5' } },
    expect: {
      status: 206,
      empty: true,
      headers: { 'content-range': `bytes 0-5/${SIZE}`, 'content-length': '6' },
    },
  },
];

const ETAG = '"{content}"';
const OTHER = `"${NOTHING}"`;
const FUTURE = 'Fri, 01 Jan 2100 00:00:00 GMT';
const PAST = 'Sat, 01 Jan 2000 00:00:00 GMT';
const UNCHANGED: Expected = {
  status: 304,
  empty: true,
  headers: { 'content-type': null, 'last-modified': null },
};
const FAILED: Expected = { status: 412, empty: true };
const START: Expected = { status: 206, bytes: { ...CONTENT, to: 5 } };

const CONDITIONS = (
  [
    ['if-none-match the reference', { 'if-none-match': ETAG }, UNCHANGED],
    ['if-none-match a list', { 'if-none-match': `${OTHER}, ${ETAG}` }, UNCHANGED],
    ['if-none-match weak', { 'if-none-match': `W/${ETAG}` }, UNCHANGED],
    ['if-none-match *', { 'if-none-match': '*' }, UNCHANGED],
    ['if-none-match another', { 'if-none-match': OTHER }, WHOLE],
    ['if-match the reference', { 'if-match': ETAG }, WHOLE],
    ['if-match *', { 'if-match': '*' }, WHOLE],
    ['if-unmodified-since the future', { 'if-unmodified-since': FUTURE }, WHOLE],
    ['if-modified-since the past', { 'if-modified-since': PAST }, WHOLE],
    ['if-match another', { 'if-match': OTHER }, FAILED],
    ['if-match weak', { 'if-match': `W/${ETAG}` }, FAILED],
    ['if-unmodified-since the past', { 'if-unmodified-since': PAST }, FAILED],
    ['if-range another', { 'if-range': OTHER, range: 'bytes=0-4' }, WHOLE],
    ['if-range the reference', { 'if-range': ETAG, range: 'bytes=0-4' }, START],
  ] as const
).map(
  ([id, headers, expect]): Question => ({
    id,
    about: `a download with ${id}`,
    ask: { ...STORED, headers },
    expect,
  }),
);

/** In the order in which the headers are checked. */
function refusedUploads(names: Names): Question[] {
  const batch = 'svc-postage-batch-id';
  const noBatch = { status: 404, message: 'batch with id not found' };
  const noTag = { status: 404, message: 'tag not found' };
  const unread = (...headers: string[]) =>
    refusal('header', Object.fromEntries(headers.map((name) => [names.declared(name), 'invalid syntax'])));
  const table: readonly [id: string, about: string, headers: Record<string, string>, expect: Expected][] = [
    ['unknown batch', 'a batch that the node does not have is not found', { [batch]: NOTHING }, noBatch],
    [
      'short batch',
      'an id of another length is none',
      { [batch]: 'abcd' },
      names.either(refusal('header', { [batch]: 'want len:32' }), noBatch),
    ],
    [
      'unknown tag',
      'a tag is looked for before the batch',
      { [batch]: NOTHING, 'svc-tag': '4294967295' },
      noTag,
    ],
    [
      'no batch, unknown tag',
      'a missing header is told before an unknown tag',
      { 'svc-tag': '4294967295' },
      refusal('header', { [names.header(batch)]: 'want required:' }),
    ],
    [
      'two that cannot be read',
      'all headers that cannot be read are told together',
      { [batch]: NOTHING, 'svc-tag': 'x', 'svc-pin': 'y' },
      unread('svc-tag', 'svc-pin'),
    ],
    [
      'one that cannot be read, one missing',
      'what is missing is told when all else can be read',
      { 'svc-tag': 'x' },
      unread('svc-tag'),
    ],
  ];
  return table.map(([id, about, headers, expect]) => ({
    id,
    about,
    ask: { method: 'POST', path: '/bytes', headers, body: 'x' },
    expect,
  }));
}
