import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { basename } from 'node:path';
import { expect, test } from 'vitest';
import { portHolder } from '../../../harness/base/machine/port-holder.ts';
import { checkPortsFree } from '../../../harness/base/machine/ports.ts';

async function listening(host: string): Promise<{ port: number } & AsyncDisposable> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen({ port: 0, host }, resolve));
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { port: (server.address() as AddressInfo).port, [Symbol.asyncDispose]: close };
}

test.each(['127.0.0.1', '0.0.0.0', '::'])('finds the process that listens on %s', async (host) => {
  await using server = await listening(host);
  const holder = portHolder(server.port);
  expect(holder?.pid).toBe(process.pid);
  const [program = ''] = execFileSync('ps', ['-o', 'args=', '-p', String(process.pid)], {
    encoding: 'utf8',
  }).split(' ');
  expect(holder?.command.startsWith(basename(program).slice(0, 20))).toBe(true);
});

test('a long command is named by its program and its end, which names the cluster', async () => {
  const code =
    "require('node:net').createServer().listen(0, '127.0.0.1', function () { console.log(this.address().port) })";
  const last = '/a/state/clusters/local/chain/options.json';
  const child = spawn(process.execPath, ['-e', code, 'x'.repeat(100), last], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    const [port] = (await once(child.stdout, 'data')) as [Buffer];
    const { command = '' } = portHolder(Number(port)) ?? {};
    expect(command).toMatch(/^node -e .*….*\/clusters\/local\/chain\/options\.json$/);
    expect(command).toHaveLength(81);
  } finally {
    child.kill('SIGKILL');
  }
});

test('names no process for a free port', async () => {
  let port: number;
  {
    await using server = await listening('127.0.0.1');
    port = server.port;
  }
  expect(portHolder(port)).toBeUndefined();
});

test('refuses a fixed port in use with what needs it and the process that has it', async () => {
  await using server = await listening('127.0.0.1');
  await expect(checkPortsFree([{ port: server.port, by: 'the API of node-0' }])).rejects.toMatchObject({
    code: 'PORT_IN_USE',
    message: expect.stringMatching(
      new RegExp(
        `^port ${server.port} of 127\\.0\\.0\\.1 is in use: the API of node-0 wants it, process ${process.pid} has it \\(.+\\)$`,
      ),
    ) as string,
  });
});
