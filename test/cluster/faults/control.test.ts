import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { beginNodeFault } from '../../../harness/flavours/tampered/control.ts';
import { readFaults, writeControl } from '../../../harness/flavours/tampered/settings.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

/** Above every pid of Linux. */
const NO_PROCESS = 2 ** 22 + 1;

const folder = temporaryFolder('svcnet-control');
let other: Server;
let port = 0;
beforeAll(async () => {
  other = createServer((request, response) => {
    request.resume();
    response.writeHead(502).end();
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  ({ port } = other.address() as AddressInfo);
});
afterAll(() => other.close());

const begin = () => beginNodeFault(folder, 'f1', { layer: 'disk', what: 'full' });

test('a fault that a running node does not take is an error', async () => {
  writeControl(folder, { port, token: 'x', pid: process.pid });
  await expect(begin()).rejects.toMatchObject({
    code: 'FAULT_REFUSED',
    message: `the node does not take the change: http://127.0.0.1:${port}/reload answers 502`,
  });
});

test('a node that is gone takes it when it runs again, whatever has its port now', async () => {
  writeControl(folder, { port, token: 'x', pid: NO_PROCESS });
  await begin();
  writeControl(folder, { port: 1, token: 'x', pid: process.pid });
  await begin();
  expect([...readFaults(folder).keys()]).toEqual(['f1']);
});
