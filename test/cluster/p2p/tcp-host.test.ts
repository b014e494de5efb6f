import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createTcp, type TcpConnection, type TcpListener } from '../../../node/p2p/tcp-host.ts';
import { readBytes } from './read-bytes.ts';

const tcp = createTcp();

const never = new AbortController().signal;

interface Listening extends AsyncDisposable {
  readonly listener: TcpListener;
  readonly underlay: string;
  next(): Promise<TcpConnection>;
}

async function listening(address = '/ip4/127.0.0.1/tcp/0'): Promise<Listening> {
  const arrived: TcpConnection[] = [];
  let wake = () => {};
  const listener = await tcp.listen(address, {
    accepted(connection) {
      arrived.push(connection);
      wake();
    },
    failed: (error) => {
      throw error;
    },
  });
  return {
    listener,
    underlay: listener.addresses()[0] as string,
    async next() {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      if (arrived.length === 0) await promise;
      return arrived.shift() as TcpConnection;
    },
    [Symbol.asyncDispose]: () => listener.close(),
  };
}

const closedBy = (connection: TcpConnection) =>
  new Promise<Error | undefined>((resolve) => connection.onClosed(resolve));

async function silent(): Promise<{ server: Server; underlay: string; socket: Promise<Socket> }> {
  const server = createServer({ pauseOnConnect: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const socket = once(server, 'connection').then(([accepted]) =>
    // The other end may reset it.
    (accepted as Socket).on('error', () => undefined),
  );
  return { server, underlay: `/ip4/127.0.0.1/tcp/${port}`, socket };
}

test('both ends know the address of the other, and bytes go both ways', async () => {
  await using there = await listening();
  const out = await tcp.dial(`${there.underlay}/p2p/12D3KooW`, never);
  const back = await there.next();
  expect(out.remoteAddress).toBe(there.underlay);
  expect(back.remoteAddress).toMatch(/^\/ip4\/127\.0\.0\.1\/tcp\/\d+$/);
  out.corked(() => {
    out.raw.write(Buffer.from('one'));
    out.raw.write(Buffer.from(' two'));
  });
  expect((await readBytes(back, 7)).toString()).toBe('one two');
  back.raw.write(Buffer.from('three'));
  expect((await readBytes(out, 5)).toString()).toBe('three');
});

test('written data is sent before the connection closes, and the other end reads its end', async () => {
  await using there = await listening();
  const out = await tcp.dial(there.underlay, never);
  const back = await there.next();
  const data = Buffer.alloc(3_000_000, 'x');
  const received = readBytes(back, data.length);
  out.raw.write(data);
  await out.close(never);
  expect((await received).equals(data)).toBe(true);
  expect(await back.raw.read()).toBeUndefined();
  expect(await closedBy(back)).toBeUndefined();
  expect(await closedBy(out)).toBeUndefined();
  expect(() => out.raw.write(data)).toThrow('the connection is closed');
  await out.close(never);
});

test('a writer is told to wait for a reader that does not read, and to continue later', async () => {
  const { server, underlay, socket } = await silent();
  const out = await tcp.dial(underlay, never);
  const accepted = await socket;
  expect(out.isFull()).toBe(false);
  expect(out.raw.drained()).toBeUndefined();
  while (!out.isFull()) out.raw.write(Buffer.alloc(1_000_000));
  const drained = new Promise<void>((resolve) => out.onDrain(resolve));
  const waiting = out.raw.drained();
  accepted.resume();
  await drained;
  await waiting;
  expect(out.isFull()).toBe(false);
  out.abort(new Error('over'));
  server.close();
});

test('a close that cannot send what is queued ends at its deadline', async () => {
  const { server, underlay, socket } = await silent();
  const out = await tcp.dial(underlay, never);
  const accepted = await socket;
  while (!out.isFull()) out.raw.write(Buffer.alloc(1_000_000));
  const deadline = new AbortController();
  const closing = out.close(deadline.signal);
  deadline.abort();
  await expect(closing).rejects.toThrow();
  const waiting = out.raw.drained();
  out.abort(new Error('too slow'));
  await waiting;
  expect((await closedBy(out))?.message).toBe('too slow');
  accepted.destroy();
  server.close();
});

test('an aborted connection is reset: readers on both ends are notified', async () => {
  await using there = await listening();
  const out = await tcp.dial(there.underlay, never);
  const back = await there.next();
  const reading = back.raw.read();
  out.abort(new Error('enough'));
  await expect(out.raw.read()).rejects.toThrow('enough');
  await expect(reading).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(await closedBy(back)).toMatchObject({ code: 'ECONNRESET' });
});

test('a refused dial says where, and keeps the code of the system', async () => {
  const { server, underlay } = await silent();
  server.close();
  await once(server, 'close');
  const port = underlay.split('/').at(-1);
  await expect(tcp.dial(underlay, never)).rejects.toMatchObject({
    message: expect.stringContaining(`connection error 127.0.0.1:${port}: `),
    code: 'ECONNREFUSED',
  });
});

test('a dial ends with its signal, before and while it connects', async () => {
  const { server, underlay } = await silent();
  const reason = new Error('no longer wanted');
  await expect(tcp.dial(underlay, AbortSignal.abort(reason))).rejects.toBe(reason);
  const ending = new AbortController();
  const dialling = tcp.dial(underlay, ending.signal);
  ending.abort(reason);
  await expect(dialling).rejects.toBe(reason);
  server.close();
});

test.each(['/ip4/127.0.0.1/udp/1/quic-v1', '/unix/%2Ftmp%2Fx', 'nonsense'])(
  '%s cannot be dialled',
  async (underlay) => {
    await expect(tcp.dial(underlay, never)).rejects.toMatchObject({ code: 'UNDERLAY_INVALID' });
  },
);

test('a name is resolved, and kept as dialled', async () => {
  await using there = await listening();
  const port = there.underlay.split('/').at(-1);
  const out = await tcp.dial(`/dns4/localhost/tcp/${port}`, never);
  expect(out.remoteAddress).toBe(`/dns4/localhost/tcp/${port}`);
});

test('a taken port is an error of the system', async () => {
  await using there = await listening();
  await expect(listening(there.underlay)).rejects.toMatchObject({ code: 'EADDRINUSE' });
});

test('a listener on all interfaces is expanded to their addresses', async () => {
  await using there = await listening('/ip4/0.0.0.0/tcp/0');
  const addresses = there.listener.addresses();
  expect(addresses).toContain(`/ip4/127.0.0.1/tcp/${there.underlay.split('/').at(-1)}`);
  expect(addresses.join()).not.toContain('0.0.0.0');
});

test('a closed listener has closed what it accepted, and has no address', async () => {
  const there = await listening();
  const socket = connect(Number(there.underlay.split('/').at(-1)), '127.0.0.1');
  const back = await there.next();
  const ended = once(socket, 'close');
  socket.on('error', () => undefined).resume();
  await there.listener.close();
  await ended;
  expect(await closedBy(back)).toBeUndefined();
  expect(there.listener.addresses()).toEqual([]);
});

test.each([
  ['169.254.169.254', 4],
  ['0.0.0.0', 4],
  ['fe80::1', 6],
  ['::ffff:169.254.169.254', 6],
] as const)('a name that leads to %s is not dialled', async (address, family) => {
  const asked: string[] = [];
  const named = createTcp(undefined, (name, _options, callback) => {
    asked.push(name);
    callback(null, [{ address, family }]);
  });
  const dialled = named.dial('/dns/metadata.example/tcp/80', never);
  await expect(dialled).rejects.toThrow(
    'connection error metadata.example:80: no peer can be at metadata.example',
  );
  expect(asked).toEqual(['metadata.example']);
});

test('of a name with several addresses only those valid for a peer are dialled', async () => {
  await using there = await listening();
  const port = there.underlay.split('/')[4];
  const named = createTcp(undefined, (_name, _options, callback) =>
    callback(null, [
      { address: '169.254.169.254', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ]),
  );
  for (const kind of ['dns', 'dns4']) {
    const connection = await named.dial(`/${kind}/node.example/tcp/${port}`, never);
    expect((await there.next()).remoteAddress).toContain('/ip4/127.0.0.1/');
    connection.abort(new Error('done'));
  }
});
