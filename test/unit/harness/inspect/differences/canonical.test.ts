import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Answered,
  answerParts,
  ContentText,
  isDocument,
  learn,
  Names,
  requestText,
} from '../../../../../harness/inspect/differences/canonical.ts';

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };
const BATCH = 'ab'.repeat(32);

function partsOf(body: unknown, names = new Names()): Record<string, string> {
  const answer = { status: 200, headers: JSON_TYPE, body: { json: JSON.stringify(body) } };
  return Object.fromEntries(answerParts(answer, { names, momentary: false }));
}

test('what time, ports and chance decide is a placeholder, and references stay', () => {
  const reference = '12'.repeat(32);
  const names = new Names();
  names.add(BATCH, '{batch of node-0}');
  expect(partsOf({ uid: 8, startedAt: '2026-01-01', address: reference, batchID: BATCH }, names)).toEqual({
    status: '200',
    'content-type': JSON_TYPE['content-type'],
    'body.uid': '{uid}: number',
    'body.startedAt': '{startedAt}: string',
    'body.address': JSON.stringify(reference),
    'body.batchID': '"{batch of node-0}"',
  });
});

test('how full a batch is counts where it is a scenario’s own, not where all uploads of a node share it', () => {
  const names = new Names();
  names.add(BATCH, '{batch of node-0}');
  const bought = 'cd'.repeat(32);
  names.add(bought, '{batch of node-0 POST /stamps/1/17}');
  const parts = partsOf(
    { stamps: [BATCH, bought].map((batchID) => ({ batchID, utilization: 2, utilizationRatio: 0.5 })) },
    names,
  );
  expect(parts).toMatchObject({
    'body.stamps[0].utilization': '{utilization}: number',
    'body.stamps[0].utilizationRatio': '{utilizationRatio}: number',
    'body.stamps[1].utilization': '2',
    'body.stamps[1].utilizationRatio': '0.5',
  });
});

test('a tag is named after the upload that made it, in paths and headers of later requests alone', () => {
  const names = new Names();
  const upload = requestText('node-0', { method: 'POST', path: '/bytes', body: 'abc' }, names);
  expect(upload).toBe('node-0 POST /bytes, 3 bytes ba7816bf');
  learn({ status: 201, headers: { 'swarm-tag': '8' }, body: undefined }, 'node-0', upload, names);
  expect(requestText('node-0', { method: 'GET', path: '/tags/8' }, names)).toBe(
    `node-0 GET /tags/{tag of ${upload}}`,
  );
  expect(requestText('node-0', { method: 'POST', path: '/bzz', headers: { 'Swarm-Tag': '8' } }, names)).toBe(
    `node-0 POST /bzz, swarm-tag: {tag of ${upload}}`,
  );
  expect(partsOf({ size: 8 }, names)['content-type']).toContain('utf-8');
  expect(partsOf({ size: 8 }, names)['body.size']).toBe('8');
});

test('a batch that was bought is named after its purchase; the own batch of a node goes without saying', () => {
  const names = new Names();
  learn(
    { status: 201, headers: JSON_TYPE, body: { json: JSON.stringify({ batchID: BATCH }) } },
    'node-1',
    'node-1 POST /stamps/1/17',
    names,
  );
  const request = { method: 'POST', path: '/bytes', headers: { 'swarm-postage-batch-id': BATCH } };
  expect(requestText('node-1', request, names)).toContain(
    'swarm-postage-batch-id: {batch of node-1 POST /stamps/1/17}',
  );
  const own = new Names();
  own.add(BATCH, '{batch of node-1}');
  expect(requestText('node-1', request, own)).toBe('node-1 POST /bytes');
  expect(requestText('node-2', request, own)).toContain('{batch of node-1}');
});

test('references under keys that a node draws are named after their upload, in later requests and answers', () => {
  const names = new Names();
  const reference = '12'.repeat(64);
  const [history, list] = ['34'.repeat(32), '56'.repeat(64)];
  const upload = requestText(
    'node-0',
    { method: 'POST', path: '/bzz', headers: { 'Swarm-Act': 'true' }, body: 'abc' },
    names,
  );
  const json = (body: unknown) => ({ json: JSON.stringify(body) });
  const headers = { ...JSON_TYPE, 'swarm-act-history-address': history };
  learn({ status: 201, headers, body: json({ reference }) }, 'node-0', upload, names);
  expect(partsOf({ reference }, names)['body.reference']).toBe(`"{reference of ${upload}}"`);
  expect(names.in(history)).toBe(`{history of ${upload}}`);
  const grant = requestText(
    'node-0',
    { method: 'POST', path: '/grantee', headers: { 'swarm-act-history-address': history } },
    names,
  );
  expect(grant).toBe(`node-0 POST /grantee, swarm-act-history-address: {history of ${upload}}`);
  const granted = json({ ref: list, historyref: history });
  learn({ status: 201, headers: JSON_TYPE, body: granted }, 'node-0', grant, names);
  expect(names.in(list)).toBe(`{list of ${grant}}`);
  expect(names.in(history)).toBe(`{history of ${upload}}`);
  const other = '78'.repeat(32);
  const plain = json({ reference: other });
  learn({ status: 201, headers: JSON_TYPE, body: plain }, 'node-0', 'node-0 POST /bytes', names);
  expect(names.in(other)).toBe(other);
});

test('of a state of the moment the shape alone counts', () => {
  const shape = (body: unknown) =>
    answerParts(
      { status: 200, headers: JSON_TYPE, body: { json: JSON.stringify(body) } },
      { names: new Names(), momentary: true },
    );
  expect(shape({ peers: [1], depth: 3 })).toEqual(shape({ depth: 9, peers: [] }));
  expect(shape({ depth: '3' })).not.toEqual(shape({ depth: 3 }));
  const peerData = { [BATCH]: { balance: '1' } };
  expect(shape({ peerData })).toEqual(shape({ peerData: {} }));
  expect(shape({ peerData })).toEqual(shape({ peerData: null }));
});

test('content is compared by length and hash, headers that say nothing are left out', () => {
  const headers = { 'content-type': 'text/plain', date: 'now', etag: '"x"', 'swarm-feed-index': '0' };
  expect(
    answerParts(
      { status: 200, headers, body: { content: String(new ContentText().add(new Uint8Array(3))) } },
      { names: new Names(), momentary: false },
    ),
  ).toEqual([
    ['status', '200'],
    ['content-type', 'text/plain'],
    ['etag', '"x"'],
    ['swarm-feed-index', '0'],
    ['body', '3 bytes 709e80c8'],
  ]);
});

test('how often chunks were sent makes no difference, whether any was does', () => {
  const sent = (count: unknown) => partsOf({ tags: [{ address: '', sent: count }] });
  expect(sent(65)).toEqual(sent(113));
  expect(sent(65)).not.toEqual(sent(0));
  expect(sent(65)).not.toEqual(sent('65'));
});

test('an empty body is nothing, whatever its type', () => {
  const empty = (body: Answered['body']) =>
    answerParts({ status: 204, headers: {}, body }, { names: new Names(), momentary: false });
  expect(empty({ json: '' })).toEqual(empty({ content: String(new ContentText()) }));
});

test('a text that claims to be JSON and is none stays a text', () => {
  const answer = { status: 502, headers: JSON_TYPE, body: { json: '<html>' } };
  expect(answerParts(answer, { names: new Names(), momentary: false })).toContainEqual(['body', '"<html>"']);
});

test('the order of fields, and of lists that have none, makes no difference; that of others does', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string(), { minLength: 2 }),
      fc.dictionary(fc.string(), fc.integer()),
      (list, rest) => {
        const turned = Object.fromEntries(
          Object.entries({ ...rest, references: list.toReversed() }).toReversed(),
        );
        expect(partsOf(turned)).toEqual(partsOf({ ...rest, references: list }));
        expect(partsOf({ entries: list.toReversed() })).not.toEqual(partsOf({ entries: list }));
      },
    ),
  );
});

test('a number and a text of the same digits differ', () => {
  expect(partsOf({ amount: 100 })).not.toEqual(partsOf({ amount: '100' }));
  expect(partsOf({ uid: 8 })).not.toEqual(partsOf({ uid: '8' }));
});

test('nodes count their tags each for itself', () => {
  const names = new Names();
  for (const node of ['node-0', 'node-1'])
    learn(
      { status: 201, headers: { 'swarm-tag': '1' }, body: undefined },
      node,
      `${node} POST /bytes`,
      names,
    );
  expect(requestText('node-1', { method: 'GET', path: '/tags/1' }, names)).toBe(
    'node-1 GET /tags/{tag of node-1 POST /bytes}',
  );
});

test('content of users is no document, whatever its type', () => {
  const path = '/bzz/ab/data.json';
  const found = { status: 200, headers: JSON_TYPE };
  expect(isDocument({ method: 'GET', path }, found)).toBe(false);
  expect(isDocument({ method: 'GET', path }, { ...found, status: 404 })).toBe(true);
  expect(isDocument({ method: 'POST', path: '/soc/ab/cd' }, found)).toBe(true);
});

test('content in pieces has the text of the whole', () => {
  const pieces = new ContentText().add('ab').add(Buffer.from('c'));
  expect(String(pieces)).toBe(String(new ContentText().add('abc')));
});
