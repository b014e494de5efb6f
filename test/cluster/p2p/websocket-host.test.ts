import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import {
  connect as connectTls,
  createServer as createTlsServer,
  getCACertificates,
  setDefaultCACertificates,
} from 'node:tls';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { type Authority, createAuthority } from '../../../harness/base/machine/certificates.ts';
import { Power } from '../../../node/env/power.ts';
import type { HostOptions } from '../../../node/p2p/host-options.ts';
import type { TcpConnection, TcpListener } from '../../../node/p2p/tcp-host.ts';
import { createSockets, type SocketOptions } from '../../../node/p2p/websocket-host.ts';
import { libp2pNode } from './libp2p-nodes.ts';
import { readBytes } from './read-bytes.ts';

const never = new AbortController().signal;
const authority = createAuthority('authority of this test');

function secure(names: readonly string[], issuer: Authority = authority): HostOptions['secure'] {
  return { ...issuer.issue(names), listen: '127.0.0.1:0' };
}

function secureSockets(issuer: Authority = authority): SocketOptions {
  return { carriers: ['wss'], secure: issuer.issue(['127.0.0.1']), authority: authority.certificate };
}

const SECURE = '/ip4/127.0.0.1/tcp/0/tls/ws';

interface Listening extends AsyncDisposable {
  readonly listener: TcpListener;
  readonly port: number;
  readonly arrived: TcpConnection[];
}

async function listening(
  options: SocketOptions,
  address = '/ip4/127.0.0.1/tcp/0',
  power?: Power,
): Promise<Listening> {
  const arrived: TcpConnection[] = [];
  const listener = await createSockets(options, power).listen(address, {
    accepted: (connection) => arrived.push(connection),
    failed: (error) => {
      throw error;
    },
  });
  const port = Number(/\/tcp\/(\d+)/.exec(listener.addresses()[0] ?? '')?.[1]);
  return { listener, port, arrived, [Symbol.asyncDispose]: () => listener.close() };
}

async function answered(port: number, bytes: Uint8Array | string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.write(bytes);
  return text(socket).catch((error: NodeJS.ErrnoException) => error.code ?? '');
}

test('one port takes plain TCP and WebSockets, and says so', async () => {
  const both = { carriers: ['tcp', 'ws'] } as const;
  await using there = await listening(both);
  const plain = `/ip4/127.0.0.1/tcp/${there.port}`;
  expect(there.listener.addresses()).toEqual([plain, `${plain}/ws`]);
  for (const [address, seen] of [
    [plain, /^\/ip4\/127\.0\.0\.1\/tcp\/\d+$/],
    [`${plain}/ws`, /^\/ip4\/127\.0\.0\.1\/tcp\/\d+\/ws$/],
  ] as const) {
    const out = await createSockets(both).dial(`${address}/p2p/12D3KooW`, never);
    expect(out.remoteAddress).toBe(address);
    const data = Buffer.alloc(3_000_000, 7);
    data[0] = 0x13;
    // As large as messages of noise.
    for (let at = 0; at < data.length; at += 65_537) out.raw.write(data.subarray(at, at + 65_537));
    await expect.poll(() => there.arrived.length).toBe(1);
    const back = there.arrived.pop() as TcpConnection;
    await back.ready(never);
    expect(back.remoteAddress).toMatch(seen);
    expect((await readBytes(back, data.length)).equals(data)).toBe(true);
    back.raw.write(Buffer.from('answer'));
    expect((await readBytes(out, 6)).toString()).toBe('answer');
    back.pause();
    out.raw.write(Buffer.from('later'));
    back.resume();
    expect((await readBytes(back, 5)).toString()).toBe('later');
    await out.close(never);
    expect(await back.raw.read()).toBeUndefined();
  }
});

test('what is no WebSocket is refused in words, and ends', async () => {
  await using there = await listening({ carriers: ['ws'] });
  const refused = async (bytes: Uint8Array | string) => {
    const answer = await answered(there.port, bytes);
    await expect(there.arrived.pop()?.ready(never)).rejects.toThrow();
    return answer;
  };
  expect(await refused('GET / HTTP/1.1\r\nHost: here\r\n\r\n')).toMatch(
    /^HTTP\/1\.1 426 .*expected a WebSocket/s,
  );
  expect(await refused('POST /bytes HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\n\r\nx')).toMatch(
    /^HTTP\/1\.1 426/,
  );
  expect(
    await refused('GET / HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
  ).toMatch(/^HTTP\/1\.1 400 .*Sec-WebSocket-Key/s);
  expect(await refused(`GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431/);
  expect(await refused('\u0000\u0001 what is this?\r\n\r\n')).toMatch(/^HTTP\/1\.1 400/);
  // Plain libp2p, which is off here.
  expect(await refused('\u0013/multistream/1.0.0\n')).toMatch(/^(ECONNRESET)?$/);
});

async function webSocketAt(there: Listening): Promise<{ socket: WebSocket; connection: TcpConnection }> {
  const socket = new WebSocket(`ws://127.0.0.1:${there.port}/`, { origin: 'https://page.example' });
  await once(socket, 'open');
  const connection = there.arrived[0] as TcpConnection;
  await connection.ready(never);
  return { socket, connection };
}

const closedBy = (connection: TcpConnection) =>
  new Promise<Error | undefined>((resolve) => connection.onClosed(resolve));

test.each([
  ['a text message', (socket: WebSocket) => socket.send('text'), 'got a text message, expected binary ones'],
  [
    'a message above the limit',
    (socket: WebSocket) => socket.send(Buffer.alloc(2_000_000)),
    'Max payload size exceeded',
  ],
  [
    'a message in many pieces',
    (socket: WebSocket) => {
      for (let piece = 0; piece <= 16; piece++) socket.send('x', { binary: true, fin: false });
    },
    'Too many message fragments',
  ],
])('%s ends the connection', async (_what, send, reason) => {
  await using there = await listening({ carriers: ['ws'] });
  const { socket, connection } = await webSocketAt(there);
  const ended = closedBy(connection);
  const closed = new Promise((resolve) => socket.on('close', resolve).on('error', () => undefined));
  send(socket);
  expect((await ended)?.message).toBe(reason);
  await closed;
});

test('pings are answered, but not those of a client that reads no answers', async () => {
  await using there = await listening({ carriers: ['ws'] });
  const { socket, connection } = await webSocketAt(there);
  const heard: string[] = [];
  let left = 64 << 20;
  socket.on('pong', (data: Buffer) => heard.push(data.toString()));
  socket.on('message', (data: Buffer) => (left -= data.length));
  socket.pause();
  for (let sent = 0; sent < 64; sent++) connection.raw.write(Buffer.alloc(1 << 20));
  expect(connection.isFull()).toBe(true);
  socket.ping('while full');
  socket.send('x', { binary: true });
  expect((await readBytes(connection, 1)).toString()).toBe('x');
  expect(connection.isFull()).toBe(true);
  socket.resume();
  await expect.poll(() => left).toBe(0);
  socket.ping('with room');
  await expect.poll(() => heard).toEqual(['with room']);
  socket.terminate();
});

/** It keeps its side of the connection. */
async function bareClientOf(there: Listening): Promise<{ socket: Socket; connection: TcpConnection }> {
  const socket = connect({ port: there.port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
  const key = Buffer.alloc(16).toString('base64');
  socket.write(
    `GET / HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
  );
  await expect.poll(() => there.arrived.length).toBe(1);
  const connection = there.arrived[0] as TcpConnection;
  await connection.ready(never);
  return { socket: socket.resume(), connection };
}

test('a connection ends with its WebSocket, and takes nothing after that', async () => {
  await using there = await listening({ carriers: ['ws'] });
  const { socket, connection } = await bareClientOf(there);
  const ended = closedBy(connection);
  // That the WebSocket is over.
  socket.write(Buffer.from('888000000000', 'hex'));
  await once(socket, 'end');
  expect(() => connection.raw.write(Buffer.from('late'))).toThrow('the connection is closed');
  // The library would wait for 30 s.
  expect(await Promise.race([ended, sleep(29_000, 'later', { ref: false })])).toBeUndefined();
  socket.destroy();
});

test('a message that comes byte by byte ends the connection', async () => {
  await using there = await listening({ carriers: ['ws'] });
  const { socket, connection } = await bareClientOf(there);
  const ended = closedBy(connection);
  socket.on('error', () => undefined);
  const size = 1_000_000;
  const header = Buffer.from('82ff000000000000000000000000', 'hex');
  header.writeUInt32BE(size, 6);
  socket.write(header);
  for (let sent = 0; sent < size && socket.writable; sent++) {
    socket.write('x');
    await turn();
  }
  expect((await ended)?.message).toBe('Too many buffered chunks');
});

test('connections from one port to several addresses are told apart', async () => {
  await using there = await listening(secureSockets(), '/ip4/0.0.0.0/tcp/0/tls/ws');
  const first = connect({ port: there.port, host: '127.0.0.1', localAddress: '127.0.0.1' });
  await once(first, 'connect');
  await expect.poll(() => there.arrived.length).toBe(1);
  const second = connect({
    port: there.port,
    host: '127.0.0.2',
    localAddress: '127.0.0.1',
    localPort: first.localPort as number,
  });
  await once(second, 'connect');
  await expect.poll(() => there.arrived.length).toBe(2);
  const socket = new WebSocket(`ws://127.0.0.1:${there.port}/`, {
    createConnection: () => connectTls({ socket: first, host: '127.0.0.1', ca: authority.certificate }),
  });
  await once(socket, 'open');
  await there.arrived[0]?.ready(never);
  socket.terminate();
  second.destroy();
});

test.each([
  ['takes', (power: Power) => [power, undefined]],
  ['has dialled', (power: Power) => [undefined, power]],
] as const)('a node that is cut drops the secure WebSockets that it %s', async (_side, powers) => {
  const power = new Power((error) => {
    throw error;
  });
  const [takes, dials] = powers(power);
  await using there = await listening(secureSockets(), SECURE, takes);
  const [address = ''] = there.listener.addresses();
  const out = await createSockets(secureSockets(), dials).dial(address, never);
  const back = there.arrived[0] as TcpConnection;
  await back.ready(never);
  const ended = closedBy(takes === undefined ? back : out);
  await power.cut();
  await ended;
});

test.each([
  ['the name after /sni/', (port: number) => `/ip4/127.0.0.1/tcp/${port}/tls/sni/localhost/ws`, 'localhost'],
  ['the DNS name before /wss', (port: number) => `/dns4/localhost/tcp/${port}/wss`, 'localhost'],
  ['the DNS name before /tls/ws', (port: number) => `/dns4/localhost/tcp/${port}/tls/ws`, 'localhost'],
  ['no address', (port: number) => `/ip4/127.0.0.1/tcp/${port}/tls/ws`, false],
  ['no address after /sni/', (port: number) => `/ip4/127.0.0.1/tcp/${port}/tls/sni/127.0.0.1/ws`, false],
])('a dialler names to the server %s', async (_what, address, expected) => {
  const { certificate: cert, key } = authority.issue(['localhost', '127.0.0.1']);
  const named: (string | false | null | undefined)[] = [];
  const server = createTlsServer({ cert, key }, (socket) => {
    named.push(socket.servername);
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const options = { carriers: ['wss'], authority: authority.certificate } as const;
  await expect(createSockets(options).dial(address(port), never)).rejects.toThrow('connection error');
  expect(named).toEqual([expected]);
  server.close();
});

test('what Node.js trusts is trusted beside the authority that is given', async () => {
  const other = createAuthority('another authority');
  await using there = await listening(secureSockets(other), SECURE);
  const [address = ''] = there.listener.addresses();
  await expect(createSockets(secureSockets()).dial(address, never)).rejects.toThrow('unable to verify');
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, other.certificate]);
  try {
    const connection = await createSockets(secureSockets()).dial(address, never);
    connection.abort(new Error('the test is over'));
  } finally {
    setDefaultCACertificates(before);
  }
});

test('a dialler of WebSockets says what answered instead of one', async () => {
  await using plain = await listening({ carriers: ['tcp'] });
  const dialled = createSockets({ carriers: ['ws'] }).dial(`/ip4/127.0.0.1/tcp/${plain.port}/ws`, never);
  await expect.poll(() => plain.arrived.length).toBe(1);
  plain.arrived[0]?.raw.write(Buffer.from('HTTP/1.1 404 Not Found\r\n\r\n'));
  await expect(dialled).rejects.toThrow(
    `connection error 127.0.0.1:${plain.port}: Unexpected server response: 404`,
  );
  await expect(
    createSockets({ carriers: ['tcp'] }).dial(`/ip4/127.0.0.1/tcp/${plain.port}/ws`, never),
  ).rejects.toThrow('no supported addresses');
});

test('a dial of a WebSocket that is never answered ends with its signal', async () => {
  await using silent = await listening({ carriers: ['tcp'] });
  const giveUp = new AbortController();
  const dialled = createSockets({ carriers: ['ws'] }).dial(
    `/ip4/127.0.0.1/tcp/${silent.port}/ws`,
    giveUp.signal,
  );
  await expect.poll(() => silent.arrived.length).toBe(1);
  giveUp.abort(new Error('no longer wanted'));
  await expect(dialled).rejects.toThrow('no longer wanted');
});

test.each([
  ['ws', { carriers: ['ws'] }, /^\/ip4\/127\.0\.0\.1\/tcp\/\d+\/ws\/p2p\/12D3/],
  [
    'wss with a name',
    { carriers: ['wss'], secure: secure(['node.example']) },
    /^\/ip4\/127\.0\.0\.1\/tcp\/\d+\/tls\/sni\/node\.example\/ws\/p2p\/12D3/,
  ],
  [
    'wss with any name of a domain',
    { carriers: ['wss'], secure: secure(['*.nodes.example']) },
    /\/tls\/sni\/127-0-0-1\.nodes\.example\/ws\/p2p\/12D3/,
  ],
  ['wss with an address', { carriers: ['wss'], secure: secure(['127.0.0.1']) }, /\/tls\/ws\/p2p\/12D3/],
] as const)(
  'two nodes introduce themselves over %s, and probe each other',
  async (_name, options, address) => {
    const given = { ...options, authority: authority.certificate } as Partial<HostOptions>;
    await using a = await libp2pNode(1, given);
    await using b = await libp2pNode(2, given);
    expect(b.host.underlays()).toEqual([expect.stringMatching(address)]);
    const peer = await a.host.connect(b.host.underlays(), never);
    expect(peer.remoteAddress).toBe(b.underlay.replace(/\/p2p\/.*/, ''));
    await expect.poll(() => b.host.peers().length).toBe(1);
    expect(b.host.peers()[0]?.remoteAddress).toMatch(/\/ws$/);
    expect(await b.host.probe(a.host.underlays(), never)).toBeGreaterThan(0);
  },
);

test('a node announces the addresses that it is given, once, with what the port takes', async () => {
  await using node = await libp2pNode(1, {
    carriers: ['tcp', 'ws', 'wss'],
    listen: '0.0.0.0:0',
    natAddress: 'node.example:1634',
    secure: { ...authority.issue(['*.nodes.example']), listen: '0.0.0.0:0', natAddress: '203.0.113.7:443' },
  });
  const plain = '/dns/node.example/tcp/1634';
  expect(node.host.underlays().map((underlay) => underlay.replace(/\/p2p\/.*/, ''))).toEqual([
    plain,
    `${plain}/ws`,
    '/ip4/203.0.113.7/tcp/443/tls/sni/203-0-113-7.nodes.example/ws',
  ]);
});

test('a node that listens at no address announces those that it is given', async () => {
  const there = await listening({ carriers: ['tcp', 'ws'] });
  await there.listener.close();
  expect(there.listener.addresses()).toEqual([]);
  const given = '/ip4/203.0.113.7/tcp/1634';
  expect(there.listener.addresses(given)).toEqual([given, `${given}/ws`]);
});

test('a certificate is refused that has another name, or an authority that nobody has named', async () => {
  const other = createAuthority('another authority');
  await using named = await libp2pNode(1, {
    carriers: ['wss'],
    secure: secure(['node.example']),
  } as Partial<HostOptions>);
  await using foreign = await libp2pNode(2, {
    carriers: ['wss'],
    secure: secure(['node.example'], other),
  } as Partial<HostOptions>);
  const trusting = { carriers: ['wss'], secure: secure(['me.example']), authority: authority.certificate };
  await using dialler = await libp2pNode(3, trusting as Partial<HostOptions>);
  const elsewhere = named.underlay.replace('node.example', 'other.example');
  await expect(dialler.host.connect([elsewhere], never)).rejects.toThrow(
    /cannot dial .*TLS with other\.example: .*does not match certificate's altnames/,
  );
  await expect(dialler.host.connect([foreign.underlay], never)).rejects.toThrow(
    /TLS with node\.example: unable to verify the first certificate/,
  );
  const bare = named.underlay.replace('/sni/node.example', '');
  await expect(dialler.host.connect([bare], never)).rejects.toThrow(/TLS with 127\.0\.0\.1: .*altnames/);
  expect((await dialler.host.connect([named.underlay], never)).remoteAddress).toContain(
    '/tls/sni/node.example/ws',
  );
});

test('a node that has WebSockets alone refuses plain TCP by name, and a taken port too', async () => {
  await using plain = await libp2pNode(1);
  await using webSockets = await libp2pNode(2, { carriers: ['ws'] });
  await expect(webSockets.host.connect([plain.underlay], never)).rejects.toThrow(
    'expected a public or allowed private /ip4/…/tcp/PORT/ws/p2p/PEER',
  );
  await expect(plain.host.connect([webSockets.underlay.replace('/ws', '')], never)).rejects.toThrow();
  await expect(libp2pNode(3, { carriers: ['ws'], listen: `127.0.0.1:${webSockets.port}` })).rejects.toThrow(
    'address already in use',
  );
});

test('a certificate and a key that do not belong together are refused at the start', async () => {
  const { certificate } = authority.issue(['node.example']);
  const { key } = authority.issue(['node.example']);
  const options = { carriers: ['wss'], secure: { listen: '127.0.0.1:0', certificate, key } } as const;
  await expect(libp2pNode(1, options)).rejects.toThrow(/cannot listen on .*\/tls\/ws: .*key values mismatch/);
});
