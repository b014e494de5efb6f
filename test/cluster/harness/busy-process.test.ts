import { spawn } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { callRemote } from '../../../harness/base/calls.ts';
import { HarnessError, messageOf } from '../../../harness/base/errors.ts';
import { MACHINE_CLOCK } from '../../../harness/base/machine/clock.ts';
import { processOf } from '../../../harness/base/machine/processes.ts';
import type { DriverOptions, Handle } from '../../../harness/places/driver.ts';
import { EmbeddedDriver } from '../../../harness/places/embedded/driver.ts';
import { remoteHost } from '../../../harness/places/embedded/wire.ts';
import { remoteLinks } from '../../../harness/places/links/proxy/remote.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const CALLS = fileURLToPath(new URL('../../../harness/base/calls.ts', import.meta.url));
/** More than the queue of a listening socket takes. */
const MANY = 600;

const PROGRAM = `
  import { existsSync } from 'node:fs';
  import { serveCalls } from ${JSON.stringify(CALLS)};
  const pause = new Int32Array(new SharedArrayBuffer(4));
  const target = {
    async stand(file) {
      process.stdout.write('stands\\n');
      while (!existsSync(file)) Atomics.wait(pause, 0, 0, 5);
    },
    observe: async () => ({ state: 'running' }),
  };
  const { port } = await serveCalls(target, ['stand', 'observe'], 'token');
  process.stdout.write(port + '\\n');
`;

async function busyProcess() {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pid = child.pid ?? 0;
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const port = Number((await lines.next()).value);
  const call = (method: string, ...given: readonly unknown[]) =>
    callRemote(`http://127.0.0.1:${port}/${method}`, given, {
      token: 'token',
      unanswered: (cause) => new HarnessError('PROCESS_FAILED', messageOf(cause), { cause }),
    });
  const until = join(temporaryFolder('svcnet-busy'), 'go');
  const standing = call('stand', until);
  await lines.next();
  return { child, pid, port, call, standing, goOn: () => writeFileSync(until, '') };
}

function heard(what: 'client:beforeConnect' | 'request:create', port: number): readonly object[] {
  const messages: object[] = [];
  const channel = `undici:${what}`;
  const hear = (message: unknown) => {
    if (JSON.stringify(partOf(message as Told)).includes(`:${port}`)) messages.push(message as object);
  };
  subscribe(channel, hear);
  onTestFinished(() => void unsubscribe(channel, hear));
  return messages;
}

interface Told {
  readonly connectParams?: { readonly host: string };
  readonly request?: { readonly origin: string };
}

const partOf = ({ connectParams, request }: Told) => [connectParams?.host, request?.origin];

test('however many calls wait for a busy process, their connections fit its queue', async () => {
  const { port, call, standing, goOn } = await busyProcess();
  const connections = heard('client:beforeConnect', port);
  const calls = Array.from({ length: MANY }, () => call('observe'));
  // As many as there will be, as none of them has its answer yet.
  await expect.poll(() => connections.length).toBeGreaterThan(0);
  goOn();
  await standing;
  expect(await Promise.all(calls)).toEqual(calls.map(() => ({ result: { state: 'running' } })));
  expect(connections.length).toBeLessThan(64);
}, 60_000);

test('a node whose process has not answered yet counts as running, and is not asked about again', async () => {
  const { pid, port, standing, goOn } = await busyProcess();
  const requests = heard('request:create', port);
  const startedAt = processOf(pid)?.startedAt ?? '';
  const driver = new EmbeddedDriver({
    clock: MACHINE_CLOCK,
    token: 'token',
    folder: temporaryFolder('svcnet-busy'),
    embedded: { transport: 'memory', store: 'memory', shareResults: false },
  } as DriverOptions);
  const handle: Handle = { pid, startedAt, port, node: 'node-0', start: 1 };
  for (let look = 0; look < 3; look++)
    expect(await driver.observe(handle)).toEqual({ state: 'running', pid });
  expect(requests).toHaveLength(1);
  goOn();
  await standing;
  await expect.poll(() => driver.observe(handle)).toEqual({ state: 'running' });
}, 60_000);

test('a call ends with its process, and once that is paused', async () => {
  const { child, pid, port, standing } = await busyProcess();
  const waiting = remoteHost({ pid, port }, 'token').observe('node-0', 1);
  child.kill('SIGSTOP');
  await expect(waiting).rejects.toMatchObject({
    code: 'PROCESS_FAILED',
    message: `the process that holds the cluster's nodes: process ${pid} is paused`,
  });
  child.kill('SIGKILL');
  await expect(standing).rejects.toMatchObject({ code: 'PROCESS_FAILED' });
}, 60_000);

test('a call ends without its process, also where another program listens now and says nothing', async () => {
  const child = spawn(process.execPath, ['--eval', '']);
  const { pid = 0 } = child;
  await once(child, 'exit');
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await expect(remoteHost({ pid, port }, 'token').observe('node-0', 1)).rejects.toMatchObject({
    code: 'PROCESS_FAILED',
    message: `the process that holds the cluster's nodes: process ${pid} is gone`,
  });
  const links = remoteLinks(`http://127.0.0.1:${port}`, { token: 'token', knowsDiallers: true, pid });
  await expect(links.effect('one')).rejects.toMatchObject({
    code: 'FAULT_REFUSED',
    message: `the link proxy does not answer: process ${pid} is gone`,
  });
  await links.end('one');
  for (const socket of sockets) socket.destroy();
  server.close();
});
