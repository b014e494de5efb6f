import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Control, startControl } from '../../chain/control.ts';
import { type LocalChain, startLocalChain } from '../../chain/local-chain.ts';
import { openUrl, startBrowser } from './browser.ts';

/** As an attacker's name does after rebinding. */
const REBOUND = 'evil.example';

let browser: Browser;
let site: Server;
let chain: LocalChain;
let control: Control;

beforeAll(async () => {
  site = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<title>a page of somebody else</title>');
  }).listen(0, '127.0.0.1');
  chain = await startLocalChain({ networkId: 4020n, blockTimeMs: 0, accounts: [] });
  control = await startControl({ chain, gate: false, steady: false }, { host: '127.0.0.1', port: 0 });
  browser = await startBrowser([`--host-resolver-rules=MAP ${REBOUND} 127.0.0.1`]);
});
afterAll(async () => {
  await browser.close();
  await control.close();
  await chain.stop();
  site.close();
});

function attack(page: Page, rpc: string, commands: string): Promise<string[]> {
  const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'evm_mine', params: [] });
  return page.evaluate<string[]>(`(async () => {
    const rpc = ${JSON.stringify(rpc)}, commands = ${JSON.stringify(commands)}, body = ${JSON.stringify(call)};
    const tried = (name, work) => work.then((text) => name + ': ' + text, () => name + ': refused');
    const text = async (answer) => answer.type === 'opaque' ? 'opaque' : answer.status + '';
    const json = { 'content-type': 'application/json' };
    const overSocket = (url) => new Promise((resolve, reject) => {
      const socket = new WebSocket(url.replace('http', 'ws'));
      socket.onopen = () => { socket.send(body); resolve('open'); };
      socket.onerror = reject;
    });
    return Promise.all([
      tried('call', fetch(rpc, { method: 'POST', headers: json, body }).then(text)),
      tried('blind call', fetch(rpc, { method: 'POST', mode: 'no-cors', body }).then(text)),
      tried('socket', overSocket(rpc)),
      tried('command', fetch(commands + '/mine', { method: 'POST' }).then(text)),
      tried('blind command', fetch(commands + '/mine', { method: 'POST', mode: 'no-cors' }).then(text)),
      tried('state', fetch(commands + '/state').then(text)),
    ]);
  })()`);
}

test('a page of somebody else mines nothing and reads nothing', async () => {
  const before = await chain.head();
  const { port } = site.address() as AddressInfo;
  const { page } = await openUrl(browser, `http://127.0.0.1:${port}/`);
  expect(await attack(page, chain.rpc, control.url)).toEqual([
    'call: refused',
    'blind call: opaque',
    'socket: refused',
    'command: refused',
    'blind command: opaque',
    'state: refused',
  ]);
  expect(await chain.head()).toBe(before);
});

test('nor does a page whose name was made to lead to the chain', async () => {
  const before = await chain.head();
  const [rpc, commands] = [chain.rpc, control.url].map((url) => url.replace('127.0.0.1', REBOUND));
  for (const [at = '', mine = ''] of [
    [rpc, rpc],
    [commands, commands],
  ]) {
    const { page } = await openUrl(browser, at);
    expect((await attack(page, mine, mine)).filter((line) => !/: (403|refused|opaque)$/.test(line))).toEqual(
      [],
    );
  }
  expect(await chain.head()).toBe(before);
});
