/** An endpoint that fails on purpose. */
import { createServer, type Server } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
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

test('without a fault everything passes, and is counted for each client', async () => {
  expect(await ask('node-0', '{"id":1}')).toBe('echo {"id":1}');
  expect(await ask('node-1')).toBe('echo {"id":7}');
  expect(await ask('node-1')).toBe('echo {"id":7}');
  expect(gate.counts).toEqual({ 'node-0': { requests: 1, met: 0 }, 'node-1': { requests: 2, met: 0 } });
});

test('an endpoint that is down for one client serves the others, and comes back', async () => {
  gate.setFault('node-0', { kind: 'down' });
  await expect(ask('node-0')).rejects.toThrow();
  expect(await ask('node-1')).toBe('echo {"id":7}');
  expect(gate.counts).toMatchObject({ 'node-0': { met: 1 }, 'node-1': { met: 0 } });
  gate.setFault('node-0', undefined);
  expect(await ask('node-0')).toBe('echo {"id":7}');
});

test('a fault of everybody is not for a client that has one of his own', async () => {
  gate.setFault(undefined, { kind: 'down' });
  gate.setFault('node-0', { kind: 'slow', ms: 1 });
  await expect(ask('node-1')).rejects.toThrow();
  expect(await ask('node-0')).toBe('echo {"id":7}');
});

test('refusals name the call and come at their rate, and the endpoint does not see these calls', async () => {
  gate.setFault('node-0', { kind: 'error', percent: 25 });
  const answers: string[] = [];
  for (let i = 0; i < 8; i++) answers.push(await ask('node-0'));
  const refused = answers.filter((answer) => !answer.startsWith('echo'));
  expect(refused).toHaveLength(2);
  const error = { code: -32_005, message: 'refused on purpose' };
  expect(JSON.parse(refused[0] ?? '')).toEqual({ jsonrpc: '2.0', id: 7, error });
  expect(seen).toHaveLength(6);
  expect(gate.counts['node-0']).toEqual({ requests: 8, met: 2 });
  gate.setFault('node-0', { kind: 'error', percent: 100 });
  expect(JSON.parse(await ask('node-0', '[{"id":1},{"id":2}]'))).toMatchObject([{ id: 1 }, { id: 2 }]);
});

test('slow answers come late, and complete', async () => {
  gate.setFault('node-0', { kind: 'slow', ms: 150 });
  const startedAt = performance.now();
  expect(await ask('node-0')).toBe('echo {"id":7}');
  // A timer may fire a millisecond early.
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(148);
  expect(gate.counts['node-0']).toEqual({ requests: 1, met: 1 });
});

test('an endpoint that is gone breaks the connection', async () => {
  endpoint.closeAllConnections();
  await new Promise((resolve) => endpoint.close(resolve));
  await expect(ask('node-0')).rejects.toThrow();
});
