import { execFileSync } from 'node:child_process';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
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
  expect(holder?.command.startsWith(program.slice(0, 20))).toBe(true);
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
