import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { request } from 'undici';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createAdmission } from '../../../chain/admission.ts';
import type { GateFault } from '../../../chain/gate/faults.ts';
import { type Gate, startGate } from '../../../chain/gate/gate.ts';
import { systemClock } from '../../../formats/clock.ts';

const TOKEN = 'a-token-of-a-chain';
const PAGE = 'http://localhost:3000';
let gate: Gate;
let seen: string[] = [];
let isDown = false;

/** Of each answer, besides what was asked. */
let padding = '';

/** While it answers. */
let answering: (left: AbortSignal) => Promise<void>;

/** Answers with what it was asked. */
async function chain(text: string, left: AbortSignal): Promise<string> {
  if (isDown) throw new Error('the chain has ended');
  seen.push(text);
  await answering(left);
  return `echo ${padding}${text}`;
}

const call = (id: number, method = 'eth_chainId') => JSON.stringify({ jsonrpc: '2.0', id, method });

beforeEach(async () => {
  seen = [];
  padding = '';
  isDown = false;
  answering = () => Promise.resolve();
  const admission = createAdmission({ token: TOKEN, allowedHosts: ['chain'], origins: [PAGE] });
  gate = await startGate({ ask: chain }, { host: '127.0.0.1', port: 0, admission, clock: systemClock() });
});
afterEach(() => gate.close());

async function ask(client: string, body = call(7)): Promise<string> {
  const answer = await fetch(`${gate.url}/${client}`, { method: 'POST', body });
  return answer.text();
}

test('without a fault everything passes and is counted per client', async () => {
  expect(await ask('node-0', call(1))).toBe(`echo ${call(1)}`);
  expect(await ask('node-1')).toBe(`echo ${call(7)}`);
  expect(await ask('node-1')).toBe(`echo ${call(7)}`);
  expect(Object.fromEntries(gate.counts)).toEqual({
    'node-0': { requests: 1, met: 0, byKind: {} },
    'node-1': { requests: 2, met: 0, byKind: {} },
  });
});

test('code that is in no transaction gets a block of gas without the token, whatever it asks for', async () => {
  const calls = [
    ['eth_call', [{ data: '0x5b600056', gas: '0xffffffffffff' }, 'latest', null, { gasLimit: 10 ** 15 }]],
    [
      'eth_simulateV1',
      [{ blockStateCalls: [{ blockOverrides: { gasLimit: '0xfffffffff' }, calls: [{ gas: '0x5208' }] }] }],
    ],
    ['eth_sendRawTransaction', ['0x00']],
  ].map(([method, params], id) => ({ jsonrpc: '2.0', id, method, params }));
  const answered = await ask('', JSON.stringify(calls));
  const [first, second, third] = JSON.parse(answered.replaceAll('echo ', '')) as { params: unknown }[];
  expect(first?.params).toEqual([
    { data: '0x5b600056', gas: '0x1c9c380' },
    'latest',
    null,
    { gasLimit: '0x1c9c380' },
  ]);
  expect(second?.params).toEqual([
    { blockStateCalls: [{ blockOverrides: { gasLimit: '0x1c9c380' }, calls: [{ gas: '0x5208' }] }] },
  ]);
  expect(third?.params).toEqual(['0x00']);
  const headers = { authorization: `Bearer ${TOKEN}` };
  const withToken = await fetch(gate.url, { method: 'POST', headers, body: JSON.stringify(calls[0]) });
  expect(await withToken.text()).toContain('0xffffffffffff');
});

test('a request of more than a hundred calls whose answers may be large is refused without the token', async () => {
  const logs = (count: number, method = 'eth_getLogs', params: readonly unknown[] = [{}]) =>
    JSON.stringify(Array.from({ length: count }, (_, id) => ({ jsonrpc: '2.0', id, method, params })));
  expect(await ask('', logs(100))).toContain('echo');
  expect(await ask('', logs(101))).toContain('a request of 101 calls of eth_getLogs, expected at most 100');
  expect(await ask('', logs(101, 'eth_getBlockReceipts'))).toContain('expected at most 100');
  for (const method of ['eth_getBlockByHash', 'eth_getBlockByNumber']) {
    expect(await ask('', logs(101, method, ['0x1', true]))).toContain('expected at most 100');
    expect(await ask('', logs(101, method, ['0x1', false]))).toContain('echo');
  }
  const headers = { authorization: `Bearer ${TOKEN}` };
  const withToken = await fetch(gate.url, { method: 'POST', headers, body: logs(101) });
  expect(await withToken.text()).toContain('echo');
});

test('calls that are simulated together share the gas of a block, without the token', async () => {
  const simulation = (calls: readonly object[], ...more: readonly object[]) =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'eth_simulateV1',
      params: [{ blockStateCalls: [{ calls }, ...more], validation: true }, 'latest'],
    });
  const given = simulation([{ to: '0xaa' }, { gas: '0x5208' }], { calls: [{ gas: '0x1c9c380' }] });
  const share = '0x989680';
  const shared = simulation([{ to: '0xaa', gas: share }, { gas: '0x5208' }], { calls: [{ gas: share }] });
  expect(await ask('', given)).toBe(`echo ${shared}`);
  const headers = { authorization: `Bearer ${TOKEN}` };
  const withToken = await fetch(gate.url, { method: 'POST', headers, body: given });
  expect(await withToken.text()).toBe(`echo ${given}`);
  const tooMany = simulation(Array.from({ length: 101 }, () => ({})));
  expect(await ask('', tooMany)).toContain('a request of 101 calls of eth_simulateV1, expected at most 100');
});

test('the answers to a batch are bounded without the token: calls beyond 25 MB are not run', async () => {
  padding = '"'.padEnd(8_000_000, 'f');
  const calls = (count: number) =>
    `[${Array.from({ length: count }, (_, id) => call(id, 'eth_call')).join()}]`;
  expect(await ask('', calls(4))).not.toContain('not run');
  expect(seen).toHaveLength(4);
  const answered = await ask('', calls(100));
  expect(seen).toHaveLength(8);
  const refused = answered.split(',{"jsonrpc":"2.0","id":').slice(1);
  expect(refused.map((text) => Number.parseInt(text, 10))).toEqual(
    Array.from({ length: 96 }, (_, at) => at + 4),
  );
  expect(refused[0]).toMatch(
    /^4,"error":\{"code":-32003,"message":"not run: the answers before it in its batch have 320\d{5} bytes, expected at most 25000000"\}\}$/,
  );
  const headers = { authorization: `Bearer ${TOKEN}` };
  const withToken = await fetch(gate.url, { method: 'POST', headers, body: calls(5) });
  expect(await withToken.text()).not.toContain('not run');
});

test('the calls of a batch whose client has left are not run', async () => {
  const leaving = new AbortController();
  answering = (left) => {
    answering = () => Promise.resolve();
    leaving.abort();
    return new Promise((resolve) => left.addEventListener('abort', () => resolve(), { once: true }));
  };
  const body = `[${[1, 2, 3].map((id) => call(id)).join()}]`;
  await expect(fetch(gate.url, { method: 'POST', body, signal: leaving.signal })).rejects.toThrow('abort');
  await ask('', call(4));
  expect(seen).toEqual([call(1), call(4)]);
});

test('a request of more than a thousand calls is refused without the token', async () => {
  const many = (count: number) =>
    JSON.stringify(Array.from({ length: count }, (_, id) => JSON.parse(call(id)) as object));
  expect(await ask('', many(1000))).toContain('echo');
  expect(await ask('', many(1001))).toContain('a request of 1001 calls, expected at most 1000');
  const calls = Array.from({ length: 1001 }, () => ({}));
  const simulation = {
    jsonrpc: '2.0',
    id: 1,
    method: 'eth_simulateV1',
    params: [{ blockStateCalls: [{ calls }] }],
  };
  expect(await ask('', JSON.stringify(simulation))).toContain('a request of 1001 calls');
  for (const params of [undefined, {}, [null], [{ blockStateCalls: [null, {}] }]]) {
    expect(await ask('', JSON.stringify({ ...simulation, params }))).toContain('echo');
  }
});

test('a connection is kept for clients that are slow to ask again', async () => {
  const { headers } = await fetch(gate.url, { method: 'POST', body: call(1) });
  expect(headers.get('keep-alive')).toBe('timeout=30');
});

test('an endpoint that is down for one client serves the others, and comes back', async () => {
  gate.setFault('f1', { client: 'node-0', fault: { kind: 'down' } });
  await expect(ask('node-0')).rejects.toThrow();
  expect(await ask('node-1')).toBe(`echo ${call(7)}`);
  expect(Object.fromEntries(gate.counts)).toMatchObject({ 'node-0': { met: 1 }, 'node-1': { met: 0 } });
  gate.setFault('f1', undefined);
  expect(await ask('node-0')).toBe(`echo ${call(7)}`);
});

test('faults of one client add up, and each counts the calls it has affected', async () => {
  gate.setFault('f1', { client: undefined, fault: { kind: 'slow', ms: 1 } });
  gate.setFault('f2', { client: 'node-0', fault: { kind: 'error', percent: 50 } });
  gate.setFault('f3', { client: 'node-0', fault: { kind: 'error', percent: 50 } });
  await ask('node-1');
  for (let i = 0; i < 8; i++) await ask('node-0');
  expect(Object.fromEntries(gate.met)).toEqual({ f1: 9, f2: 4, f3: 2 });
  expect(gate.counts.get('node-0')).toEqual({ requests: 8, met: 8, byKind: { slow: 8, error: 6 } });
  gate.setFault('f1', undefined);
  gate.setFault('f2', undefined);
  for (let i = 0; i < 2; i++) await ask('node-0');
  expect(Object.fromEntries(gate.met)).toEqual({ f1: 9, f2: 4, f3: 3 });
});

test('a delayed answer comes as soon as its fault ends, and an ended fault does nothing more to it', async () => {
  gate.setFault('f1', { client: 'node-0', fault: { kind: 'slow', ms: 600_000 } });
  gate.setFault('f2', { client: 'node-0', fault: { kind: 'error', percent: 100 } });
  const answer = ask('node-0');
  await vi.waitFor(() => expect(Object.fromEntries(gate.met)).toMatchObject({ f1: 1 }), { timeout: 120_000 });
  gate.setFault('f2', undefined);
  gate.setFault('f1', { client: 'node-0', fault: { kind: 'slow', ms: 1 } });
  expect(await answer).toBe(`echo ${call(7)}`);
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
  const options = { method: 'POST', body: call(1), signal: client.signal };
  const answer = fetch(`${gate.url}/node-0`, options).catch((error: unknown) => error);
  await vi.waitFor(() => expect(Object.fromEntries(gate.met)).toEqual({ f1: 1 }), { timeout: 120_000 });
  unsubscribe('http.server.request.start', onRequest);
  client.abort();
  await left.promise;
  expect(await answer).toMatchObject({ name: 'AbortError' });
  gate.setFault('f1', undefined);
  expect(await ask('node-0', call(2))).toBe(`echo ${call(2)}`);
  expect(seen).toEqual([call(2)]);
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
  expect(gate.counts.get('node-0')).toEqual({ requests: 8, met: 2, byKind: { error: 2 } });
  gate.setFault('f1', { client: 'node-0', fault: { kind: 'error', percent: 100 } });
  expect(JSON.parse(await ask('node-0', `[${call(1)},${call(2)}]`))).toMatchObject([{ id: 1 }, { id: 2 }]);
});

test('slow answers arrive late and complete', async () => {
  gate.setFault('f1', { client: 'node-0', fault: { kind: 'slow', ms: 150 } });
  const startedAt = performance.now();
  expect(await ask('node-0')).toBe(`echo ${call(7)}`);
  // A timer may fire a millisecond early.
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(148);
  expect(gate.counts.get('node-0')).toEqual({ requests: 1, met: 1, byKind: { slow: 1 } });
});

test('an endpoint that is down breaks the connection', async () => {
  isDown = true;
  await expect(ask('node-0')).rejects.toThrow();
});

test('a name of JavaScript is a client like any other', async () => {
  gate.setFault('__proto__', { client: '__proto__', fault: { kind: 'error', percent: 100 } });
  expect(await ask('__proto__')).toContain('refused on purpose');
  expect(gate.counts.get('__proto__')).toEqual({ requests: 1, met: 1, byKind: { error: 1 } });
  expect([...gate.met]).toEqual([['__proto__', 1]]);
  expect(await ask('constructor')).toBe(`echo ${call(7)}`);
});

test('faults of all nodes leave those alone that have no name', async () => {
  gate.setFault('f1', { client: undefined, fault: { kind: 'down' } });
  await expect(ask('node-0')).rejects.toThrow();
  expect(await ask('')).toBe(`echo ${call(7)}`);
});

async function post(headers: Record<string, string>, body = call(7)): Promise<[number, string, unknown]> {
  const answer = await request(gate.url, { method: 'POST', headers, body });
  const text = await answer.body.text();
  const { error } = (text.startsWith('echo') ? {} : JSON.parse(text)) as { error?: { message: string } };
  return [answer.statusCode, error?.message ?? text, answer.headers['access-control-allow-origin']];
}

interface Situation {
  readonly fault?: GateFault['fault'];
  readonly body?: string;
  readonly host?: string;
  readonly chainDown?: true;
}

test.for<readonly [string, Situation]>([
  ['a call', {}],
  ['a batch', { body: `[${call(1)},${call(2)}]` }],
  ['what is not JSON', { body: '{' }],
  ['what is no call', { body: '[]' }],
  ['a call that needs the token', { body: call(1, 'evm_mine') }],
  ['a body that is too large', { body: `"${' '.repeat(2 ** 21)}"` }],
  ['a host name that is not allowed', { host: 'evil.example' }],
  ['an endpoint that is down', { fault: { kind: 'down' } }],
  ['an endpoint that refuses', { fault: { kind: 'error', percent: 50 } }],
  ['an endpoint that is slow', { fault: { kind: 'slow', ms: 5 } }],
  ['a chain that has ended', { chainDown: true }],
])(
  'code of this process is answered as over HTTP: %s',
  async ([, { fault, body, host, chainDown = false }]) => {
    isDown = chainDown;
    if (fault !== undefined) gate.setFault('f1', { client: undefined, fault });
    const headers = host === undefined ? {} : { host };
    const ways: Record<string, () => Promise<string>> = {
      'over-http': async () =>
        (
          await request(`${gate.url}/over-http`, { method: 'POST', headers, body: body ?? call(7) })
        ).body.text(),
      directly: () =>
        gate.ask(
          new URL(`http://${host ?? 'chain'}/directly`),
          body ?? call(7),
          new AbortController().signal,
        ),
    };
    const outcomes: unknown[] = [];
    for (const [client, way] of Object.entries(ways)) {
      seen = [];
      const told: string[] = [];
      for (let asked = 0; asked < 2; asked++) told.push(await way().catch(() => 'no answer'));
      outcomes.push({ told, seen, count: gate.counts.get(client) });
    }
    expect(outcomes[1]).toEqual(outcomes[0]);
  },
);

test('code of this process that leaves is told so at once, and asks nothing later', async () => {
  gate.setFault('f1', { client: 'node-0', fault: { kind: 'slow', ms: 600_000 } });
  const client = new AbortController();
  const answer = gate.ask(new URL('http://chain/node-0'), call(1), client.signal);
  await vi.waitFor(() => expect(Object.fromEntries(gate.met)).toEqual({ f1: 1 }), { timeout: 120_000 });
  client.abort(new Error('left'));
  await expect(answer).rejects.toThrow('left');
  gate.setFault('f1', undefined);
  expect(await ask('node-0', call(2))).toBe(`echo ${call(2)}`);
  expect(seen).toEqual([call(2)]);
});

test('code of this process that waits for an answer gets none when the gate closes', async () => {
  gate.setFault('f1', { client: 'node-0', fault: { kind: 'slow', ms: 600_000 } });
  const answer = gate.ask(new URL('http://chain/node-0'), call(1), new AbortController().signal);
  const cut = expect(answer).rejects.toMatchObject({ code: 'ECONNRESET' });
  await gate.close();
  await cut;
});

test('a page may call only from an origin of the list, and under a name that is allowed', async () => {
  const refused = expect.stringContaining('origin not allowed') as string;
  const unknown = expect.stringContaining('host name not allowed') as string;
  expect(await post({ origin: PAGE })).toEqual([200, `echo ${call(7)}`, PAGE]);
  expect(await post({ origin: 'https://evil.example' })).toEqual([403, refused, undefined]);
  // What a page sends without asking first.
  expect(await post({ origin: 'null', 'content-type': 'text/plain' })).toEqual([403, refused, undefined]);
  expect(await post({ 'sec-fetch-site': 'cross-site' })).toEqual([403, refused, undefined]);
  // To the browser, whose name leads here, the page is of this very site.
  const rebound = { host: 'evil.example:8545', origin: 'http://evil.example:8545' };
  expect((await post(rebound)).slice(0, 2)).toEqual([403, unknown]);
  expect(await post({ host: 'chain:8545' })).toEqual([200, `echo ${call(7)}`, undefined]);
  expect(seen).toHaveLength(2);
  const preflight = {
    method: 'OPTIONS',
    headers: { origin: PAGE, 'access-control-request-method': 'POST' },
  } as const;
  const { statusCode, headers } = await request(gate.url, preflight);
  expect([statusCode, headers['access-control-allow-headers']]).toEqual([204, 'Content-Type, Authorization']);
  expect((await request(gate.url)).statusCode).toBe(405);
});

test.each([
  ['two hosts', '/', ['localhost', 'evil.example'], 400],
  ['another authority', 'http://evil.example/', ['localhost'], 403],
  ['its own authority', 'http://localhost/', ['localhost'], 200],
] as const)('a request with %s is answered as it should be', async (_what, target, hosts, status) => {
  const { hostname, port } = new URL(gate.url);
  const socket = connect(Number(port), hostname);
  const head = [`POST ${target} HTTP/1.1`, ...hosts.map((host) => `Host: ${host}`), 'Connection: close'];
  socket.end(`${head.join('\r\n')}\r\nContent-Length: ${call(7).length}\r\n\r\n${call(7)}`);
  expect((await text(socket)).slice(0, 12)).toBe(`HTTP/1.1 ${status}`);
});

test('what Anvil does for its master needs the token, and forking is for no one', async () => {
  const token = { authorization: `Bearer ${TOKEN}` };
  const fork = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'anvil_reset',
    params: [{ forking: { jsonRpcUrl: 'http://127.0.0.1:1/' } }],
  });
  const without = expect.stringContaining("without the chain's token") as string;
  expect(await post({}, call(1, 'evm_mine'))).toEqual([200, without, undefined]);
  expect(await post({}, call(1, 'eth_sendTransaction'))).toEqual([200, without, undefined]);
  await post({}, `[${call(1)},${call(2, 'anvil_setBalance')}]`);
  expect(await post(token, fork)).toEqual([200, expect.stringContaining('forks no other'), undefined]);
  expect(await post({ authorization: 'Bearer wrong' })).toEqual([
    401,
    'this is not the token of the chain',
    undefined,
  ]);
  expect(seen).toEqual([]);
  expect(await post(token, call(1, 'evm_mine'))).toEqual([200, `echo ${call(1, 'evm_mine')}`, undefined]);
});

test('the chain is asked what was judged, however it was written', async () => {
  const twice = '{"jsonrpc":"2.0","id":1,"method":"evm_mine","method":"eth_chainId"}';
  expect((await post({}, twice))[1]).toBe(`echo ${call(1)}`);
  for (const body of [
    '{',
    '[]',
    '7',
    '{"jsonrpc":"2.0","method":"eth_chainId"}',
    `${call(1)}${call(2, 'evm_mine')}`,
  ]) {
    expect((await post({}, body))[1]).not.toMatch(/^echo/);
  }
  expect((await post({}, `"${' '.repeat(2 ** 21)}"`))[0]).toBe(413);
  expect(seen).toHaveLength(1);
});
