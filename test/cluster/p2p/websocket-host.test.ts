import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { type Authority, createAuthority } from '../../../harness/base/machine/certificates.ts';
import type { HostOptions } from '../../../node/p2p/host-options.ts';
import type { TcpConnection, TcpListener } from '../../../node/p2p/tcp-host.ts';
import { createSockets, type SocketOptions } from '../../../node/p2p/websocket-host.ts';
import { libp2pNode } from './libp2p-nodes.ts';

const never = new AbortController().signal;
const authority = createAuthority('authority of this test');

function secure(names: readonly string[], issuer: Authority = authority): HostOptions['secure'] {
  return { ...issuer.issue(names), listen: '127.0.0.1:0' };
}

interface Listening extends AsyncDisposable {
  readonly listener: TcpListener;
  readonly port: number;
  readonly arrived: TcpConnection[];
}

async function listening(options: SocketOptions, address = '/ip4/127.0.0.1/tcp/0'): Promise<Listening> {
  const arrived: TcpConnection[] = [];
  const listener = await createSockets(options).listen(address, {
    accepted: (connection) => arrived.push(connection),
    failed: (error) => {
      throw error;
    },
  });
  const port = Number(/\/tcp\/(\d+)/.exec(listener.addresses()[0] ?? '')?.[1]);
  return { listener, port, arrived, [Symbol.asyncDispose]: () => listener.close() };
}

async function read({ raw }: TcpConnection, size: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for (let left = size; left > 0; left -= parts.at(-1)?.length ?? 0) {
    const bytes = raw.take() ?? (await raw.read());
    if (bytes === undefined) break;
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}

/** What the port answers to these bytes until it ends. */
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
    expect((await read(back, data.length)).equals(data)).toBe(true);
    back.raw.write(Buffer.from('answer'));
    expect((await read(out, 6)).toString()).toBe('answer');
    back.pause();
    out.raw.write(Buffer.from('later'));
    back.resume();
    expect((await read(back, 5)).toString()).toBe('later');
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

test.each([
  ['a text message', (socket: WebSocket) => socket.send('text'), 1006],
  ['a message above the limit', (socket: WebSocket) => socket.send(Buffer.alloc(2_000_000)), 1009],
])('%s ends the connection', async (_what, send, code) => {
  await using there = await listening({ carriers: ['ws'] });
  const socket = new WebSocket(`ws://127.0.0.1:${there.port}/`, { origin: 'https://page.example' });
  await once(socket, 'open');
  const connection = there.arrived[0] as TcpConnection;
  const ended = new Promise<Error | undefined>((resolve) => connection.onClosed(resolve));
  const closed = new Promise<number>((resolve) => socket.on('close', resolve).on('error', () => undefined));
  send(socket);
  expect(await ended).toBeInstanceOf(Error);
  expect([code, 1006]).toContain(await closed);
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
