import { expect, test } from 'vitest';
import { judge, SECURITY_HEADERS } from '../../../../../harness/inspect/live/page-server.ts';

const TOKEN = 'tHe-ToKeN_0123456789abcdefghijkl';
const LOOKING = { port: 4711, controls: false };
const own = { method: 'GET', url: `/${TOKEN}/`, host: '127.0.0.1:4711' };
type Changes = Partial<Record<keyof typeof own | 'origin', string | undefined>>;
const requestOf = (changes: Changes) => {
  const { method, url, host, origin }: Changes = { ...own, ...changes };
  return { method, url, headers: { host, origin } };
};
const asked = (changes: Changes) => judge(requestOf(changes), TOKEN, LOOKING);

test('the page, its files and its streams are found below the token', () => {
  expect(asked({})).toMatchObject({ path: '' });
  expect(asked({ url: `/${TOKEN}/events`, host: 'localhost:4711' })).toMatchObject({ path: 'events' });
  const verdict = asked({ url: `/${TOKEN}/log/node-0?after=n12` });
  expect('query' in verdict && verdict.query.get('after')).toBe('n12');
});

test.each([
  ['no token', '/'],
  ['no path below it', `/${TOKEN}`],
  ['another one', `/${TOKEN.toLowerCase()}/`],
  ['a part of it', `/${TOKEN.slice(0, -1)}/events`],
  ['more than it', `/${TOKEN}0/events`],
  ['one in the query', `/events?token=${TOKEN}`],
])('%s is refused with 404', (_, url) => {
  expect(asked({ url })).toMatchObject({ refused: 404 });
});

test.each([
  ['a name that was rebound to loopback', 'evil.example:4711'],
  ['another port', '127.0.0.1:80'],
  ['no port', '127.0.0.1'],
  ['a name that begins like ours', '127.0.0.1:4711.evil.example'],
])('a Host with %s is refused before the token is checked', (_, host) => {
  expect(asked({ host })).toMatchObject({ refused: 421 });
  expect(asked({ host, url: '/' })).toMatchObject({ refused: 421 });
});

test('a request without a Host is refused', () => {
  expect(asked({ host: undefined })).toMatchObject({ refused: 421 });
});

test('a request with two Hosts is refused with 400, whichever comes first', () => {
  for (const other of ['evil.example', own.host]) {
    const rawHeaders = ['host', own.host, 'Accept', '*/*', 'Host', other];
    expect(judge({ ...requestOf({}), rawHeaders }, TOKEN, LOOKING)).toMatchObject({ refused: 400 });
  }
});

test('the host of an absolute target replaces the header', () => {
  expect(asked({ url: `http://evil.example:4711/${TOKEN}/` })).toMatchObject({ refused: 421 });
  expect(asked({ url: `http://${own.host}/${TOKEN}/`, host: 'evil.example' })).toMatchObject({ path: '' });
});

test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'CONNECT', undefined])(
  '%s is refused with 405',
  (method) => {
    expect(asked({ method })).toMatchObject({ refused: 405 });
  },
);

test('a page with controls takes POST, from itself alone; all other ways to change something stay refused', () => {
  const asks = (changes: Changes) =>
    judge(requestOf({ method: 'POST', ...changes }), TOKEN, { port: 4711, controls: true });
  const url = `/${TOKEN}/control/pause`;
  expect(asks({ url })).toMatchObject({ path: 'control/pause' });
  expect(asks({ url, origin: 'http://127.0.0.1:4711' })).toMatchObject({ path: 'control/pause' });
  for (const origin of ['http://127.0.0.1:80', 'https://127.0.0.1:4711', 'http://localhost:4711', 'null', ''])
    expect(asks({ url, origin })).toMatchObject({ refused: 403 });
  expect(asks({ url: '/control/pause' })).toMatchObject({ refused: 404 });
  expect(asks({ url, host: 'evil.example:4711' })).toMatchObject({ refused: 421 });
  expect(asks({ url, method: 'PUT' })).toMatchObject({ refused: 405 });
});

test('an invalid path is refused with 400', () => {
  expect(asked({ url: '//[' })).toMatchObject({ refused: 400 });
});

test('the policy allows nothing inline and nothing from other origins, and no other origin may read', () => {
  const policy = SECURITY_HEADERS['content-security-policy'] ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toContain('unsafe');
  expect(policy).not.toContain('*');
  expect(Object.keys(SECURITY_HEADERS).filter((name) => name.startsWith('access-control'))).toEqual([]);
});
