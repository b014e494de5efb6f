import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { socketAgent } from '../../../harness/base/direct.ts';
import { streamChunks } from '../../../harness/client/chunk-stream.ts';
import { NodeTransport } from '../../../harness/conformance/http/transport.ts';

const PROBLEM = '{"code":404,"message":"batch with id not found","reasons":["batch: unknown"]}';
const ENDLESS = 'x'.repeat(200_000);
/** What is on the wire before the connection ends. */
const REFUSALS = {
  '/problem': `HTTP/1.1 404 Not Found\r\nX-Node: a\r\nContent-Length: ${PROBLEM.length}\r\n\r\n${PROBLEM}`,
  '/long': `HTTP/1.1 403 Forbidden\r\nContent-Length: ${ENDLESS.length}\r\n\r\n${ENDLESS}`,
  '/cut': 'HTTP/1.1 500 Internal Server Error\r\nContent-Length: 100\r\n\r\npart',
} as const;

let server: Server;
let base: string;
beforeAll(async () => {
  server = createServer();
  server.on('upgrade', ({ url = '' }, socket) => {
    // A client may end the connection as soon as it has read enough.
    socket.on('error', () => undefined);
    const [place] = /^\/\w+/.exec(url) ?? [];
    socket.end(REFUSALS[place as keyof typeof REFUSALS]);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
});

const { signal } = new AbortController();
const stream = (place: keyof typeof REFUSALS) =>
  streamChunks({ base: base + place, node: 'node-0', headers: {}, agent: socketAgent(base, {}), signal }, []);

test('a stream of chunks that is refused fails with the status, the message and the reasons', async () => {
  await expect(stream('/problem')).rejects.toMatchObject({
    class: 'stamp.unknown',
    status: 404,
    reasons: ['batch: unknown'],
    message: expect.stringContaining('batch with id not found'),
  });
});

test('of a long refusal only the beginning is read', async () => {
  const error = await stream('/long').catch((failure: Error) => failure);
  expect(error).toMatchObject({ class: 'http.403', status: 403 });
  expect(String(error).length).toBeLessThan(1000);
});

test('a refusal that is cut off is an error of the connection', async () => {
  await expect(stream('/cut')).rejects.toMatchObject({ class: expect.stringMatching(/^client\./) });
});

test('the conformance check gets a refusal as an answer, and an error for one that is cut off', async () => {
  const transport = new NodeTransport({ main: base }, undefined);
  const converse = (path: string) => transport.converse({ path, expected: 1 }, signal);
  const { refused, received } = await converse('/problem');
  expect(refused).toMatchObject({ status: 404, headers: { 'x-node': 'a' } });
  expect(Buffer.from(refused?.body ?? []).toString()).toBe(PROBLEM);
  expect(received).toEqual([]);
  expect((await converse('/long')).refused?.body.length).toBe(ENDLESS.length);
  await expect(converse('/cut')).rejects.toThrow(/aborted|terminated|closed|hang up|reset/);
  await transport.close();
});
