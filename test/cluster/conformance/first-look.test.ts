import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MACHINE_CLOCK } from '../../../harness/base/machine/clock.ts';
import { httpConformance } from '../../../harness/conformance/http/conformance.ts';
import { spokenDialect } from '../../../harness/conformance/http/probe-target.ts';

const GOOD = 'ab'.repeat(32);
const run = { clock: MACHINE_CLOCK, signal: new AbortController().signal };
/** 404 in HTML for every other path. */
let answers: Readonly<Record<string, readonly [status: number, body: object]>>;
let server: Server;
let target: string;
let places: readonly string[];

beforeAll(async () => {
  server = createServer(({ url = '' }, response) => {
    const [status, body] = answers[url] ?? [404, undefined];
    response.writeHead(status).end(body === undefined ? '<html>' : JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  target = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

const NODE = { '/health': [200, { status: 'ok', version: '1.2' }] } as const;
const GONE = 'http://127.0.0.1:1';

async function open(more: { debugTarget?: string; second?: string; batch?: string } = {}): Promise<string> {
  const opened = await httpConformance({ target, dialect: 'svc', ...more }).open(run);
  places = [...opened.subject.places];
  await opened.close();
  return opened.implementation;
}

test('a node reports its version; one without a health endpoint is recognised by its mode', async () => {
  answers = NODE;
  expect(await open()).toBe('version 1.2');
  answers = { '/node': [200, { beeMode: 'full' }] };
  expect(await open()).toBe('');
});

test('a node with one interface has no debug interface, although its address is given as one', async () => {
  answers = NODE;
  await open({ debugTarget: target });
  expect(places).toEqual(['main']);
});

test.each([
  ['a server of pages', {}, /is no storage node: GET \/health answers 404$/],
  [
    'another API',
    { '/health': [500, { message: 'down' }] },
    /no storage node: GET \/health answers 500, down$/,
  ],
  [
    'a node that serves only data there',
    { ...NODE, '/openapi.json': [200, { paths: { '/bytes': {} } }] },
    /serves only data: GET \/node answers 404$/,
  ],
  ['a node behind tokens', { '/health': [401, {}] }, /answers 401: it needs a token/],
] as const)('%s is not graded', async (_, served, message) => {
  answers = served;
  await expect(open()).rejects.toThrow(message);
});

test('everything named beside the node must be there', async () => {
  answers = { ...NODE, [`/stamps/${GOOD}`]: [200, { usable: true }] };
  expect(await open({ batch: GOOD, second: target })).toBe('version 1.2');
  await expect(open({ second: GONE })).rejects.toMatchObject({ hint: expect.stringContaining('--second') });
  await expect(open({ debugTarget: GONE })).rejects.toMatchObject({
    hint: expect.stringContaining('--debug-target'),
  });
  answers = { ...NODE, [`/stamps/${GOOD}`]: [200, { usable: false }] };
  await expect(open({ batch: GOOD })).rejects.toThrow(/no usable batch abab/);
});

test.each([
  ['svc', { svcMode: 'full' }],
  ['swarm', { beeMode: 'light' }],
  ['svc', { mode: 'full' }],
] as const)('the dialect %s is recognised from %j', async (dialect, node) => {
  answers = { ...NODE, '/node': [200, node] };
  expect(await spokenDialect({ target }, run)).toBe(dialect);
});

test('a server that does not answer has no dialect', async () => {
  await expect(spokenDialect({ target: GONE }, run)).rejects.toThrow(/does not answer/);
});
