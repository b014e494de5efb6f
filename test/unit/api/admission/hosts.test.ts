import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { createHostCheck, hostOf, nameOf } from '../../../../formats/hosts.ts';
import { startKit } from '../kit.ts';

describe('host names', () => {
  test.each([
    undefined,
    '127.0.0.1',
    '127.0.0.1:1633',
    '192.168.1.7:80',
    '[::1]',
    '[::1]:1633',
    '[fd00::12]:1633',
    'localhost',
    'localhost:1633',
    'LocalHost.:1633',
    'a.localhost',
    'bah5acgza.swarm.localhost:1633',
    'node.example.org',
    'NODE.example.org.:1633',
  ])('%s is accepted', (host) => {
    expect(createHostCheck(['Node.example.org'])(host)).toBe(true);
  });

  test.each([
    'evil.example',
    'evil.example:1633',
    'localhost.evil.example',
    'notlocalhost',
    '127.0.0.1.evil.example',
    'example.org',
    'a.node.example.org',
    '127.1',
    '2130706433',
    '[::1].evil.example',
    'localhost:80:80',
    'evil.example/localhost',
    'evil.example@localhost',
    'a b',
    '',
    ':1633',
    '*',
  ])("'%s' is not accepted", (host) => {
    expect(createHostCheck(['node.example.org'])(host)).toBe(false);
  });

  test('a star lets every name in', () => {
    expect(createHostCheck(['*'])('evil.example')).toBe(true);
  });

  test('the name is in lower case, without port and closing dot', () => {
    expect(['A.B.:1', '[::1]:2', 'x'].map(nameOf)).toEqual(['a.b', '[::1]', 'x']);
  });
});

test.each([
  ['/wallet', 'localhost'],
  ['http://evil.example/wallet', 'evil.example'],
  ['HTTPS://evil.example:80?x', 'evil.example:80'],
  ['//evil.example/wallet', 'localhost'],
  ['http:///wallet', ''],
])('the host of %s is %s', (url, host) => {
  expect(hostOf({ url, headers: { host: 'localhost' } })).toBe(host);
});

const REQUESTS: readonly [what: string, target: string, hosts: readonly string[], status: number][] = [
  ['one host', '/wallet', ['localhost'], 200],
  ['two hosts', '/wallet', ['localhost', 'evil.example'], 400],
  ['two hosts, another first', '/wallet', ['evil.example', 'localhost'], 400],
  ['one host twice', '/wallet', ['localhost', 'localhost'], 400],
  ['another authority', 'http://evil.example/wallet', ['localhost'], 403],
  ['its own authority', 'http://localhost/wallet', ['localhost'], 200],
];

test.each(REQUESTS)('a request with %s is answered as it should be', async (_what, target, hosts, status) => {
  const { api } = await startKit();
  const server = createServer(api.main.handle);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const head = [`GET ${target} HTTP/1.1`, ...hosts.map((host) => `Host: ${host}`), 'Connection: close'];
  socket.end(`${head.join('\r\n')}\r\n\r\n`);
  const answer = await text(socket);
  server.close();
  expect(answer.slice(0, 12)).toBe(`HTTP/1.1 ${status}`);
});
