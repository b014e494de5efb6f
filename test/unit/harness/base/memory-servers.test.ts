import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { request } from 'undici';
import { afterEach, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { connectionsTo, directDispatcher, socketAgent } from '../../../../harness/base/direct.ts';
import { memoryHost, serveInMemory } from '../../../../harness/base/memory-servers.ts';

const HOST = memoryHost('node-0', 'net');
const URL_OF_IT = `http://${HOST}:1633`;
const serving: Disposable[] = [];
afterEach(() => {
  for (const one of serving.splice(0)) one[Symbol.dispose]();
});

function serve(server: Server): Disposable {
  const served = serveInMemory(server, HOST, 1633);
  serving.push(served);
  return served;
}

const dispatcher = directDispatcher;

test('a request has its method, path, headers and body, and the answer its status, headers and body', async () => {
  serve(
    createServer((incoming, outgoing) => {
      const answer = async () => {
        const body = await text(incoming);
        outgoing.writeHead(201, { 'x-seen': String(incoming.headers['x-given']) });
        outgoing.end(`${incoming.method} ${incoming.url} ${body}`);
      };
      void answer();
    }),
  );
  const body = Readable.from(['one ', 'two']);
  const answer = await request(`${URL_OF_IT}/a?b=c`, {
    method: 'POST',
    headers: { 'x-given': '7' },
    body,
    dispatcher,
  });
  expect([answer.statusCode, answer.headers['x-seen'], await answer.body.text()]).toEqual([
    201,
    '7',
    'POST /a?b=c one two',
  ]);
});

test('a long answer waits for its reader, and arrives whole', async () => {
  const part = Buffer.alloc(65_536, 7);
  let written = 0;
  serve(
    createServer((_, outgoing) => {
      const write = (): void => {
        while (written < 256) if (!outgoing.write(part, () => undefined) && ++written) return;
        outgoing.end();
      };
      outgoing.on('drain', write);
      write();
    }),
  );
  const { body } = await request(URL_OF_IT, { dispatcher });
  for (let n = 0; n < 100; n++) await turn();
  expect(written).toBeLessThan(20);
  let length = 0;
  for await (const piece of body as AsyncIterable<Uint8Array>) length += piece.length;
  expect(length).toBe(256 * part.length);
});

test('what was written stays what it was, though its sender uses the memory again', async () => {
  const memory = Buffer.alloc(1000);
  serve(
    createServer((_, outgoing) => {
      const write = (n: number): void => {
        if (n === 50) outgoing.end();
        else outgoing.write(memory.fill(n), () => write(n + 1));
      };
      write(0);
    }),
  );
  const { body } = await request(URL_OF_IT, { dispatcher });
  const got = Buffer.from(await body.arrayBuffer());
  expect([...new Set(got)]).toEqual(Array.from({ length: 50 }, (_, n) => n));
});

test('a client that leaves is noticed by the server', async () => {
  const left = Promise.withResolvers<void>();
  serve(
    createServer((_, outgoing) => {
      outgoing.once('close', left.resolve);
      outgoing.write('beginning');
    }),
  );
  const { body } = await request(URL_OF_IT, { dispatcher });
  body.on('error', () => undefined);
  body.destroy();
  await left.promise;
});

test('a server that goes cuts the answers that are under way, and refuses from then on', async () => {
  const served = serve(createServer((_, outgoing) => void outgoing.write('beginning')));
  const { body } = await request(URL_OF_IT, { dispatcher });
  served[Symbol.dispose]();
  await expect(body.text()).rejects.toThrow();
  await expect(request(URL_OF_IT, { dispatcher })).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('an address is given once, and again when it is free', () => {
  const served = serve(createServer());
  expect(() => serve(createServer())).toThrow(expect.objectContaining({ code: 'EADDRINUSE' }));
  served[Symbol.dispose]();
  serve(createServer());
});

test('connections of one origin serve one request each', async () => {
  const server = createServer((_, outgoing) => void outgoing.end('x'));
  let connections = 0;
  server.on('connection', () => connections++);
  serve(server);
  const pool = connectionsTo(URL_OF_IT, {}, { connect: { timeout: 5000 }, connections: 4 });
  for (let n = 0; n < 3; n++) {
    const { body } = await pool.request({ path: '/', method: 'GET' });
    expect(await body.text()).toBe('x');
  }
  expect(connections).toBe(3);
  await pool.destroy();
});

test('WebSockets open, carry messages both ways and close with their code', async () => {
  const server = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (incoming, socket, head) => {
    sockets.handleUpgrade(incoming, socket, head, (websocket) => {
      websocket.on('message', (message: Buffer) => {
        websocket.send(`got ${message.toString('utf8')}`);
        websocket.close(4001, 'enough');
      });
    });
  });
  serve(server);
  const websocket = new WebSocket(`ws://${HOST}:1633/x`, { agent: socketAgent(URL_OF_IT, {}) });
  await once(websocket, 'open');
  const closed = once(websocket, 'close');
  websocket.send('hello');
  const [message] = await once(websocket, 'message');
  expect(String(message)).toBe('got hello');
  const [code, reason] = await closed;
  expect([code, String(reason)]).toEqual([4001, 'enough']);
});

test('an agent of node:http is told that nobody is there', async () => {
  const websocket = new WebSocket(`ws://${HOST}:1633/x`, { agent: socketAgent(URL_OF_IT, {}) });
  const [error] = await once(websocket, 'error');
  expect(error).toMatchObject({ code: 'ECONNREFUSED' });
});
