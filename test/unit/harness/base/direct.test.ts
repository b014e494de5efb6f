import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { requestDirectly, requestForeign } from '../../../../harness/base/direct.ts';

const PROGRAM = `
  const server = require('node:net').createServer();
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    process.stdout.write(server.address().port + '\\n', () => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    });
  });
`;

async function fullListener(): Promise<number> {
  const child = spawn(process.execPath, ['--eval', PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const port = Number((await createInterface(child.stdout)[Symbol.asyncIterator]().next()).value);
  const sockets = Array.from({ length: 4 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  await Promise.race(sockets.map((socket) => once(socket, 'connect')));
  return port;
}

test.each([
  ['a part of a cluster', requestDirectly],
  ['a node of another network', requestForeign],
])('a request to %s that cannot be reached ends with its signal', async (_, request) => {
  const ended = new AbortController();
  const answer = request(`http://127.0.0.1:${await fullListener()}/health`, { signal: ended.signal });
  ended.abort(new Error('given up'));
  await expect(answer).rejects.toThrow('given up');
});
