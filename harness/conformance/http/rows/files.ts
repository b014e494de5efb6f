import { tarOf } from '../../../base/tree.ts';
import type { Row } from '../../row.ts';
import { refusal } from '../expectation.ts';
import type { Names } from '../names.ts';
import { BATCH, TAR, upload } from '../prerequisites.ts';
import { type Question, type Steps, table } from '../question.ts';
import { NOTHING } from '../samples.ts';
import type { Ask, Expected, HttpSubject } from '../subject.ts';

const ETAG = /^"[0-9a-f]{64}"$/;
const UID = /^[1-9]\d*$/;
const PLAIN = { 'content-type': 'text/plain' } as const;
const HERE: Expected = { status: 200, text: 'hello' };
const NO_COLLECTION: Expected = { status: 404, message: 'address not found or incorrect' };

export function fileRows(names: Names): Row<HttpSubject>[] {
  const level = 'write';
  return [...table('files', { level }, files(names)), ...table('collections', { level }, collections(names))];
}

const POST: Ask = { method: 'POST', path: '/svc', headers: { ...BATCH, ...PLAIN }, body: 'x' };

function files(names: Names): (Question | Steps)[] {
  const served = {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': '5',
    'content-disposition': 'inline; filename="a b.txt"',
    etag: ETAG,
  };
  return [
    {
      id: 'POST /svc',
      about: 'a file is answered with its reference, tag and ETag',
      ask: { ...POST, path: '/svc?name=x.txt', body: { fresh: 'file', length: 100 } },
      expect: { status: 201, json: '{reference:hex32}', headers: { 'svc-tag': UID, etag: ETAG } },
    },
    {
      id: 'GET /svc/ file',
      about: 'a file comes with its name and type',
      ask: { path: '/svc/{file}/' },
      expect: { ...HERE, headers: { ...served, 'accept-ranges': 'bytes' } },
    },
    {
      id: 'HEAD /svc/ file',
      about: 'HEAD tells the same',
      ask: { method: 'HEAD', path: '/svc/{file}/' },
      expect: { status: 200, empty: true, headers: served },
    },
    {
      id: 'GET /svc/ by name',
      about: 'a file is read by its name',
      ask: { path: '/svc/{file}/a%20b.txt' },
      expect: HERE,
    },
    {
      id: 'GET /svc/ range',
      about: 'files have ranges',
      ask: { path: '/svc/{file}/', headers: { range: 'bytes=1-3' } },
      expect: { status: 206, text: 'ell', headers: { 'content-range': 'bytes 1-3/5' } },
    },
    {
      id: 'GET /svc without slash',
      about: names.either('is served at once', 'is sent to the path with a slash'),
      ask: { path: '/svc/{file}' },
      expect: names.either<Expected>(
        { ...HERE, headers: { vary: /accept/i } },
        { status: 308, headers: { location: /\/$/ } },
      ),
    },
    {
      id: 'GET /svc without slash, query',
      about: 'a redirect keeps the query',
      ask: { path: '/svc/{file}?a=b', headers: { accept: 'text/html' } },
      expect: { status: 308, headers: { location: /\/\?a=b$/ } },
    },
    {
      id: 'GET /svc/ unknown path',
      about: 'a path that is not in the collection is not found',
      ask: { path: '/svc/{file}/other' },
      expect: { status: 404, message: 'path address not found' },
    },
    {
      id: 'GET /svc/ of bytes',
      about: 'bytes are no collection',
      ask: { path: '/svc/{content}/' },
      expect: NO_COLLECTION,
    },
    {
      id: 'GET /svc/ missing',
      about: 'a reference that nobody has is not found',
      level: 'read',
      ask: { path: '/svc/{hex32 no file}/' },
      expect: NO_COLLECTION,
    },
    {
      id: 'POST /svc name',
      about: 'a name does not begin with a slash',
      ask: { ...POST, path: '/svc?name=/a' },
      expect: refusal('query', { name: 'want startsnotwith:/' }),
    },
    {
      id: 'POST /svc collection type',
      about: 'a collection comes as tar or as parts',
      ask: { ...POST, headers: { ...BATCH, ...PLAIN, 'svc-collection': 'true' } },
      expect: { status: 400, message: 'invalid content-type' },
    },
    {
      id: 'POST /svc empty tar',
      about: 'a collection has a file',
      ask: { ...POST, headers: { ...BATCH, ...TAR }, body: new Uint8Array(1024) },
      expect: { status: 400, message: 'no files in root directory' },
    },
    {
      id: 'POST /svc unknown batch',
      about: 'a batch must be known',
      ask: { ...POST, headers: { ...PLAIN, 'svc-postage-batch-id': NOTHING } },
      expect: { status: 404, message: 'batch with id not found' },
    },
  ];
}

function collections(names: Names): (Question | Steps)[] {
  return [
    {
      id: 'POST /svc collection',
      about: names.either('a collection has an ETag', 'a collection has no ETag'),
      steps: async (session) =>
        session.ask(
          {
            ...POST,
            headers: { ...BATCH, ...TAR },
            body: await tarOf([{ path: 'x', data: session.content('x', 10) }]),
          },
          {
            status: 201,
            json: '{reference:hex32}',
            headers: { etag: names.either(ETAG, null), 'svc-tag': UID },
          },
        ),
    },
    {
      id: 'index document',
      about: 'the empty path is the index document',
      ask: { path: '/svc/{site}/' },
      expect: {
        status: 200,
        text: '<h1>index</h1>',
        headers: {
          'content-type': 'text/html; charset=utf-8',
          'content-disposition': 'inline; filename="index.html"',
        },
      },
    },
    {
      id: 'error document',
      about: 'an unknown path is the error document, with 200',
      ask: { path: '/svc/{site}/nothing' },
      expect: { status: 200, text: '<h1>error</h1>' },
    },
    {
      id: 'type by extension',
      about: 'files of a tar have the type of their extension',
      ask: { path: '/svc/{site}/docs/a.json' },
      expect: { status: 200, text: '{"a":1}', headers: { 'content-type': 'application/json' } },
    },
    {
      id: 'folder with slash',
      about: 'a folder is its index document',
      ask: { path: '/svc/{site}/docs/' },
      expect: { status: 200, text: '<h1>docs</h1>' },
    },
    {
      id: 'folder without slash',
      about: 'a folder is sent to its path with a slash',
      ask: { path: '/svc/{site}/docs' },
      expect: { status: 308, headers: { location: /\/docs\/$/ } },
    },
    {
      id: 'multipart',
      about: 'parts are files under their names',
      steps: async (session) => {
        const part = (name: string, text: string) =>
          `--b\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: text/plain\r\n\r\n${text}\r\n`;
        const headers = { 'content-type': 'multipart/form-data; boundary=b' };
        const body = `${part('one/1.txt', 'first')}${part('2.txt', 'second')}--b--\r\n`;
        const path = `/svc/${await upload(session, { path: '/svc', headers, body })}/`;
        await session.ask({ path: `${path}one/1.txt` }, { status: 200, text: 'first', headers: PLAIN });
        await session.ask({ path: `${path}2.txt` }, { status: 200, text: 'second' });
        await session.ask({ path }, NO_COLLECTION);
      },
    },
    {
      id: 'collection second',
      about: 'a collection is read through another node',
      needs: 'second',
      isAwaited: true,
      ask: { place: 'second', path: '/svc/{site}/docs/a.json' },
      expect: { status: 200, text: '{"a":1}' },
    },
  ];
}
