/** An endpoint that fails on purpose. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Gate, startGate } from '../../../chain/gate.ts';
import { listen } from '../../../chain/listen.ts';

let endpoint: Server;
let gate: Gate;
let seen: string[] = [];

beforeEach(async () => {
  seen = [];
  endpoint = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const body = Buffer.concat(parts).toString('utf8');
      seen.push(body);
      response.end(`echo ${body}`);
    });
  });
  const port = await listen(endpoint, { host: '127.0.0.1', port: 0 });
  gate = await startGate(`http://127.0.0.1:${port}`, { host: '127.0.0.1', port: 0 });
});
afterEach(async () => {
  await gate.close();
  endpoint.closeAllConnections();
  endpoint.close();
});

async function ask(client: string, body = '{"id":7}'): Promise<string> {
  const answer = await fetch(`${gate.url}/${client}`, { method: 'POST', body });
  return answer.text();
}

test('without a fault everything passes and is counted per client', async () => {
  expect(await ask('node-0', '{"id":1}')).toBe('echo {"id":1}');
  expect(await ask('node-1')).toBe('echo {"id":7}');
  expect(await ask('node-1')).toBe('echo {"id":7}');
  expect(gate.counts).toEqual({
    'node-0': { requests: 1, met: 0, byKind: {} },
    'node-1': { requests: 2, met: 0, byKind: {} },
  });
});

test('an endpoint that is down for one client serves the others, and comes back', async () => {
  gate.setFault('f1', { client: 'node-0', fault: { kind: 'down' } });
  await expect(ask('node-0')).rejects.toThrow();
  expect(await ask('node-1')).toBe('echo {"id":7}');
  expect(gate.counts).toMatchObject({ 'node-0': { met: 1 }, 'node-1': { met: 0 } });
  gate.setFault('f1', undefined);
  expect(await ask('node-0')).toBe('echo {"id":7}');
});

test('faults of one client add up, and each counts the calls it has affected', async () => {
  gate.setFault('f1', { client: undefined, fault: { kind: 'slow', ms: 1 } });
  gate.setFault('f2', { client: 'node-0', fault: { kind: 'error', percent: 50 } });
  gate.setFault('f3', { client: 'node-0', fault: { kind: 'error', percent: 50 } });
  await ask('node-1');
  for (let i = 0; i < 8; i++) await ask('node-0');
  // Half of the calls, and half of the rest.
  expect(gate.met).toEqual({ f1: 9, f2: 4, f3: 2 });
  expect(gate.counts['node-0']).toEqual({ requests: 8, met: 8, byKind: { slow: 8, error: 6 } });
  gate.setFault('f1', undefined);
  gate.setFault('f2', undefined);
  for (let i = 0; i < 2; i++) await ask('node-0');
  expect(gate.met).toEqual({ f1: 9, f2: 4, f3: 3 });
});

test('a delayed answer comes as soon as its fault ends, and an ended fault does nothing more to it', async () => {
  gate.setFault('f1', { client: 'node-0', fault: { kind: 'slow', ms: 600_000 } });
  gate.setFault('f2', { client: 'node-0', fault: { kind: 'error', percent: 100 } });
  const answer = ask('node-0');
  await vi.waitFor(() => expect(gate.met).toMatchObject({ f1: 1 }), { timeout: 10_000 });
  gate.setFault('f2', undefined);
  gate.setFault('f1', { client: 'node-0', fault: { kind: 'slow', ms: 1 } });
  expect(await answer).toBe('echo {"id":7}');
});

test('a delayed call whose client has left does not reach the endpoint when its fault ends', async () => {
  gate.setFault('f1', { client: 'node-0', fault: { kind: 'slow', ms: 600_000 } });
  const left = Promise.withResolvers<void>();
  const onRequest = (message: unknown) => {
    const { request } = message as { request: IncomingMessage };
    if (request.url === '/node-0') request.socket.once('close', left.resolve);
  };
  subscribe('http.server.request.start', onRequest);
  const client = new AbortController();
  const options = { method: 'POST', body: '{"id":1}', signal: client.signal };
  const answer = fetch(`${gate.url}/node-0`, options).catch((error: unknown) => error);
  await vi.waitFor(() => expect(gate.met).toEqual({ f1: 1 }), { timeout: 10_000 });
  unsubscribe('http.server.request.start', onRequest);
  client.abort();
  await left.promise;
  expect(await answer).toMatchObject({ name: 'AbortError' });
  gate.setFault('f1', undefined);
  expect(await ask('node-0', '{"id":2}')).toBe('echo {"id":2}');
  expect(seen).toEqual(['{"id":2}']);
});

test('refusals name the call and follow their rate, and these calls do not reach the endpoint', async () => {
  gate.setFault('f1', { client: 'node-0', fault: { kind: 'error', percent: 25 } });
  const answers: string[] = [];
  for (let i = 0; i < 8; i++) answers.push(await ask('node-0'));
  const refused = answers.filter((answer) => !answer.startsWith('echo'));
  expect(refused).toHaveLength(2);
  const error = { code: -32_005, message: 'refused on purpose' };
  expect(JSON.parse(refused[0] ?? '')).toEqual({ jsonrpc: '2.0', id: 7, error });
  expect(seen).toHaveLength(6);
  expect(gate.counts['node-0']).toEqual({ requests: 8, met: 2, byKind: { error: 2 } });
  gate.setFault('f1', { client: 'node-0', fault: { kind: 'error', percent: 100 } });
  expect(JSON.parse(await ask('node-0', '[{"id":1},{"id":2}]'))).toMatchObject([{ id: 1 }, { id: 2 }]);
});

test('slow answers arrive late and complete', async () => {
  gate.setFault('f1', { client: 'node-0', fault: { kind: 'slow', ms: 150 } });
  const startedAt = performance.now();
  expect(await ask('node-0')).toBe('echo {"id":7}');
  // A timer may fire a millisecond early.
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(148);
  expect(gate.counts['node-0']).toEqual({ requests: 1, met: 1, byKind: { slow: 1 } });
});

test('an endpoint that is down breaks the connection', async () => {
  endpoint.closeAllConnections();
  await new Promise((resolve) => endpoint.close(resolve));
  await expect(ask('node-0')).rejects.toThrow();
});
